"""An MCP server made with the official SDK: ``python mcp_server.py [--http PORT]``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mcp.server import MCPServer

server = MCPServer("weather")


@server.tool()
def forecast(town: str, days: int = 1) -> str:
    """The weather of a town."""
    mark = os.environ.get("MARK")
    if mark:
        with Path(mark).open("a", encoding="utf-8") as log:
            log.write(f"{town}\n")
    return f"{town}: rain for {days} days, says {os.environ.get('STATION', 'nobody')}"


@server.tool()
def fail() -> str:
    """Always fails."""
    raise ValueError("the sky is closed")


@server.tool()
def leave() -> str:
    """Ends the server in the middle of a call."""
    os._exit(3)


@server.tool(name="a tool/with an odd name!")
def odd() -> str:
    """Has a name that no provider takes."""
    return "x" * 500_000


if __name__ == "__main__":
    if "--http" in sys.argv:
        server.run(transport="streamable-http", host="127.0.0.1", port=int(sys.argv[-1]))
    else:
        server.run(transport="stdio")
