"""``tierline`` and ``python -m tierline``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line. ``serve`` takes a short way, so that an editor does not wait for it."""
    if sys.argv[1:] in (["serve"], ["serve", "--stdio"]):
        from tierline.lsp.launch import serve

        serve()
        return
    try:
        from tierline.cli.main import app

        app(prog_name="tierline")
    except KeyboardInterrupt:  # while the modules load; later ones are the commands' own business
        sys.exit(130)


if __name__ == "__main__":
    main()
