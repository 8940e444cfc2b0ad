"""Files that git's history says change often are expected to change, from the next request on."""

from __future__ import annotations

import asyncio
from pathlib import Path

from lsp.conftest import Start
from tierline import protocol as p
from unit.workspace.test_commits import commit, git
from wire.servers import WireServer


async def test_the_hazard_of_a_file_begins_with_its_history(
    start: Start, model: WireServer, workspace: Path
) -> None:
    git(workspace, "init", "-q", "-b", "main")
    commit(workspace, **{"src__quiet.py": "Q = 1\n" * 400})
    for n in range(30):
        commit(workspace, **{"src__busy.py": f"B = {n}\n" * 400})
    (workspace / "src" / "new.py").write_text("N = 1\n" * 400)
    editor = await start(model)
    for name in ("quiet", "busy", "new"):
        await editor.ask("files/add", p.FileParams(path=f"src/{name}.py"))
    hazards: dict[str, float] = {}
    for _ in range(20):  # git is asked beside everything else
        await editor.chat("Go on.")
        found = await editor.ask("cache/tiers")
        hazards = {i.key: i.hazard for t in found.tiers for i in t.items if i.key[:5] == "file:"}
        if hazards["file:src/quiet.py"] != hazards["file:src/new.py"]:
            break
        await asyncio.sleep(0.2)
    assert hazards["file:src/busy.py"] > hazards["file:src/new.py"] > hazards["file:src/quiet.py"]
