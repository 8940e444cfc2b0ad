"""Area K: secrets, ignore rules, the boundary."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bugcases.fixtures import build, case, expect
from support.filelists import sent
from tierline.context.files import FileContext
from tierline.context.items import Pin
from tierline.context.refusals import Reason, Refusal
from tierline.workspace.buffers import Buffers
from tierline.workspace.ignore import IgnoreRules
from tierline.workspace.loader import FolderLoad, LoadedFile, Loader
from tierline.workspace.mentions import mentions
from tierline.workspace.paths import Roots
from tierline.workspace.secrets import redact


def loader_of(root: Path, buffers: Buffers | None = None) -> Loader:
    return Loader(Roots([str(root)]), buffers, git_excludes="")


def test_br_130_a_dotenv_is_refused_on_every_route(tmp_path: Path) -> None:
    root = build("BR-130", tmp_path)
    wanted = expect("BR-130")
    assert wanted["routes"] == ["add", "folder add", "mention", "active editor", "pin"]
    text = (root / ".env").read_text()
    held = SimpleNamespace(uri=(root / ".env").as_uri(), version=1, source=text)
    loader = loader_of(root, Buffers({held.uri: held}))
    (mention,) = mentions("what is in @.env?")
    for reference in (".env", mention.path, held.uri, str(root / ".env"), "./src/../.env"):
        refusal = loader.load(reference)
        assert isinstance(refusal, Refusal)
        assert refusal.reason is Reason.SECRET
        assert refusal.confirmable
        assert "FAKEVALUE" not in refusal.sentence
    folder = loader.load_folder(".")
    assert isinstance(folder, FolderLoad)
    assert [loaded.key for loaded in folder.files] == [".env.example", ".gitignore", "src/app.py"]
    assert any(".env" in notice and "secrets" in notice for notice in folder.notices)
    files = FileContext()
    for loaded in folder.files:
        files.put(loaded.key, loaded.content)
    body = sent(files)
    assert not any(value in body for value in wanted["request_not_contains"])
    assert "changeme-EXAMPLE-OK" in body


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_br_130_no_other_name_leads_around_the_refusal(tmp_path: Path) -> None:
    root = build("BR-130", tmp_path)
    (root / "notes.txt").symlink_to(".env")
    (root / "plain.txt").write_text("x=1\n")
    (root / "prod.env").symlink_to("plain.txt")
    loader = loader_of(root)
    for name in ("notes.txt", "prod.env"):
        refusal = loader.load(name)
        assert isinstance(refusal, Refusal)
        assert refusal.reason is Reason.SECRET


def test_br_130_the_override_is_explicit_warned_about_and_ends_with_the_session(
    tmp_path: Path,
) -> None:
    root = build("BR-130", tmp_path)
    loader = loader_of(root)
    loaded = loader.load(".env", confirm=True)
    assert isinstance(loaded, LoadedFile)
    assert any("confirmed" in warning for warning in loaded.warnings)
    files = FileContext()
    files.put(loaded.key, loaded.content, **loaded.listing)
    files.set_pin(".env", Pin.STICKY)
    assert not loader.sync(files)
    assert "FAKEVALUE" in sent(files)
    again = FileContext()
    again.restore(files.snapshot(), loader_of(root).restore_text)
    assert again.get_files() == [".env"]
    assert again.entries()[0].reason == "secret"
    assert "FAKEVALUE" not in sent(again)


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_br_132_links_out_are_refused_and_links_within_are_not(tmp_path: Path) -> None:
    built = build("BR-132", tmp_path)
    wanted = expect("BR-132")
    loader = loader_of(built / wanted["root"])
    for name in wanted["refused"]:
        for confirm in (False, True):
            refusal = loader.load(name, confirm=confirm)
            assert isinstance(refusal, Refusal), name
            assert refusal.reason in (Reason.OUTSIDE_WORKSPACE, Reason.LINK_LOOP)
    for name in wanted["accepted"]:
        loaded = loader.load(name)
        assert isinstance(loaded, LoadedFile)
        assert "REAL-OK" in loaded.content.text


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_br_132_a_link_swapped_in_after_the_add_leads_nowhere(tmp_path: Path) -> None:
    built = build("BR-132", tmp_path)
    root = built / "in"
    loader = loader_of(root)
    files = FileContext()
    for name in ("real.txt", "ok"):
        loaded = loader.load(name)
        assert isinstance(loaded, LoadedFile)
        files.put(loaded.key, loaded.content, **loaded.listing)
    (root / "real.txt").unlink()
    (root / "real.txt").symlink_to("../outside/secret.txt")
    changes = loader.sync(files)
    assert changes.failed["real.txt"].reason is Reason.OUTSIDE_WORKSPACE
    assert "FAKEVALUE" not in sent(files)


@pytest.mark.skipif(os.name == "nt", reason="links")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_br_132_a_swap_between_check_and_open_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """The narrowest race: the path was judged, then replaced just before ``open``."""
    built = build("BR-132", tmp_path)
    root = built / "in"
    (root / "sub").mkdir()
    (root / "sub/secret.txt").write_text("fine\n")
    loader = loader_of(root)
    real_open = os.open

    def swap_then_open(path: str, flags: int) -> int:
        monkeypatch.undo()
        if what == "file":
            (root / "sub/secret.txt").unlink()
            (root / "sub/secret.txt").symlink_to(built / "outside/secret.txt")
        else:
            shutil.rmtree(root / "sub")
            (root / "sub").symlink_to(built / "outside")
        return real_open(path, flags)

    monkeypatch.setattr(os, "open", swap_then_open)
    refusal = loader.load("sub/secret.txt")
    assert isinstance(refusal, Refusal)
    assert refusal.reason in (Reason.OUTSIDE_WORKSPACE, Reason.CHANGED_WHILE_READING)
    assert (root / "sub").is_symlink() or (root / "sub/secret.txt").is_symlink()


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_br_132_another_file_put_there_while_it_is_opened_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was opened must be what lies at the path that was judged, also within the folder."""
    root = build("BR-132", tmp_path) / "in"
    real_open = os.open

    def open_then_swap(path: str, flags: int, mode: int = 0o777, **more: Any) -> int:
        descriptor = real_open(path, flags, mode, **more)
        if str(path).endswith("real.txt"):
            monkeypatch.undo()
            (root / "other.txt").write_text("other\n")
            (root / "other.txt").replace(root / "real.txt")
        return descriptor

    loader = loader_of(root)
    monkeypatch.setattr(os, "open", open_then_swap)
    found = loader.load("real.txt")
    if isinstance(found, Refusal):
        assert found.reason is Reason.CHANGED_WHILE_READING
    else:
        assert found.content.text == "REAL-OK\n", "the file that was opened, never the other"


