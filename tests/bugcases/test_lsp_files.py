"""Bug cases through a real server: paths, buffers, notebooks, secrets."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from bugcases.fixtures import build, case, expect
from bugcases.through_lsp import last, sent, strings
from lsp.conftest import Start
from lsp.editor import Editor
from tierline import protocol as p
from wire.servers import WireServer


async def assemble(editor: Editor, model: WireServer) -> str:
    """What the model reads when the user sends a prompt now."""
    assert (await editor.chat("Go on.")).outcome == "ok"
    return sent(model)


def process_status(pid: int) -> str:
    return Path(f"/proc/{pid}/status").read_text()


async def listed(editor: Editor) -> list[str]:
    """The files of the context, but for those that the test's own server keeps its state in."""
    files = (await editor.ask("files/list")).files
    return [file.path for file in files if not file.path.startswith(".state/")]


# --- I: paths -------------------------------------------------------------------------------------


@pytest.mark.parametrize("route", ["path", "uri", 0, 1])
async def test_br_110_a_path_with_blanks_is_whole(
    start: Start, model: WireServer, tmp_path: Path, route: str | int
) -> None:
    """BR-110: a path is cut at its first blank."""
    root = build("BR-110", tmp_path / "case")
    wanted = expect("BR-110")
    editor = await start(model, root=root)
    name = "My Docs/a file.md"
    if route == "path":
        await editor.ask("files/add", p.FileParams(path=name))
    elif route == "uri":
        await editor.ask("files/add", p.FileParams(uri=editor.uri(name)))
        assert "%20" in editor.uri(name)
    else:
        assert isinstance(route, int)
        await editor.chat(f"See {wanted['mentions'][route]} please")
    body = await assemble(editor, model)
    assert all(text in body for text in wanted["request_contains"])
    assert await listed(editor) == [name]


async def test_br_110_mentions_as_people_write_them(start: Start, model: WireServer) -> None:
    """BR-110's kind: other quotes, a line number, a possessive, no blank behind the name."""
    editor = await start(model)
    wanted = {"src/a.py:10-12 is wrong": "a.py", "'src/b.py' as well": "b.py"}
    wanted |= {"src/a.py's end": "a.py", "src/b.py吧": "b.py", "src/a.py，然后": "a.py"}
    for text, name in wanted.items():
        await editor.ask("files/clear")
        assert (await editor.chat(f"请看@{text}")).outcome == "ok"
        assert await listed(editor) == [f"src/{name}"], text


async def test_br_112_brackets_are_literal(start: Start, model: WireServer, tmp_path: Path) -> None:
    """BR-112: a route's file is taken for a pattern."""
    root = build("BR-112", tmp_path / "case")
    wanted = expect("BR-112")
    editor = await start(model, root=root)
    await editor.ask("files/add", p.FileParams(path=wanted["add"]))
    body = await assemble(editor, model)
    assert all(text in body for text in wanted["request_contains"])
    assert not any(text in body for text in wanted["request_not_contains"])
    await editor.ask("files/add", p.FileParams(path="src/app/i/page.tsx"))
    await editor.ask("files/remove", p.FileParams(uri=editor.uri(wanted["add"])))
    assert await listed(editor) == ["src/app/i/page.tsx"]


async def test_br_114_every_folder_is_a_root_of_its_own(
    start: Start, model: WireServer, tmp_path: Path
) -> None:
    """BR-114: only the first folder counts."""
    root = build("BR-114", tmp_path / "case")
    wanted = expect("BR-114")
    folders = [root / name for name in wanted["roots"]]
    editor = await start(model, root=root, folders=folders)
    await editor.ask("files/add", p.FileParams(path=wanted["add"]))
    ignored = await editor.ask("files/add", p.FileParams(path="web/secret.txt"))
    assert [f.path for f in ignored.refused] == ["web/secret.txt"]
    body = await assemble(editor, model)
    assert all(text in body for text in wanted["request_contains"])
    assert not any(text in body for text in wanted["request_not_contains"])
    assert await listed(editor) == ["web/src/main.py"]
    await editor.ask("files/add", p.FileParams(uri=(root / "api/secret.txt").as_uri()))
    assert "API-OK" in await assemble(editor, model)
    gone = lsp.WorkspaceFolder((root / "api").as_uri(), "api")
    editor.client.workspace_did_change_workspace_folders(
        lsp.DidChangeWorkspaceFoldersParams(
            lsp.WorkspaceFoldersChangeEvent(added=[], removed=[gone])
        )
    )
    await editor.until(
        lambda: (
            {f.state for f in editor.bodies(p.FilesChanged)[-1].files} == {"ok", "missing"}
            or {f.state for f in editor.bodies(p.FilesChanged)[-1].files} == {"ok", "refused"}
        )
    )
    states = {f.path: f.state for f in (await editor.ask("files/list")).files}
    assert [state for path, state in states.items() if path.endswith("main.py")] == ["ok"]
    assert [state for path, state in states.items() if path.endswith("secret.txt")] != ["ok"]


