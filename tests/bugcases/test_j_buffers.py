"""Area J: buffers and the life of a file."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import sys
import threading
from pathlib import Path

import pytest
from lsprotocol import types as lsp
from pygls.workspace import Workspace

from bugcases.fixtures import build, case, expect
from support.filelists import sent
from tierline.context.files import FileContext, FileState
from tierline.context.items import Pin
from tierline.context.refusals import Reason, Refusal
from tierline.workspace.buffers import Buffers
from tierline.workspace.loader import LoadedFile, Loader
from tierline.workspace.notebooks import MAX_OUTPUT_CHARS
from tierline.workspace.paths import Roots


class Desk:
    """A workspace folder, an editor's documents and a file context, as the session wires them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.editor = Workspace(root.as_uri())
        self.buffers = Buffers(
            lambda: self.editor.text_documents, lambda: self.editor.notebook_documents
        )
        self.loader = Loader(Roots([str(root)]), self.buffers, git_excludes="")
        self.files = FileContext()

    def uri(self, name: str) -> str:
        return (self.root / name).as_uri()

    def add(self, reference: str) -> LoadedFile:
        found = self.loader.load(reference)
        assert isinstance(found, LoadedFile), found
        self.files.put(found.key, found.content, **found.listing)
        return found

    def assemble(self) -> str:
        self.loader.sync(self.files)
        return sent(self.files)

    def open(self, name: str, text: str, version: int = 1) -> None:
        self.editor.put_text_document(lsp.TextDocumentItem(self.uri(name), "python", version, text))

    def change(self, name: str, text: str, version: int) -> None:
        self.editor.update_text_document(
            lsp.VersionedTextDocumentIdentifier(version, self.uri(name)),
            lsp.TextDocumentContentChangeWholeDocument(text),
        )

    def close(self, name: str) -> None:
        self.editor.remove_text_document(self.uri(name))


def check(desk: Desk, wanted: dict[str, list[str]]) -> None:
    body = desk.assemble()
    assert all(text in body for text in wanted["contains"])
    assert not any(text in body for text in wanted["not"])