def test_br_134_verdicts_are_those_of_git(tmp_path: Path) -> None:
    shutil.copy(case("BR-134") / "tree.gitignore", tmp_path / ".gitignore")
    wanted = expect("BR-134")["ignored"]
    for name in wanted:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    rules = IgnoreRules(str(tmp_path.resolve()), user_file="")
    verdicts = {name: bool(rules.ignored(str(tmp_path.resolve() / name))) for name in wanted}
    assert verdicts == wanted
    if shutil.which("git"):
        subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
        answer = subprocess.run(
            ["git", "-C", str(tmp_path), "check-ignore", "--no-index", "-z", "--stdin"],
            input="\0".join(wanted).encode(),
            capture_output=True,
            check=False,
        )
        ignored = set(answer.stdout.decode().split("\0"))
        assert {name: name in ignored for name in wanted} == wanted


def test_br_136_the_scanner_masks_every_credential_of_a_pasted_message() -> None:
    message = (case("BR-136") / "message.txt").read_text()
    clean, findings = redact(message)
    assert [finding.kind for finding in findings] == ["openai-key", "telegram-token", "password"]
    for value in ("sk-test-FAKE", "AAFAKE", "hunter2"):
        assert value in message
        assert value not in clean
    assert clean.startswith("please use key [redacted:openai-key] and token [redacted:")
    assert redact(clean) == (clean, [])