async def test_br_116_the_boundary_is_a_folder_and_not_a_string(
    start: Start, model: WireServer, tmp_path: Path
) -> None:
    """BR-116: ``/w/app-secrets`` passes as inside ``/w/app``; ``v1..v2.diff`` is refused."""
    built = build("BR-116", tmp_path / "case")
    wanted = expect("BR-116")
    editor = await start(model, root=built / wanted["root"])
    outside = built / "w/app-secrets/k.txt"
    names = [n for n in wanted["refused"] if "Windows" not in n and "<" not in n]
    assert len(names) == 2
    for params in [
        *(p.FileParams(path=name) for name in (*names, str(outside))),
        p.FileParams(uri=outside.as_uri()),
        p.FileParams(path=str(outside), confirm=True),
    ]:
        result = await editor.ask("files/add", params)
        assert [f.code for f in result.refused] == ["outside_workspace"], params
    for name in wanted["accepted"]:
        assert (await editor.ask("files/add", p.FileParams(path=name))).refused == []
    sentence = await editor.chat(f"See @{names[0]} and @{outside}", mentions="text")
    assert sentence.outcome == "ok"
    body = await assemble(editor, model)
    assert "DIFF-OK" in body
    assert "OUTSIDE-1" not in body
    assert sorted(await listed(editor)) == ["main.py", "v1..v2.diff"]


# --- J: buffers -----------------------------------------------------------------------------------


async def test_br_118_the_unsaved_buffer_is_sent_while_it_is_open(
    start: Start, model: WireServer, workspace: Path
) -> None:
    """BR-118, with the report's own steps, each sent in a new chat."""
    checks = 0
    editor = await start(model)
    for step in json.loads((case("BR-118") / "lsp_steps.json").read_text()):
        if "disk" in step:
            (workspace / "a.py").write_text(step["disk"], encoding="utf-8")
            await editor.ask("files/add", p.FileParams(path="a.py"))
        elif "didOpen" in step:
            editor.open("a.py", step["text"])
        elif "didChange" in step:
            editor.change("a.py", step["text"], step["version"])
        elif "didClose" in step:
            editor.close("a.py")
        else:
            await editor.ask("history/newSession")
            body = await assemble(editor, model)
            assert all(text in body for text in step["assemble"]["contains"])
            assert not any(text in body for text in step["assemble"]["not"])
            checks += 1
            (file,) = (await editor.ask("files/list")).files
            assert file.dirty == (checks == 1)
    assert checks == 2
    assert (workspace / "a.py").read_text() == "DISK-1\n"


async def test_br_120_a_rewrite_of_equal_size_and_time_is_noticed(
    start: Start, model: WireServer, workspace: Path
) -> None:
    """BR-120: by another program, without any notice to the server."""
    editor = await start(model)
    bodies = []
    for step in json.loads((case("BR-120") / "steps.json").read_text()):
        if "write" in step:
            path = workspace / step["write"]
            path.write_text(step["text"], encoding="utf-8")
            os.utime(path, (step["mtime"], step["mtime"]))
        elif "pin" in step:
            await editor.ask("files/pin", p.FileParams(path=step["pin"]))
        else:
            await editor.ask("history/newSession")
            body = await assemble(editor, model)
            assert all(text in body for text in step["assemble"]["contains"])
            assert not any(text in body for text in step["assemble"].get("not", ()))
            bodies.append(body)
    assert len(bodies) == 2
    (file,) = (await editor.ask("files/list")).files
    assert (file.pin, file.state) == ("sticky", "ok")


