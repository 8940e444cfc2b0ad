"""The loader as the session uses it."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from support.filelists import sent, text_of
from tierline.context.files import FileContext, FileState
from tierline.context.refusals import Reason, Refusal
from tierline.workspace import loader as module
from tierline.workspace.buffers import Buffers
from tierline.workspace.decoding import encode_back
from tierline.workspace.loader import FolderLoad, LoadedFile, Loader
from tierline.workspace.paths import Roots
from tierline.workspace.reading import read_file

AWS = "AKIA" + "Z7" * 8


def loader_of(root: Path, documents: Mapping[str, object] | None = None) -> Loader:
    return Loader(Roots([str(root)]), Buffers(documents or {}), git_excludes="")


def take(loader: Loader, files: FileContext, reference: str, confirm: bool = False) -> LoadedFile:
    loaded = loader.load(reference, confirm=confirm)
    assert isinstance(loaded, LoadedFile), loaded
    files.put(loaded.key, loaded.content, **loaded.listing)
    return loaded


@pytest.fixture
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trust signatures at once, as if all files had been written a while ago."""
    monkeypatch.setattr(module, "_RACY_NS", -(10**18))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files whose bytes are read."""
    names: list[str] = []

    def counted(name: str, *args: object) -> object:
        names.append(name)
        return read_file(name, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "read_file", counted)
    return names


def test_nothing_is_read_again_while_nothing_changes(
    tmp_path: Path, calm: None, reads: list[str]
) -> None:
    for n in range(20):
        (tmp_path / f"f{n}.py").write_text(f"x = {n}\n")
    loader, files = loader_of(tmp_path), FileContext()
    for n in range(20):
        take(loader, files, f"f{n}.py")
    assert len(reads) == 20
    for _ in range(3):
        assert not loader.sync(files)
    assert len(reads) == 20
    (tmp_path / "f3.py").write_text("x = 33\n")
    assert list(loader.sync(files).changed) == ["f3.py"]
    assert len(reads) == 21


def test_a_touched_but_equal_file_is_read_and_is_no_change(
    tmp_path: Path, calm: None, reads: list[str]
) -> None:
    (tmp_path / "a.py").write_text("x\n")
    loader, files = loader_of(tmp_path), FileContext()
    take(loader, files, "a.py")
    os.utime(tmp_path / "a.py", (1, 1))
    assert not loader.sync(files)
    assert reads == ["a.py", "a.py"]


def test_a_file_that_was_just_written_is_not_trusted_by_its_signature(
    tmp_path: Path, reads: list[str]
) -> None:
    """Two writes within one tick of the clock leave equal times and sizes."""
    (tmp_path / "a.py").write_text("x\n")
    loader, files = loader_of(tmp_path), FileContext()
    take(loader, files, "a.py")
    loader.sync(files)
    assert reads == ["a.py", "a.py"]


def test_replaced_by_rename_with_equal_size_and_times_is_noticed(
    tmp_path: Path, calm: None
) -> None:
    """How editors and git write: a new file takes the old one's name."""
    (tmp_path / "a.py").write_text("OLD\n")
    os.utime(tmp_path / "a.py", (1_700_000_000, 1_700_000_000))
    loader, files = loader_of(tmp_path), FileContext()
    take(loader, files, "a.py")
    (tmp_path / "b").write_text("NEW\n")
    os.utime(tmp_path / "b", (1_700_000_000, 1_700_000_000))
    (tmp_path / "b").rename(tmp_path / "a.py")
    assert "a.py" in loader.sync(files).changed
    assert text_of(files, "a.py") == "NEW\n"


def test_credentials_in_ordinary_files_are_replaced_and_said(tmp_path: Path) -> None:
    (tmp_path / "config.py").write_text(f'KEY = "{AWS}"\nPORT = 80\n')
    loader, files = loader_of(tmp_path), FileContext()
    loaded = take(loader, files, "config.py")
    assert loaded.content.text == 'KEY = "[redacted:aws-access-key]"\nPORT = 80\n'
    assert loaded.content.facts.view == "redacted"
    assert any("aws-access-key" in warning for warning in loaded.warnings)
    assert AWS not in "".join(loaded.warnings)
    assert not loader.sync(files)
    again = loader.load("config.py", confirm=True)
    assert isinstance(again, LoadedFile)
    assert AWS not in again.content.text


def test_an_open_document_with_a_credential_is_not_dirty_for_that(tmp_path: Path) -> None:
    text = f'KEY = "{AWS}"\n'
    (tmp_path / "config.py").write_text(text)
    held = SimpleNamespace(uri=(tmp_path / "config.py").as_uri(), version=1, source=text)
    loaded = loader_of(tmp_path, {held.uri: held}).load("config.py")
    assert isinstance(loaded, LoadedFile)
    assert not loaded.dirty
    assert AWS not in loaded.content.text


