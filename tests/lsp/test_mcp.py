"""``tierline mcp`` with the official SDK's own client over stdio."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from lsp.conftest import Start
from wire.servers import WireServer


def parameters(workspace: Path) -> StdioServerParameters:
    env = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
    env |= {
        "XDG_CONFIG_HOME": str(workspace / ".config"),
        "TIERLINE_DATA_DIR": str(workspace / ".data"),
        "TIERLINE_STATE_DIR": str(workspace.parent / ".state"),
    }
    command = ["-m", "tierline", "mcp", "--root", str(workspace)]
    return StdioServerParameters(command=sys.executable, args=command, env=env)


def text(result: Any) -> str:
    return "".join(part.text for part in result.content)


async def test_files_history_memos_and_plans(
    start: Start, workspace: Path, model: WireServer
) -> None:
    editor = await start(model)
    await editor.chat("What is the alpha of the project?")
    await editor.command("memo.save", {"content": "Alpha is always one, by contract."})
    async with Client(parameters(workspace)) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert sorted(tools) == [
            "explain_context",
            "get_plan",
            "list_files",
            "list_plans",
            "query_db",
            "read_file",
            "request_code_context",
            "retrieve_memos",
            "search_code",
            "search_history",
        ]
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools.values())

        async def ask(name: str, **arguments: Any) -> Any:
            return await client.call_tool(name, arguments)

        assert "src/a.py" in text(await ask("list_files"))
        assert "def alpha()" in text(await ask("read_file", path="src/a.py"))
        assert text(await ask("search_code", query="BETA")) == "src/b.py:1: BETA = 2"
        assert "What is the alpha" in text(await ask("search_history", query="alpha"))
        assert "by contract" in text(await ask("retrieve_memos", query="alpha"))
        assert text(await ask("query_db", sql="SELECT count(*) FROM messages")) == "2"
        plan_id = text(await ask("list_plans")).split()[0]
        plan = json.loads(text(await ask("get_plan", plan_id=plan_id)))
        assert plan["plan_id"] == plan_id
        assert "src/a.py" in text(await ask("explain_context", key="src/a.py"))
        for name, arguments in (
            ("read_file", {"path": "../x"}),
            ("read_file", {}),
            ("get_plan", {"plan_id": "none"}),
            ("explain_context", {}),
            ("run_command", {"argv": ["true"]}),
            ("propose_edit", {"path": "src/a.py", "content": "x"}),
        ):
            refused = await client.call_tool(name, arguments)
            assert refused.is_error, name
    log = (workspace / ".tierline" / "history.jsonl").read_text("utf-8")
    assert log.count('"type":"message"') == 2, "nothing was written to the conversation"


def test_without_the_sdk_it_says_what_to_install() -> None:
    code = (
        "import importlib.util as u, sys; find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'mcp' else find(name, *a)\n"
        "from tierline.cli.main import app; sys.argv = ['tierline', 'mcp']; app()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "tierline[mcp]" in done.stderr.replace("\n", "")