async def test_br_122_entries_follow_the_editors_renames(
    start: Start, model: WireServer, workspace: Path
) -> None:
    """BR-122: file, then its folder; a move outside the editor leaves it missing."""
    (workspace / "old").mkdir()
    (workspace / "old" / "a.py").write_text("A = 1\n", encoding="utf-8")
    editor = await start(model)
    for step in json.loads((case("BR-122") / "lsp_steps.json").read_text()):
        if "pin" in step:
            await editor.ask("files/pin", p.FileParams(path=step["pin"]))
        elif "didRenameFiles" in step:
            pairs = [
                [workspace / uri.removeprefix("file:///w/") for uri in pair]
                for pair in step["didRenameFiles"]
            ]
            for old, new in pairs:
                old.rename(new)
            editor.client.workspace_did_rename_files(
                lsp.RenameFilesParams([lsp.FileRename(o.as_uri(), n.as_uri()) for o, n in pairs])
            )
        elif "shell" in step:
            _, source, target = step["shell"].split()
            (workspace / source).rename(workspace / target)
        elif isinstance(step["list"], list):
            assert await listed(editor) == step["list"]
            assert "A = 1" in await assemble(editor, model)
        else:
            await editor.ask("history/newSession")
            assert "A = 1" not in await assemble(editor, model)
            files = (await editor.ask("files/list")).files
            assert {f.path: f.state for f in files} == step["list"]
            assert files[0].reason
            assert files[0].pin == "sticky"


async def test_br_124_notebook_cells_with_an_unsaved_edit(
    start: Start, model: WireServer, workspace: Path
) -> None:
    """BR-124: a notebook is not seen, or only its first cell."""
    wanted = expect("BR-124")
    shutil.copy(case("BR-124") / "nb_3cells.ipynb", workspace)
    editor = await start(model)
    uri = editor.uri("nb_3cells.ipynb")
    texts = [(1, "# Title FIRST-CELL\n"), (2, "print(42)  # SECOND-CELL\n"), (2, "z = 3\n")]
    cells = [
        lsp.NotebookCell(lsp.NotebookCellKind(kind), f"vscode-notebook-cell:/nb#{n}")
        for n, (kind, _) in enumerate(texts)
    ]
    editor.client.notebook_document_did_open(
        lsp.DidOpenNotebookDocumentParams(
            lsp.NotebookDocument(uri, "jupyter-notebook", 1, cells),
            [
                lsp.TextDocumentItem(cell.document, "python", 1, text)
                for cell, (_, text) in zip(cells, texts, strict=True)
            ],
        )
    )
    edit = wanted["unsaved_edit"]
    editor.client.notebook_document_did_change(
        lsp.DidChangeNotebookDocumentParams(
            lsp.VersionedNotebookDocumentIdentifier(2, uri),
            lsp.NotebookDocumentChangeEvent(
                cells=lsp.NotebookDocumentCellChanges(
                    text_content=[
                        lsp.NotebookDocumentCellContentChanges(
                            lsp.VersionedTextDocumentIdentifier(2, cells[edit["cell"]].document),
                            [lsp.TextDocumentContentChangeWholeDocument(edit["text"])],
                        )
                    ]
                )
            ),
        )
    )
    await editor.ask("files/add", p.FileParams(uri=uri))
    body = await assemble(editor, model)
    assert all(text in body for text in wanted["request_contains"])
    places = [body.index(text) for text in wanted["in_order"]]
    assert places == sorted(places)
    (file,) = (await editor.ask("files/list")).files
    assert file.dirty


async def test_br_126_plots_become_placeholders(
    start: Start, model: WireServer, workspace: Path
) -> None:
    """BR-126: base64 floods the window."""
    wanted = expect("BR-126")
    shutil.copy(case("BR-126") / "nb_plot.ipynb", workspace)
    editor = await start(model)
    await editor.ask("files/add", p.FileParams(path="nb_plot.ipynb"))
    body = await assemble(editor, model)
    (notebook,) = (text for text in strings(last(model)) if "SECOND-CELL" in text)
    assert len(notebook) / 4 < wanted["max_tokens"], "in the fixtures' unit of four characters"
    assert all(part in body for part in wanted["request_contains"])
    assert max(map(len, re.findall(r"[A-Za-z0-9+/=]+", body))) <= wanted["no_base64_run_over"]


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read the Linux way")
async def test_br_128_a_huge_file_is_refused_and_memory_stays_flat(
    start: Start, model: WireServer, tmp_path: Path
) -> None:
    """BR-128: 60 MB that the editor never opened."""
    root = build("BR-128", tmp_path / "case")
    editor = await start(model, root=root, forked=False)
    await assemble(editor, model)
    pid = editor.client._server.pid
    for params in (
        p.FileParams(uri=editor.uri("huge.log")),
        p.FileParams(path="huge.log", confirm=True),
    ):
        (refused,) = (await editor.ask("files/add", params)).refused
        assert refused.code == "too_large"
        assert "too large" in refused.reason
    await editor.chat("See @huge.log", mentions="text")
    assert "See @huge.log" in await assemble(editor, model)
    peak = re.search(r"VmHWM:\s+(\d+) kB", process_status(pid))
    assert peak is not None
    assert int(peak[1]) / 1024 < expect("BR-128")["rss_mb_max"]


