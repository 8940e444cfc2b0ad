"""What a prompt names with ``@`` goes along: found, measured, asked about, kept at the message."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from lsp.conftest import Start
from lsp.editor import Editor
from lsp.project import ON, make_project, ready, sent
from tierline import protocol as p
from wire.servers import WireServer


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = make_project(tmp_path / "work")
    (root / ".git" / "HEAD").unlink()
    (root / ".git").rmdir()
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "The beginning of everything")
    return root


def git(root: Path, *arguments: str) -> None:
    settings = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(root), *settings, *arguments], check=True, capture_output=True)


class Giving(Editor):
    """An editor that gives what a mention needs."""

    def __init__(self, workspace: Path) -> None:
        super().__init__(workspace)
        self.asked: list[tuple[str, str]] = []

        @self.client.feature(p.EDITOR_PROVIDE.name)
        def on_provide(params: p.EditorProvideParams) -> p.EditorContent:
            self.asked.append((params.kind, params.argument))
            views = self.uri("src/web/views.py")
            if params.kind == "problems":
                found = [
                    p.Problem(views, "Undefined name `request`", 5, "error", "ruff", "F821"),
                    p.Problem(self.uri("src/web/pages.py"), "Line too long", 3, "warning"),
                    p.Problem(self.uri("secret.env"), "TOKEN=1 is odd", 1, "warning"),
                ]
                return p.EditorContent("problems", uri=params.uri, problems=found)
            if params.kind == "terminal":
                text = "\x1b[31mFAILED\x1b[0m tests/test_views.py\nbuilding 10%\rbuilding 100%\n"
                return p.EditorContent("terminal", label="pytest", text=text)
            return p.EditorContent("editors", uris=[views, self.uri("docs/guide.md")])

    async def begin(self, model: WireServer, **settings: Any) -> None:
        from lsp.conftest import environment

        capabilities = lsp.ClientCapabilities(
            experimental={"tierline": {"provides": ["problems", "terminal", "editors"]}}
        )
        env = environment(model) | settings.pop("env", {})
        await self.start(env=env, capabilities=capabilities)


async def resolved(editor: Editor, text: str, **more: Any) -> dict[str, p.MentionInfo]:
    found = await editor.ask("mention/resolve", p.MentionResolveParams(text, **more))
    return {one.text: one for one in found.mentions}


async def offered(editor: Editor, query: str) -> list[str]:
    found = await editor.ask("mention/complete", p.MentionCompleteParams(query))
    return [one.text for one in found.items]


async def test_the_editor_is_asked_for_problems_and_terminal_and_open_files(
    workspace: Path, model: WireServer
) -> None:
    editor = Giving(workspace)
    await editor.begin(model)
    try:
        found = await resolved(editor, "Fix @problems:src/web/views.py and @terminal, @editors.")
        assert {one.state for one in found.values()} == {"ok"}
        assert all(one.tokens for one in found.values()), "each says its size"
        assert found["@editors"].files == 2
        assert ("problems", "src/web/views.py") in editor.asked
        assert model.requests == []
        shown = await editor.chat_shown("Fix @problems and see @terminal with @editors")
        text = sent(model)
        assert "src/web/views.py:5: error: Undefined name `request` (ruff F821)" in text
        assert r"return parse_query(request[\"q\"])" in text, "with the line itself"
        assert "src/web/pages.py:3: warning: Line too long" in text
        assert "TOKEN" not in text, "problems of files of secrets are left out"
        assert "FAILED tests/test_views.py" in text and "building 100%" in text
        assert "building 10%" not in text and "[31m" not in text
        assert "## Searching" in text, "the open files"
        kinds = [one.kind for one in shown.attached]
        assert kinds == ["problems", "terminal", "editors"]
        assert "FAILED tests/test_views.py" in shown.attached[1].text, "the very text that was sent"
        names = await offered(editor, "")
        assert {"@problems", "@terminal", "@editors", "@git:", "@symbol:"} <= set(names)
        assert "@selection" not in names, "this editor does not give it"
        retried = await editor.ask("chat/retry", p.ChatRetryParams())
        await editor.finished(retried.turn_id)
        assert "FAILED tests/test_views.py" in sent(model)
    finally:
        await editor.stop()


async def test_what_the_prompt_brings_is_not_asked_for(start: Start, model: WireServer) -> None:
    editor = await start(model)
    given = [
        p.EditorContent("terminal", "@terminal", "zsh", "npm ERR! missing script"),
        p.EditorContent(
            "selection", text="a = b", uri=editor.uri("docs/guide.md"), first_line=3, last_line=3
        ),
    ]
    shown = await editor.chat_shown("Why @terminal?", given=given)
    text = sent(model)
    assert "npm ERR! missing script" in text
    assert "has selected this in the editor, line 3" in text and "a = b" in text
    assert [(one.kind, one.label) for one in shown.attached] == [
        ("terminal", "zsh"),
        ("selection", "docs/guide.md:3-3"),
    ]
    with pytest.raises(JsonRpcException, match="does not give its problems"):
        await editor.ask("chat/send", p.ChatSendParams("And @problems?"))
    secret = p.EditorContent("selection", text="TOKEN=1", uri=editor.uri("secret.env"))
    with pytest.raises(JsonRpcException, match="secret"):
        await editor.ask("chat/send", p.ChatSendParams("What is this?", given=[secret]))


async def test_git_gives_changes_without_what_may_not_be_shown(
    start: Start, model: WireServer, workspace: Path
) -> None:
    pages, env = workspace / "src/web/pages.py", workspace / "secret.env"
    git(workspace, "checkout", "-q", "-b", "feature/footer")
    pages.write_text(pages.read_text().replace("(c)", "©"), encoding="utf-8")
    git(workspace, "commit", "-q", "-am", "Use the real sign")
    (workspace / "src/store/cache.py").write_text("class Gone: ...\n", encoding="utf-8")
    git(workspace, "add", "src/store/cache.py")
    env.write_text("TOKEN=2222\n", encoding="utf-8")
    (workspace / "new.py").write_text("NEW = 1\n", encoding="utf-8")
    (workspace / "docs/guide.md").unlink()
    editor = await start(model)
    editor.open("src/web/views.py", "UNSAVED = True\n")
    found = await resolved(
        editor,
        "See @git:changes, @git:staged, @git:branch, @git:HEAD, @git:nonsense, @git:--help, "
        "@git:branch:main and @git:main",
    )
    states = {name: one.state for name, one in found.items()}
    assert states["@git:nonsense"] == states["@git:--help"] == "unknown"
    assert states["@git:branch:main"] == "unknown", "it is the base itself"
    for name in ("@git:changes", "@git:staged", "@git:branch", "@git:HEAD", "@git:main"):
        assert (states[name], bool(found[name].tokens)) == ("ok", True), name
    shown = await editor.chat_shown(
        "Review @git:changes and @git:staged, then @git:branch and @git:HEAD"
    )
    changes, staged, branch, commit = (one.text for one in shown.attached)
    assert all(part in changes for part in ("+NEW = 1", "+UNSAVED = True", "+class Gone: ...",
                                            "-# Guide", "--- /dev/null\n+++ b/new.py"))  # fmt: skip
    assert "Use the real sign" not in changes
    assert "2222" not in sent(model) and "1 of its files may not be shown" in changes
    assert "+class Gone: ..." in staged and "UNSAVED" not in staged and "NEW" not in staged
    for text in (branch, commit):
        assert "Use the real sign" in text and '+    return f"© {year}"' in text
        assert "Gone" not in text
    names = await offered(editor, "git:")
    assert {"@git:changes", "@git:staged", "@git:branch", "@git:branch:feature/footer"} <= set(
        names
    )
    found = await editor.ask("mention/complete", p.MentionCompleteParams("git:beginning"))
    assert [one.label for one in found.items] == ["The beginning of everything"]


async def test_symbols_come_by_name_with_their_body(start: Start, model: WireServer) -> None:
    editor = await start(model, **ON)
    await ready(editor)
    found = await resolved(
        editor, "Explain @parse_query, @symbol:TokenStream.next_token, @symbol:nothing, @property"
    )
    assert {name: one.state for name, one in found.items()} == {
        "@parse_query": "ok",
        "@symbol:TokenStream.next_token": "ok",
        "@symbol:nothing": "unknown",
    }
    assert found["@parse_query"].detail == "function, src/parser/grammar.py:3"
    shown = await editor.chat_shown("Explain @parse_query", mentions="ask")
    (one,) = shown.attached
    assert (one.kind, one.label) == ("symbol", "src/parser/grammar.py#parse_query")
    assert (one.first_line, one.last_line) == (3, 6)
    assert "    stream = tokenize_query(text)" in one.text
    for query, text in (
        ("symbol:token", "@symbol:tokenize_query"),
        ("symbol:src/web/views.py#se", "@symbol:src/web/views.py#search_view"),
    ):
        async with asyncio.timeout(60):
            while True:
                listed = await editor.ask("mention/complete", p.MentionCompleteParams(query))
                if text in [one.text for one in listed.items]:
                    break
                assert listed.incomplete, "a busy machine: more comes"
    assert "@src/web/views.py" in (await offered(editor, "views"))[:1]


async def test_a_folder_is_one_entry_with_its_size_and_can_be_taken_out_again(
    start: Start, model: WireServer
) -> None:
    editor = await start(model)
    found = await resolved(editor, "Look through @src/parser/")
    one = found["@src/parser/"]
    assert (one.kind, one.state, one.files) == ("folder", "ask", 2)
    assert one.tokens and f"{one.tokens} tokens" in one.why
    shown = await editor.chat_shown("Look through @src/parser/", agreed=["@src/parser/"])
    assert [(a.kind, a.label) for a in shown.attached] == [("folder", "src/parser/ (2 files)")]
    files = (await editor.ask("files/list")).files
    assert {f.folder for f in files} == {"src/parser/"}
    assert sum(f.tokens for f in files) == one.tokens
    left = await editor.ask("files/remove", p.FileParams(path="src/parser"))
    assert left.files == []
    assert "@src/parser/" in await offered(editor, "parser")


async def test_another_session_and_a_memo_go_along_by_name(start: Start, model: WireServer) -> None:
    editor = await start(model)
    await editor.chat("Remember the lighthouse keeper.")
    memo = await editor.ask("memo/save", p.MemoSaveParams("Migrations run at night.", ["db"]))
    await editor.ask("history/newSession")
    (session,) = await offered(editor, "session:lighthouse")
    assert f"@memo:{memo.id}" in await offered(editor, "memo:night")
    shown = await editor.chat_shown(f'See {session} and @memo:{memo.id}, @"session:lighthouse"')
    assert [one.kind for one in shown.attached] == ["session", "memo", "session"]
    assert "User: Remember the lighthouse keeper." in shown.attached[0].text
    assert "Assistant: One two three." in shown.attached[0].text
    assert "Migrations run at night." in shown.attached[1].text
    again = await start(model)
    state = await again.ask("state/get")
    kept = [m.attached for m in state.messages if m.role == "user"]
    assert kept == [shown.attached], "after a restart, too"


async def test_a_page_that_was_not_read_is_asked_about_and_one_that_may_not_be_is_refused(
    start: Start, model: WireServer
) -> None:
    editor = await start(model)
    found = await resolved(editor, "Read @https://docs.example.org/x and @http://127.0.0.1:8/")
    assert found["@https://docs.example.org/x"].state == "ask"
    with pytest.raises(JsonRpcException, match="has not been read yet"):
        await editor.ask("chat/send", p.ChatSendParams("Read @https://docs.example.org/x"))
    assert model.requests == []
    assert found["@http://127.0.0.1:8/"].state == "refused"
    params = p.ChatSendParams("Read @http://127.0.0.1:8/", mentions="confirm")
    result = await editor.ask("chat/send", params)
    assert any("127.0.0.1:8/ is not sent" in notice for notice in result.notices)
    await editor.finished(result.turn_id)


async def test_completion_answers_while_letters_are_typed(start: Start, model: WireServer) -> None:
    editor = await start(model)
    answers = await asyncio.gather(*(offered(editor, "views.py"[:n]) for n in range(9)))
    assert all("@src/web/views.py" in names for names in answers)
    assert not any("secret" in name or "made" in name for names in answers for name in names)
