"""Area Q, tool output, through a real server: capped on every route, kept whole, found again."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bugcases.bodies import violations
from bugcases.fixtures import build, expect
from lsp.conftest import Open
from lsp.editing import ALL
from lsp.test_commands_and_consent import run
from wire.agents import Use, calls, results, says
from wire.servers import Kind, wire_server

HINT = '... [TRUNCATED. Use query_db(sql="SELECT content FROM messages WHERE id='
PRINT = "print(open('tool_output.txt').read(), end='')"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return build("BR-190", tmp_path / "work")


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
async def test_br_190_every_route_is_capped_and_the_whole_is_kept_once(
    open_editor: Open, workspace: Path, kind: Kind
) -> None:
    """Seed 000, "Dynamic Tool Truncation": 5000, 1000 and 300 characters, and a hint with an id."""
    caps = expect("BR-190")["caps"]
    whole = (workspace / "tool_output.txt").read_text()
    uses = [
        Use("run_command", {"argv": [sys.executable, "-c", PRINT]}, "c0"),
        Use("run_command", {"shell": f'"{sys.executable}" -c "{PRINT}"'}, "c1"),
        Use("read_file", {"path": "tool_output.txt"}, "c2"),
        Use("search_code", {"query": "row"}, "c3"),
        Use("list_files", {}, "c4"),
        Use("run_command", {"argv": [sys.executable, "-c", PRINT + "  #"]}, "c5"),
        Use("read_file", {"path": "tool_output.txt", "start_line": 500}, "c6"),
        Use("request_code_context", {"path": "tool_output.txt"}, "c7"),
    ]
    script = [
        *(calls(kind, use) for use in uses),
        says(kind, "Long."),
        calls(kind, Use("query_db", {"sql": "SELECT 1"}, "c8")),
        says(kind, "Yes."),
    ]
    with wire_server(kind, script) as model:
        editor = await open_editor(model, ALL, tools={"commandOutputChars": 3_000_000})
        assert (await run(editor, "once", "once", "once")).outcome == "ok"
        told = results(model.bodies[len(uses)], kind)
        order = list(told)
        # Each was among the newest when it was first sent, and what was sent stays as it is.
        # A page of read_file bounds itself: it is larger, so that most files are one read.
        most = dict.fromkeys(order, caps["active_recent"]) | dict.fromkeys(("c2", "c6"), 26_000)
        for call in order:
            assert len(told[call].removeprefix("Error: ")) <= most[call] + 200, call
        assert HINT in told["c0"]
        assert HINT in told["c5"]
        await editor.chat("Is it?")
        later = results(model.bodies[-1], kind)
        for call in order:
            assert len(later[call].removeprefix("Error: ")) <= most[call] + 200, call
        assert [v for body in model.bodies for v in violations(body, kind)] == []
    # The hint leads to the whole text, which is stored once.
    records = [
        json.loads(line)
        for line in (workspace / ".tierline/history.jsonl").read_text("utf-8").splitlines()
    ]
    kept = [
        r for r in records if r.get("role") == "tool" and r["meta"].get("tool") == "run_command"
    ]
    assert len(kept) == 3
    for record, call in zip(kept, ("c0", "c1", "c5"), strict=True):
        assert whole.rstrip() in record["content"][0]["content"]
        assert record["id"] in later[call]
