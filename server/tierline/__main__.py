"""``tierline`` and ``python -m tierline``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line. ``serve`` takes a short way, so that an editor does not wait for it."""
    if sys.argv[1:] in (["serve"], ["serve", "--stdio"]):
        from tierline.lsp.launch import serve

        serve()
        return
    from tierline.cli import app

    app(prog_name="tierline")


if __name__ == "__main__":
    main()
