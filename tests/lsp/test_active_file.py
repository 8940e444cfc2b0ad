"""What the user looks at goes along: the active file in its tier, the place in words."""

from __future__ import annotations

import json
from pathlib import Path

from lsp.conftest import Start
from tierline import protocol as p
from wire.servers import WireServer


def sent(model: WireServer, number: int = -1) -> str:
    return json.dumps(model.bodies[number]["messages"], ensure_ascii=False)


def place(path: Path, first: int = 1, last: int = 2, cursor: int = 1) -> p.EditorPlace:
    return p.EditorPlace(path.as_uri(), first, last, cursor)


async def test_the_active_file_goes_along_whole_and_the_prompt_points_into_it(
    start: Start, model: WireServer, workspace: Path
) -> None:
    editor = await start(model)
    path = workspace / "src" / "a.py"
    shown = await editor.chat_shown("Explain this.", editor=place(path, 1, 2, 2))
    assert "def alpha() -> int:" in sent(model)
    assert (
        "The user is looking at src/a.py, lines 1 to 2 are on the screen, the cursor is in line 2, "
        "in `alpha`." in sent(model)
    )
    (attached,) = shown.attached
    assert (attached.kind, attached.label, attached.path) == ("file", "src/a.py", "src/a.py")
    again = await editor.chat_shown("And @src/a.py?", editor=place(path, 1, 2, 2))
    assert [one.label for one in again.attached] == ["src/a.py"], "open and mentioned: shown once"
    files = (await editor.ask("files/list")).files
    assert [(f.path, f.origin) for f in files] == [("src/a.py", "open in the editor")]


async def test_moving_the_cursor_changes_nothing_that_was_sent(
    start: Start, model: WireServer, workspace: Path
) -> None:
    editor = await start(model)
    path = workspace / "src" / "a.py"
    await editor.chat_shown("Explain this.", editor=place(path, 1, 2, 1))
    await editor.chat_shown("And this?", editor=place(path, 1, 2, 2))
    first, second = (body["messages"] for body in model.bodies)
    assert "the cursor is in line 2" in json.dumps(second[len(first) - 1 :])
    assert second[: len(first) - 1] == first[:-1]
    assert sent(model).count("def alpha() -> int:") == 1


async def test_without_a_place_no_file_goes_along(
    start: Start, model: WireServer, workspace: Path
) -> None:
    editor = await start(model)
    path = workspace / "src" / "a.py"
    shown = await editor.chat_shown("Hello.", active_uri=path.as_uri())
    assert "alpha" not in sent(model)
    assert shown.attached == []


async def test_a_selection_goes_with_its_path_and_lines_and_stays_at_the_message(
    start: Start, model: WireServer, workspace: Path
) -> None:
    editor = await start(model)
    path = workspace / "src" / "a.py"
    shown = await editor.chat_shown(
        "What is this?", selection="    return 1\n", editor=place(path, 2, 2, 2)
    )
    assert "has selected this in the editor, line 2, in `alpha`:" in sent(model)
    (attached,) = shown.attached
    assert (attached.kind, attached.label) == ("selection", "src/a.py:2")
    assert attached.text == "    return 1\n"
    again = await start(model)
    (kept,) = [m.attached for m in (await again.ask("state/get")).messages if m.role == "user"]
    assert kept == [attached], "after a restart, too"
    await editor.chat_shown("And from an editor that says no lines?", selection="BETA", active_uri=(
        workspace / "src" / "b.py").as_uri())  # fmt: skip
    assert "src/b.py" in sent(model)


async def test_of_a_large_file_the_part_around_the_cursor_goes_along(
    start: Start, model: WireServer, workspace: Path
) -> None:
    path = workspace / "big.py"
    parts = [f"def f{n}() -> int:\n    x = {n}\n    return x\n\n" for n in range(2000)]
    path.write_text("".join(parts), encoding="utf-8")
    editor = await start(model)
    shown = await editor.chat_shown("Explain this.", editor=place(path, 4001, 4020, 4010))
    assert "def f1000()" in sent(model)
    assert "def f1()" not in sent(model)
    assert "def f1999()" not in sent(model)
    assert "in `f1002`" in sent(model)
    (attached,) = shown.attached
    assert (attached.kind, attached.first_line) == ("excerpt", 4001)
    assert "def f1000()" in attached.text
    assert (await editor.ask("files/list")).files == []


async def test_a_file_of_secrets_or_outside_is_not_sent_because_it_is_open(
    start: Start, model: WireServer, workspace: Path, tmp_path: Path
) -> None:
    (workspace / ".env").write_text("PASSWORD=hunter2hunter2\n", encoding="utf-8")
    outside = tmp_path / "outside.py"
    outside.write_text("OUTSIDE = 1\n", encoding="utf-8")
    editor = await start(model)
    for path in (workspace / ".env", outside, workspace / "not-there.py"):
        shown = await editor.chat_shown(f"What is {path.name}?", editor=place(path))
        assert shown.attached == []
    assert "hunter2" not in sent(model)
    assert "OUTSIDE" not in sent(model)
    result = await editor.ask(
        "chat/send", p.ChatSendParams("Hm?", editor=place(workspace / ".env"))
    )
    assert any(".env is open, but is not sent" in notice for notice in result.notices)
    await editor.finished(result.turn_id)


async def test_of_files_that_were_open_only_a_few_stay(
    start: Start, model: WireServer, workspace: Path
) -> None:
    editor = await start(model)
    for number in range(10):
        path = workspace / f"f{number}.py"
        path.write_text(f"N = {number}\n", encoding="utf-8")
        await editor.chat_shown(f"Number {number}?", editor=place(path))
    files = (await editor.ask("files/list")).files
    assert [f.path for f in files] == [f"f{n}.py" for n in range(2, 10)]


async def test_a_retry_says_again_what_the_user_was_looking_at(
    start: Start, model: WireServer, workspace: Path
) -> None:
    editor = await start(model)
    await editor.chat_shown("Explain this.", editor=place(workspace / "src" / "a.py"))
    result = await editor.ask("chat/retry", p.ChatRetryParams())
    await editor.finished(result.turn_id)
    assert "The user is looking at src/a.py" in sent(model)


async def test_what_a_client_says_of_the_place_may_be_nonsense(
    start: Start, model: WireServer, workspace: Path
) -> None:
    editor = await start(model)
    uri = (workspace / "src" / "a.py").as_uri()
    for odd in (
        p.EditorPlace(uri, -5, 10**9, -1),
        p.EditorPlace(uri, 9, 3, 0),
        p.EditorPlace("untitled:Untitled-1", 1, 1, 1),
        p.EditorPlace("", 1, 1, 1),
        p.EditorPlace("git:/a?b", 1, 1, 1),
    ):
        await editor.chat_shown(f"What of {odd.uri} {odd.first_line}?", editor=odd)
    assert len(model.bodies) == 5