# --- K: secrets -----------------------------------------------------------------------------------


async def test_br_130_a_dotenv_is_refused_on_every_route(
    start: Start, model: WireServer, tmp_path: Path
) -> None:
    """BR-130: add, folder, mention, active editor, selection, pin; then the explicit override."""
    root = build("BR-130", tmp_path / "case")
    wanted = expect("BR-130")
    editor = await start(model, root=root)
    text = (root / ".env").read_text()
    for name, params in (
        ("files/add", p.FileParams(path=".env")),
        ("files/add", p.FileParams(uri=editor.uri(".env"))),
        ("files/pin", p.FileParams(path="src/../.env")),
    ):
        (refused,) = (await editor.ask(name, params)).refused
        assert (refused.code, refused.confirmable) == ("secret", True)
    folder = await editor.ask("files/add", p.FileParams(path="."))
    assert any(".env" in notice for notice in folder.notices)
    editor.open(".env", text, "properties")
    more: list[dict[str, Any]] = [
        {"text": "what is in @.env?", "mentions": "text"},
        {"text": "what is this?", "active_uri": editor.uri(".env")},
    ]
    for params_ in more:
        assert (await editor.chat(**params_)).outcome == "ok"
    assert len(model.bodies) == len(more)
    plain = "a phrase that has no shape of a secret"
    for uri in (editor.uri(".env"), (tmp_path / "elsewhere" / ".env").as_uri(), "untitled:.env"):
        for selection in (plain, text):
            given = p.ChatSendParams(text="explain", active_uri=uri, selection=selection)
            with pytest.raises(JsonRpcException, match=r"Nothing was sent.*\.env"):
                await editor.ask("chat/send", given)
        assert len(model.bodies) == len(more)
    assert (
        await editor.chat("explain", active_uri=editor.uri("src/app.py"), selection=plain)
    ).outcome == "ok"
    assert plain in sent(model)
    for body in model.bodies:
        for value in wanted["request_not_contains"]:
            assert value not in json.dumps(body)
    assert "changeme-EXAMPLE-OK" in sent(model)
    assert sorted(await listed(editor)) == [".env.example", ".gitignore", "src/app.py"]
    taken = await editor.ask("files/add", p.FileParams(path=".env", confirm=True))
    assert taken.refused == []
    assert ".env" in [f.path for f in taken.files]
    await editor.chat("explain", active_uri=editor.uri(".env"), selection="a chosen phrase")
    assert "a chosen phrase" in sent(model), "the user has confirmed the file"
    again = await start(model, root=root)
    await assemble(again, model)
    assert "FAKEVALUE" not in sent(model), "the confirmation does not outlive the session"


@pytest.mark.skipif(os.name == "nt", reason="links")
async def test_br_132_links_that_lead_out_are_refused_also_when_swapped_in_later(
    start: Start, model: WireServer, tmp_path: Path
) -> None:
    """BR-132: a link inside the project points outside and is followed."""
    built = build("BR-132", tmp_path / "case")
    wanted = expect("BR-132")
    root = built / wanted["root"]
    editor = await start(model, root=root)
    for name in wanted["refused"]:
        (refused,) = (await editor.ask("files/add", p.FileParams(path=name))).refused
        assert refused.code in ("outside_workspace", "link_loop")
    for name in wanted["accepted"]:
        assert (await editor.ask("files/add", p.FileParams(path=name))).refused == []
    assert "REAL-OK" in await assemble(editor, model)
    (root / "real.txt").unlink()
    (root / "real.txt").symlink_to("../outside/secret.txt")
    await editor.ask("history/newSession")
    body = await assemble(editor, model)
    assert "FAKEVALUE" not in body
    (file,) = (await editor.ask("files/list")).files
    assert file.state in ("refused", "missing")
    assert file.reason


async def test_a_file_that_nobody_listed_cannot_be_removed(start: Start, model: WireServer) -> None:
    editor = await start(model)
    with pytest.raises(JsonRpcException):
        await editor.ask("files/remove", p.FileParams(path="src/[a].py"))
    assert await listed(editor) == []
