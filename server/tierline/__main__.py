"""``tierline`` and ``python -m tierline``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line. ``serve`` skips loading it, so that an editor does not wait."""
    if sys.argv[1:] in (["serve"], ["serve", "--stdio"]):
        from tierline.lsp.launch import serve

        serve()
        return
    try:
        from tierline.cli.main import app

        app(prog_name="tierline")
    except KeyboardInterrupt:  # while the modules load; later the commands handle it themselves
        sys.exit(130)


if __name__ == "__main__":
    main()