def test_br_118_the_unsaved_buffer_is_sent_while_it_is_open(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    checks = 0
    for step in json.loads((case("BR-118") / "lsp_steps.json").read_text()):
        name = "a.py"
        if "disk" in step:
            (tmp_path / name).write_text(step["disk"])
            desk.add(name)
        elif "didOpen" in step:
            desk.open(name, step["text"], step["version"])
        elif "didChange" in step:
            desk.change(name, step["text"], step["version"])
        elif "didClose" in step:
            desk.close(name)
        elif "assemble" in step:
            check(desk, step["assemble"])
            checks += 1
            assert desk.files.entries()[0].dirty == (checks == 1)
    assert checks == 2
    assert (tmp_path / name).read_text() == "DISK-1\n"


def test_br_120_a_rewrite_of_equal_size_and_time_is_noticed_by_hash(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    changes = []
    for step in json.loads((case("BR-120") / "steps.json").read_text()):
        if "write" in step:
            path = tmp_path / step["write"]
            path.write_text(step["text"])
            os.utime(path, (step["mtime"], step["mtime"]))
        elif "pin" in step:
            desk.add(step["pin"])
            desk.files.set_pin(step["pin"], Pin.STICKY)
        elif "assemble" in step:
            changes.append(desk.loader.sync(desk.files))
            body = sent(desk.files)
            assert all(text in body for text in step["assemble"]["contains"])
            assert not any(text in body for text in step["assemble"].get("not", ()))
    assert [len(change.changed) for change in changes] == [0, 1]
    assert not desk.loader.sync(desk.files)
    assert desk.files.entries()[0].pin is Pin.STICKY


def test_br_122_entries_follow_renames_and_outside_moves_leave_them_missing(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path)
    (tmp_path / "old").mkdir()
    (tmp_path / "old/a.py").write_text("A = 1\n")
    for step in json.loads((case("BR-122") / "lsp_steps.json").read_text()):
        if "pin" in step:
            desk.add(step["pin"])
            desk.files.set_pin(step["pin"], Pin.STICKY)
        elif "didRenameFiles" in step:
            for pair in step["didRenameFiles"]:
                old, new = (uri.removeprefix("file:///w/") for uri in pair)
                (tmp_path / old).rename(tmp_path / new)
                old_key = desk.loader.key(desk.uri(old))
                desk.files.rename(old_key, desk.loader.key(desk.uri(new)))
        elif "shell" in step:
            _, old, new = step["shell"].split()
            (tmp_path / old).rename(tmp_path / new)
        elif isinstance(step["list"], list):
            assert desk.files.get_files() == step["list"]
            assert "A = 1" in desk.assemble()
            assert desk.files.entries()[0].pin is Pin.STICKY
        else:
            desk.loader.sync(desk.files)
            states = {entry.key: str(entry.state) for entry in desk.files.entries()}
            assert states == step["list"]
            assert desk.files.entries()[0].sentence
            assert "A = 1" not in sent(desk.files)


def open_notebook(desk: Desk, name: str, texts: list[tuple[int, str]]) -> None:
    cells = [
        lsp.NotebookCell(lsp.NotebookCellKind(kind), f"vscode-notebook-cell:/{name}#{number}")
        for number, (kind, _) in enumerate(texts)
    ]
    documents = [
        lsp.TextDocumentItem(cell.document, "python", 1, text)
        for cell, (_, text) in zip(cells, texts, strict=True)
    ]
    notebook = lsp.NotebookDocument(desk.uri(name), "jupyter-notebook", 1, cells)
    desk.editor.put_notebook_document(lsp.DidOpenNotebookDocumentParams(notebook, documents))


def test_br_124_all_cells_in_order_with_the_unsaved_edit(tmp_path: Path) -> None:
    wanted = expect("BR-124")
    shutil.copy(case("BR-124") / "nb_3cells.ipynb", tmp_path)
    desk = Desk(tmp_path)
    as_file = desk.add("nb_3cells.ipynb").content
    places = [as_file.text.index(text) for text in wanted["in_order"]]
    assert places == sorted(places)
    assert re.findall(r"# %% \[\d\] (\w+)", as_file.text) == ["markdown", "code", "code"]
    assert "42" in as_file.text.split("# -> output")[1]
    cells = [(1, "# Title FIRST-CELL\n"), (2, "print(42)  # SECOND-CELL\n")]
    open_notebook(desk, "nb_3cells.ipynb", [*cells, (2, "z = 3  # THIRD-CELL\n")])
    opened = desk.add("nb_3cells.ipynb")
    assert opened.content.sha256 == as_file.sha256
    assert not opened.dirty
    edit = wanted["unsaved_edit"]
    desk.editor.update_text_document(
        lsp.VersionedTextDocumentIdentifier(
            2, f"vscode-notebook-cell:/nb_3cells.ipynb#{edit['cell']}"
        ),
        lsp.TextDocumentContentChangeWholeDocument(edit["text"]),
    )
    body = desk.assemble()
    assert all(text in body for text in wanted["request_contains"])
    assert body.index("FIRST-CELL") < body.index("SECOND-CELL") < body.index("THIRD-CELL EDITED")
    assert desk.files.entries()[0].dirty
    assert desk.files.entries()[0].facts.view == "notebook"


def test_br_126_plots_become_sized_placeholders(tmp_path: Path) -> None:
    wanted = expect("BR-126")
    shutil.copy(case("BR-126") / "nb_plot.ipynb", tmp_path)
    desk = Desk(tmp_path)
    text = desk.add("nb_plot.ipynb").content.text
    body = desk.assemble()
    assert all(part in body for part in wanted["request_contains"])
    assert (len(body) + 3) // 4 < wanted["max_tokens"]
    longest = max(map(len, re.findall(r"[A-Za-z0-9+/=]+", body)))
    assert longest <= wanted["no_base64_run_over"]
    assert re.search(r"\[image/png, \d+ kB\]", text)
    outputs = re.findall(r"# -> output\n(.*?)(?=\n# %%|\Z)", text, re.DOTALL)
    assert outputs
    assert all(len(output) < MAX_OUTPUT_CHARS + 100 for output in outputs)
    assert "row 0" in text and "row 1999" in text


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read the Linux way")
def test_br_128_a_huge_file_without_didopen_is_refused_and_memory_stays_flat(
    tmp_path: Path,
) -> None:
    wanted = expect("BR-128")
    root = build("BR-128", tmp_path)
    assert (root / "huge.log").stat().st_size > 50_000_000
    desk = Desk(root)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refusal = desk.loader.load(desk.uri("huge.log"))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert isinstance(refusal, Refusal)
    assert refusal.reason is Reason.TOO_LARGE
    assert "huge.log is too large (62.9 MB" in refusal.sentence
    assert grown < 5, f"{grown:.1f} MB more than before"
    assert wanted["notice"] is True


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
@pytest.mark.parametrize("confirm", [False, True])
def test_fifos_folders_and_devices_never_hang(tmp_path: Path, confirm: bool) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dir").mkdir()
    (tmp_path / "zero").symlink_to("/dev/zero")
    desk = Desk(tmp_path)
    answers: list[object] = []
    thread = threading.Thread(
        target=lambda: answers.extend(
            desk.loader.load(name, confirm=confirm) for name in ("pipe", "dir", "zero")
        ),
        daemon=True,
    )
    thread.start()
    thread.join(5)
    reasons = [answer.reason for answer in answers if isinstance(answer, Refusal)]
    assert reasons == [Reason.NOT_A_FILE, Reason.NOT_A_FILE, Reason.OUTSIDE_WORKSPACE]


def test_a_listed_file_that_comes_back_is_whole_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    (tmp_path / "a.py").write_text("one\n")
    desk.add("a.py")
    desk.files.set_pin("a.py", Pin.STICKY)
    (tmp_path / "a.py").unlink()
    assert desk.assemble() == ""
    assert desk.files.entries()[0].state is FileState.MISSING
    (tmp_path / "a.py").write_text("one\n")
    assert "one" in desk.assemble()
    assert desk.files.entries()[0].pin is Pin.STICKY