def test_ignored_files_need_a_confirmation_that_lasts(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "x.log").write_text("text\n")
    loader, files = loader_of(tmp_path), FileContext()
    refusal = loader.load("x.log")
    assert isinstance(refusal, Refusal)
    assert refusal.reason is Reason.IGNORED
    assert refusal.confirmable
    assert ".gitignore: *.log" in refusal.message
    assert take(loader, files, "x.log", confirm=True).confirmed
    assert not loader.sync(files)
    again = FileContext()
    again.restore(files.snapshot(), loader_of(tmp_path).restore_text)
    assert text_of(again, "x.log") == "text\n"


def test_a_new_ignore_rule_does_not_take_a_listed_file_away(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x\n")
    loader, files = loader_of(tmp_path), FileContext()
    take(loader, files, "a.py")
    (tmp_path / ".gitignore").write_text("a.py\n")
    assert not loader.sync(files)
    assert isinstance(loader.load("a.py"), Refusal)


def test_a_folder_brings_its_text_files_and_says_what_it_skipped(tmp_path: Path) -> None:
    for name, data in {
        ".gitignore": b"build/\n*.log\n",
        "a.py": b"a\n",
        "sub/b.py": b"b\n",
        "sub/c.log": b"c\n",
        "build/d.py": b"d\n",
        ".env": b"A=1\n",
        "id_rsa": b"x\n",
        "e.bin": b"\0\1",
        "big.txt": b"x" * 2000,
        "p.png": b"\x89PNG\r\n\x1a\n" + b"\0" * 30,
        ".git/config": b"[core]\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    loader = Loader(Roots([str(tmp_path)]), max_bytes=1000, git_excludes="")
    folder = loader.load_folder(".")
    assert isinstance(folder, FolderLoad)
    assert [loaded.key for loaded in folder.files] == [".gitignore", "a.py", "sub/b.py"]
    reasons = {refusal.name: refusal.reason for refusal in folder.skipped}
    assert reasons[".env"] is reasons["id_rsa"] is Reason.SECRET
    assert reasons["sub/c.log"] is Reason.IGNORED
    assert reasons["e.bin"] is Reason.BINARY
    assert reasons["big.txt"] is Reason.TOO_LARGE
    assert not any("build" in name or ".git/" in name for name in reasons)
    notices = " ".join(folder.notices)
    assert all(name in notices for name in (".env", "id_rsa", "c.log", "e.bin", "big.txt"))
    found, said = loader.load_any("sub", confirm=True)
    assert [item.key for item in found if isinstance(item, LoadedFile)] == ["sub/b.py"]
    assert any("c.log" in text for text in said)


def test_a_folder_stops_at_a_number_of_files_and_says_so(tmp_path: Path) -> None:
    for n in range(12):
        (tmp_path / f"{n:02}.txt").write_text("x\n")
    folder = loader_of(tmp_path).load_folder(".", max_files=10)
    assert isinstance(folder, FolderLoad)
    assert len(folder.files) == 10
    assert any("first 10" in text and "2 more" in text for text in folder.notices)


def test_a_folder_stops_at_a_size_and_says_so(tmp_path: Path) -> None:
    for n in range(6):
        (tmp_path / f"{n}.txt").write_text("x" * 1000)
    folder = loader_of(tmp_path).load_folder(".", max_bytes=2500)
    assert isinstance(folder, FolderLoad)
    assert len(folder.files) == 3
    assert any("first 3" in text and "3 more" in text for text in folder.notices)


def test_of_a_binary_file_only_the_head_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.bin").write_bytes(b"PK\x03\x04" + b"x" * 1_000_000)
    (tmp_path / "a.txt").write_bytes(b"x" * 1_000_000)
    total: list[int] = []
    real_read = os.read

    def counted(descriptor: int, size: int) -> bytes:
        data = real_read(descriptor, size)
        total.append(len(data))
        return data

    monkeypatch.setattr(os, "read", counted)
    loader = loader_of(tmp_path)
    refusal = loader.load("a.bin")
    assert isinstance(refusal, Refusal)
    assert "a ZIP archive" in refusal.message
    assert sum(total) <= 64 * 1024
    total.clear()
    loaded = loader.load("a.txt")
    assert isinstance(loaded, LoadedFile)
    assert len(loaded.content.text) == sum(total) == 1_000_000


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_links_between_folders_make_no_endless_walk_and_no_doubles(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/x.py").write_text("x\n")
    (tmp_path / "a/self").symlink_to("..")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "y.py").symlink_to("a/x.py")
    folder = loader_of(tmp_path).load_folder(".")
    assert isinstance(folder, FolderLoad)
    assert [loaded.key for loaded in folder.files] == ["a/x.py"]


def test_a_document_that_was_never_saved_is_sent_from_its_buffer(tmp_path: Path) -> None:
    held = SimpleNamespace(uri=(tmp_path / "new.py").as_uri(), version=1, source="x = 1\n")
    loader = loader_of(tmp_path, {held.uri: held})
    loaded = loader.load("new.py")
    assert isinstance(loaded, LoadedFile)
    assert loaded.content.text == "x = 1\n"
    assert loaded.dirty
    untitled = loader.load("untitled:Untitled-1")
    assert isinstance(untitled, Refusal)
    assert untitled.reason is Reason.UNSUPPORTED_SCHEME


def test_documents_outside_the_workspace_stay_outside(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    uri = (tmp_path / "out.py").as_uri()
    held = SimpleNamespace(uri=uri, version=1, source="OUT\n")
    refusal = loader_of(tmp_path / "in", {uri: held}).load(uri)
    assert isinstance(refusal, Refusal)
    assert refusal.reason is Reason.OUTSIDE_WORKSPACE


def test_buffers_are_found_by_uri_not_by_the_editors_unquoted_key(tmp_path: Path) -> None:
    """pygls unquotes its keys, so that the documents ``a%25b`` and ``a%b`` would be one."""
    (tmp_path / "a%20b.py").write_text("percent\n")
    (tmp_path / "a b.py").write_text("blank\n")
    documents = {
        str(n): SimpleNamespace(uri=(tmp_path / name).as_uri(), version=1, source=text)
        for n, (name, text) in enumerate({"a%20b.py": "P\n", "a b.py": "B\n"}.items())
    }
    loader = loader_of(tmp_path, documents)
    texts = [loader.load(name) for name in ("a%20b.py", "a b.py")]
    assert [t.content.text for t in texts if isinstance(t, LoadedFile)] == ["P\n", "B\n"]
    assert loader.uri("a b.py") == documents["1"].uri


def test_an_edited_buffer_is_written_back_in_the_files_own_charset(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("\ufeffä\r\nb\r\n".encode("utf-16-le"))
    held = SimpleNamespace(uri=(tmp_path / "a.txt").as_uri(), version=2, source="ä\r\nB\r\n")
    loaded = loader_of(tmp_path, {held.uri: held}).load("a.txt")
    assert isinstance(loaded, LoadedFile)
    assert loaded.dirty
    written = encode_back(loaded.content, loaded.content.text)
    assert written == "\ufeffä\r\nB\r\n".encode("utf-16-le")


def test_a_buffer_over_the_limit_is_refused(tmp_path: Path) -> None:
    held = SimpleNamespace(uri=(tmp_path / "a.txt").as_uri(), version=1, source="x" * 2000)
    loader = Loader(Roots([str(tmp_path)]), Buffers({"": held}), max_bytes=1000, git_excludes="")
    refusal = loader.load("a.txt")
    assert isinstance(refusal, Refusal)
    assert refusal.reason is Reason.TOO_LARGE


def test_several_threads_may_load_at_once(tmp_path: Path) -> None:
    for n in range(30):
        (tmp_path / f"{n}.txt").write_text(f"{n}\n")
    loader = loader_of(tmp_path)
    wrong: list[object] = []

    def work() -> None:
        for n in range(30):
            loaded = loader.load(f"{n}.txt")
            if not isinstance(loaded, LoadedFile) or loaded.content.text != f"{n}\n":
                wrong.append(loaded)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert wrong == []


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x\n")
    (tmp_path / "a.py").chmod(0)
    refusal = loader_of(tmp_path).load("a.py")
    assert isinstance(refusal, Refusal)
    assert refusal.reason is Reason.UNREADABLE


@pytest.mark.parametrize(
    "name", ["\udcff.txt", "ü.txt", "日本.txt", "a'b\"c.txt", "-rf", "a\\b.txt"]
)
@pytest.mark.skipif(os.name == "nt", reason="names that Windows forbids")
def test_odd_names_load_by_name_and_by_uri(tmp_path: Path, name: str) -> None:
    try:
        (tmp_path / name).write_text("odd\n")
    except OSError:
        pytest.skip("this file system refuses the name")
    loader, files = loader_of(tmp_path), FileContext()
    for reference in (name, loader.uri(name)):
        assert take(loader, files, reference).content.text == "odd\n"
    assert len(files.get_files()) == 1
    sent(files).encode("utf-8")
    assert not loader.sync(files)
    assert files.entries()[0].state is FileState.OK
