"""For a server process under test: public names lead to a loopback web server.

Only the network is replaced; the checks of names and addresses are the product's own.
"""

import os
import runpy
from pathlib import Path

runpy.run_path(str(Path(__file__).parents[2] / "recorder" / "sitecustomize.py"))
PORT = os.environ.get("TIERLINE_TEST_SITE", "")
if PORT:
    from tierline.workspace.urls import fetch

    straight = fetch.connect_to

    async def resolve(host: str, port: int) -> list[str]:
        if host.endswith(".gone.example.org"):
            raise OSError("no such name")
        return ["10.0.0.7"] if host.startswith("inner.") else ["93.184.215.14"]

    async def connect(address: str, port: int, seconds: float) -> object:
        if address != "93.184.215.14":
            raise OSError(f"a test reached for {address}")
        return await straight("127.0.0.1", int(PORT), seconds)

    fetch.resolve_name = resolve
    fetch.connect_to = connect  # type: ignore[assignment]
