"""What ``tierline gc`` takes away, and what it never touches."""

from __future__ import annotations

import base64
import json
import os
import time
from pathlib import Path

import pytest

from support.terminal import run
from tierline.context.blocks import Image
from tierline.disk import sqlite
from tierline.store.garbage import collect, survey
from tierline.store.images import ImageStore

OLD = time.time() - 40 * 86_400
PNG = b"\x89PNG\r\n\x1a\n"


def picture(home: Path, number: int, *, old: bool = True) -> str:
    data = base64.b64encode(PNG + bytes([number]) * 5000).decode()
    ref = ImageStore(home / "images").save(Image("image/png", data)).ref
    if old:
        os.utime(home / "images" / ref, (OLD, OLD))
    return ref


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / ".tierline"
    (folder / "images").mkdir(parents=True)
    (folder / "drafts").mkdir()
    return folder


def test_only_pictures_go_that_no_message_and_no_draft_names(home: Path) -> None:
    said, drafted, copied, torn, unsaid = (picture(home, n) for n in range(5))
    new = picture(home, 9, old=False)
    (home / "history.jsonl").write_bytes(
        b"x" * 4_194_300
        + json.dumps({"image_refs": [said]}).encode()
        + b'\n{"cut": "'
        + torn.encode()
    )
    (home / "history.jsonl.damaged-1").write_text(f'{{"ref":"{copied}"}}')
    (home / "drafts" / "one.jsonl").write_text(f'{{"ref":"{drafted}"}}')
    found = survey(home)
    assert [w.path.name for w in found.waste] == [unsaid]
    assert collect(home, found) == found.gain == 5008
    assert sorted(path.name for path in (home / "images").iterdir()) == sorted(
        [said, drafted, copied, torn, new]
    )


def test_leftovers_and_old_damaged_copies_go_and_the_log_stays(home: Path) -> None:
    goes = [
        ".sent.json.0123456789ab.new",
        "plans.sqlite3.damaged-1",
        "symbols.sqlite3-wal.damaged-2",
    ]
    stays = ["history.jsonl", "history.jsonl.damaged-1", "memos.jsonl", "calibration.json"]
    for name in (*goes, *stays):
        (home / name).write_text("x")
        os.utime(home / name, (OLD, OLD))
    (home / "usage.sqlite3.damaged-1").write_text("x")  # of today
    found = survey(home)
    assert sorted(w.path.name for w in found.waste) == sorted(goes)
    collect(home, found)
    assert {*stays, "usage.sqlite3.damaged-1"} <= {path.name for path in home.iterdir()}
    assert not {*goes} & {path.name for path in home.iterdir()}


def test_a_database_that_is_mostly_empty_is_packed_and_keeps_its_rows(home: Path) -> None:
    db = sqlite.connect(home / "plans.sqlite3")
    db.execute("CREATE TABLE t (x)")
    db.executemany("INSERT INTO t VALUES (?)", [("x" * 10_000,) for _ in range(500)])
    db.execute("DELETE FROM t WHERE rowid > 3")
    db.close()
    found = survey(home)
    assert [w.why for w in found.waste] == ["empty pages"]
    assert collect(home, found) > 4_000_000
    db = sqlite.connect(home / "plans.sqlite3")
    assert db.execute("SELECT count(*) FROM t").fetchone() == (3,)
    db.close()
    assert survey(home).waste == []


def test_an_old_picture_that_is_attached_again_is_new(home: Path) -> None:
    ref = picture(home, 1)
    assert [w.path.name for w in survey(home).waste] == [ref]
    assert picture(home, 1, old=False) == ref
    assert survey(home).waste == []


def test_a_link_is_not_followed(home: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / ".x.0123456789ab.new").write_text("x")
    os.utime(outside / ".x.0123456789ab.new", (OLD, OLD))
    (home / "sent").symlink_to(outside)
    assert survey(home).waste == []


def test_the_command_says_what_would_go_and_changes_nothing(cli_workspace: Path) -> None:
    assert run(cli_workspace, "add", "user", "A note.").exit_code == 0
    folder = cli_workspace / ".tierline"
    ref = picture(folder, 1)
    dry = run(cli_workspace, "gc", "--dry-run")
    assert dry.exit_code == 0, dry.output
    assert f"would be freed: {ref}" in dry.stdout and "Nothing was changed" in dry.stdout
    assert "conversations, 2 files: kept for good" in dry.stdout
    assert (folder / "images" / ref).exists()
    done = json.loads(run(cli_workspace, "gc", "--json").stdout)
    assert done["freed"] == 5008 and not (folder / "images" / ref).exists()
    assert "A note." in (folder / "history.jsonl").read_text()
