"""A file of 500 lines is one page, and what stands before the model already is not sent again."""

from __future__ import annotations

from pathlib import Path

from lsp.conftest import Start
from tierline.tools.reading import MIN_PAGE, PAGE, page_for
from wire.agents import Use, calls, results, says
from wire.servers import wire_server

LINES = [f"    value_{n} = compute(value_{n - 1}, {n})\n" for n in range(500)]


async def test_the_same_bytes_are_sent_once_and_anew_when_they_changed(
    start: Start, workspace: Path
) -> None:
    path = workspace / "long.py"
    path.write_text("".join(LINES), encoding="utf-8")
    again = [
        calls("openai", Use("read_file", {"path": "long.py"}, f"c{number}")) for number in range(5)
    ]
    script = [again[0], again[1], says("openai", "Read."),
              again[2], again[3], says("openai", "Read."),
              again[4], says("openai", "Read.")]  # fmt: skip
    with wire_server("openai", script) as model:
        editor = await start(model)
        await editor.chat("Read long.py please")
        first = results(model.bodies[1], "openai")["c0"]
        assert "value_0 =" in first and "value_499 =" in first, "one page"
        assert results(model.bodies[2], "openai")["c1"] == (
            "Unchanged since your earlier call in this turn: the result of read_file that stands "
            "there holds."
        )
        await editor.chat("And once more")
        stands = "value_499" in results(model.bodies[3], "openai")["c0"]
        said = results(model.bodies[4], "openai")["c2"]
        if stands:
            assert said.startswith("Unchanged since turn 1 (“Read long.py please”)")
        else:  # a rewrite has cut the earlier result, so it is read again
            assert "value_499" in said
        path.write_text("".join(LINES[:-1]) + "    changed = True\n", encoding="utf-8")
        await editor.chat("Now?")
        assert "changed = True" in results(model.bodies[-1], "openai")["c4"]


def test_a_small_window_gets_small_pages() -> None:
    assert page_for(200_000) == PAGE
    assert page_for(32_000) == 16_000
    assert page_for(4_000) == MIN_PAGE
