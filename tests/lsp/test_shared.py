"""Windows and command lines on one workspace at once: nothing is lost, doubled or mixed up.

``TIERLINE_SHARED`` is ``servers,commands,seconds``: 2,1,3 here; 5,5,60 with ``make fuzz``.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from lsp.conftest import Start
from lsp.editor import Editor
from support.hammer import hammer
from support.newest import newest_text
from tierline import protocol as p
from wire.choosing import ChoosingServer, What
from wire.servers import WireServer

SERVERS, COMMANDS, SECONDS = map(int, os.environ.get("TIERLINE_SHARED", "2,1,3").split(","))


def answer(_what: What, _number: int, body: Any) -> str:
    """Names the prompt that it answers."""
    found = re.findall(r"window-\d+-prompt-\d+", newest_text(body))
    return f"Reply to {found[-1] if found else 'nothing'}"


async def test_windows_and_commands_at_once_lose_and_mix_nothing(workspace: Path) -> None:
    async with ChoosingServer("openai", answer) as model:
        tally, figures = await hammer(
            workspace, model, servers=SERVERS, commands=COMMANDS, seconds=SECONDS
        )
    assert not tally.failed, tally.failed[:3]
    assert figures["prompts"] and figures["prompts"] + figures["looks"] > SERVERS
    print(figures)


async def test_a_file_that_one_window_adds_is_in_the_list_of_the_other(
    start: Start, model: WireServer
) -> None:
    one = await start(model)
    await one.chat("Zero")
    two = await start(model)
    await two.ask("budget/get")
    await one.ask("files/pin", p.FileParams(path="src/a.py"))
    await two.ask("files/add", p.FileParams(path="src/b.py"))
    for editor in (one, two):
        listed = (await editor.ask("files/list")).files
        assert [(f.path, f.pin) for f in listed] == [("src/a.py", "sticky"), ("src/b.py", "none")]
    used = {(await editor.ask("budget/get")).used for editor in (one, two)}
    assert len(used) == 1
    await two.ask("files/clear")
    assert (await one.ask("files/list")).files == []


async def test_what_two_windows_do_to_one_list_at_the_same_moment_is_all_done(
    start: Start, workspace: Path, model: WireServer
) -> None:
    one = await start(model)
    await one.chat("Zero")
    two = await start(model)

    async def window(editor: Editor, who: str) -> None:
        for number in range(20):
            (workspace / "src" / f"{who}_{number}.py").write_text("A = 1\n")
            own = p.FileParams(path=f"src/{who}_{number}.py")
            await editor.ask("files/pin", own)
            if number % 2:
                await editor.ask("files/remove", own)
            await editor.ask("scratchpad/append", p.ScratchpadAppendParams(f"{who} {number}."))

    await asyncio.gather(window(one, "one"), window(two, "two"))
    stay = {f"src/{who}_{number}.py" for who in ("one", "two") for number in range(0, 20, 2)}
    notes = {f"{who} {number}." for who in ("one", "two") for number in range(20)}
    for editor in (one, two):
        assert {f.path for f in (await editor.ask("files/list")).files} == stay
        assert set((await editor.ask("scratchpad/get")).text.splitlines()) == notes


async def test_what_happens_in_one_window_is_shown_in_the_other_by_itself(
    start: Start, model: WireServer
) -> None:
    one = await start(model)
    await one.chat("Zero")
    two = await start(model)
    assert len((await two.ask("state/get")).messages) == 2
    await one.chat("From the first window")

    def told(editor: Editor) -> list[str]:
        return [body.reason for body in editor.bodies(p.StateChanged)]

    await two.until(lambda: "another window" in told(two))
    texts = [m.text for m in (await two.ask("state/get")).messages]
    assert texts[2:] == ["From the first window", "One two three."]

    await one.ask("files/pin", p.FileParams(path="src/a.py"))
    await two.until(
        lambda: [f.path for body in two.bodies(p.FilesChanged) for f in body.files] == ["src/a.py"]
    )
    session = (await one.ask("state/get")).session_id
    await one.ask("history/deleteSession", p.SessionParams(session_id=session))
    said = await two.until(
        lambda: [b.text for b in two.bodies(p.Notice) if b.code == "deleted_elsewhere"]
    )
    assert said == ["This session was deleted in another window. Your next prompt brings it back."]
    await two.chat("Back")
    listed = (await one.ask("history/listSessions")).sessions
    assert [(s.session_id, s.message_count) for s in listed] == [(session, 6)]
    assert told(one).count("another window") == 0, "its own turns are no news to a window"


async def test_a_window_on_a_link_and_one_on_its_worktree_are_in_one_workspace(
    start: Start, tmp_path: Path, model: WireServer
) -> None:
    def git(where: Path, *words: str) -> None:
        who = ("-c", "user.name=A", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
        subprocess.run(["git", *who, *words], cwd=where, check=True, capture_output=True)

    inner, main, tree, link = (tmp_path / name for name in ("inner", "main", "tree", "link"))
    for repository, name in ((inner, "sub.py"), (main, "top.py")):
        repository.mkdir()
        (repository / name).write_text("A = 1\n", encoding="utf-8")
        git(repository, "init", "-q")
        git(repository, "add", ".")
        git(repository, "commit", "-qm", "first")
    git(main, "submodule", "add", "-q", str(inner), "lib")
    git(main, "commit", "-qm", "second")
    git(main, "worktree", "add", "-q", str(tree), "-b", "other")
    git(tree, "submodule", "update", "--init", "-q")
    link.symlink_to(tree)
    state = {"TIERLINE_STATE_DIR": str(tmp_path / "state")}
    one = await start(model, root=link, env=state)
    await one.chat("Through the link, about @lib/sub.py")
    two = await start(model, root=tree, env=state)
    assert (await two.ask("state/get")).messages[0].text == "Through the link, about @lib/sub.py"
    for place in (link, tree):
        await two.ask("files/pin", p.FileParams(uri=(place / "lib" / "sub.py").as_uri()))
    for editor, root in ((one, link), (two, tree)):
        (file,) = (await editor.ask("files/list")).files
        assert (file.path, file.pin) == ("lib/sub.py", "sticky")
        assert file.uri == (root / "lib" / "sub.py").as_uri(), "as this window spells it"
        found = (await editor.ask("mention/complete", p.MentionCompleteParams(query="sub"))).items
        assert "@lib/sub.py" in [item.text for item in found]
