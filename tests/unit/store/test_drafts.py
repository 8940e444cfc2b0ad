"""Drafts of replies that stream: what is on the disk after a kill, and whose it is."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest

from tierline.context.blocks import Reasoning, ToolUse
from tierline.store.drafts import Draft, DraftOrigin, Drafts, OrphanedDraft, read
from tierline.workspace.secrets import redact as find_and_replace

ROOT = Path(__file__).parents[3]
ORIGIN = DraftOrigin(
    "1-aa", "sess_1_a", "1-bb", "main", "2026-01-01T00:00:00.000Z", "openai", "p", True
)
KEY = "ghp_" + "a1B2c3D4e5" * 4


def redact(text: str) -> str:
    return find_and_replace(text)[0]


def begin(drafts: Drafts, **changes: Any) -> Draft:
    draft = drafts.begin(attrs.evolve(ORIGIN, **changes))
    assert draft is not None
    return draft


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("drafts/*.jsonl"))


def died(folder: Path) -> None:
    """What a kill leaves: the files, and a lock that nobody holds."""
    for path in folder.glob("drafts/*.lock"):
        path.unlink()


def left(folder: Path) -> list[OrphanedDraft]:
    with Drafts(folder, redact).orphaned() as found:
        return found


def test_a_draft_grows_by_what_is_new_and_reads_back_whole(tmp_path: Path) -> None:
    draft = begin(Drafts(tmp_path, redact))
    thought = Reasoning("openai", {"signature": "x"})
    call = ToolUse("c1", "read_file", {"path": "é.py"})
    draft.write("One ", [], 0)
    draft.write("One two 😀", [thought], 0.3)
    draft.write("One two 😀 three", [thought, call], 0.6)
    draft.write("One two 😀 three", [thought, call], 0.9)
    (path,) = files(tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [r["text"] for r in records if "text" in r] == ["One ", "two 😀", " three"]
    found = read(path)
    assert (found.origin, found.text) == (ORIGIN, "One two 😀 three")
    assert found.blocks == (thought, call)


def test_a_secret_in_pieces_is_in_no_file_once_it_is_one(tmp_path: Path) -> None:
    draft = begin(Drafts(tmp_path, redact))
    text = f"The token is {KEY} and that is it."
    for end in range(0, len(text) + 1, 5):
        draft.write(text[:end], [], 0)
        (path,) = files(tmp_path)
        assert read(path).text == redact(text[:end]), "as the log would have it"
        assert redact(path.read_text()) == path.read_text()
    draft.write(text, [ToolUse("c", "run", {"line": f"export X={KEY}"})], 0)
    assert KEY not in path.read_text() and "[redacted:github-token]" in read(path).text


def test_a_living_process_keeps_its_drafts_and_a_dead_one_does_not(tmp_path: Path) -> None:
    own = Drafts(tmp_path, redact)
    draft = begin(own)
    draft.write("Half", [], 0)
    with own.orphaned() as mine:
        assert mine == []
    assert left(tmp_path) == [], "a lock is held for it"
    own.close()
    (found,) = left(tmp_path)
    assert found.text == "Half"
    assert left(tmp_path) == [found], "looking takes nothing away"
    found.discard()
    assert left(tmp_path) == [] and not (tmp_path / "drafts").exists()


def test_another_process_that_lives_is_noticed(tmp_path: Path) -> None:
    own, other = Drafts(tmp_path, redact), Drafts(tmp_path, redact)
    begin(own).write("Mine", [], 0)
    assert not own.others_running(), "one's own drafts do not count"
    begin(other).write("Theirs", [], 0)
    assert own.others_running() and other.others_running()
    other.close()
    assert not own.others_running(), "a draft that is left behind is none either"
    assert len(files(tmp_path)) == 2
    own.close()


def test_the_system_lets_go_of_a_killed_process(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from tierline.store.drafts import *\n"
        "drafts = Drafts(Path(sys.argv[1]), None)\n"
        "draft = drafts.begin(DraftOrigin(*'abcdefg', True))\n"
        "draft.write('Half a reply', [], 0); print('ready', flush=True); time.sleep(60)"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT / "server")}
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], env=env, stdout=subprocess.PIPE
    )
    assert child.stdout is not None and child.stdout.readline() == b"ready\n"
    assert left(tmp_path) == []
    child.kill()
    child.wait()
    child.stdout.close()
    assert [found.text for found in left(tmp_path)] == ["Half a reply"]


def test_two_who_look_at_once_do_not_both_get_a_draft(tmp_path: Path) -> None:
    begin(Drafts(tmp_path, redact)).write("Half", [], 0)
    died(tmp_path)
    with Drafts(tmp_path, redact).orphaned() as first:
        assert len(first) == 1
        assert left(tmp_path) == []


def test_a_finished_draft_is_gone_and_stays_so(tmp_path: Path) -> None:
    drafts = Drafts(tmp_path, redact)
    draft = begin(drafts)
    draft.write("Half", [], 0)
    assert draft.ours()
    draft.discard()
    draft.write("Half and more", [], 1)
    draft.write("Begun anew", [], 2)  # nothing of what was written before: a file of its own
    assert files(tmp_path) == []
    drafts.close()
    assert not (tmp_path / "drafts").exists()


def test_whoever_lost_a_draft_knows(tmp_path: Path) -> None:
    """A folder that was deleted, or a file system without locks."""
    drafts = Drafts(tmp_path, redact)
    draft = begin(drafts)
    assert draft.ours(), "nothing was written yet, so nobody can have taken it"
    draft.write("Half", [], 0)
    (path,) = files(tmp_path)
    path.unlink()
    draft.write("Half and more", [], 1)
    assert not draft.ours() and files(tmp_path) == [], "it does not come back under the same id"
    died(tmp_path)
    again = begin(drafts, message_id="2-aa")
    again.write("Anew", [], 0)
    assert left(tmp_path) == [], "under a lock of its own"


def test_a_full_disk_costs_no_character(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draft = begin(Drafts(tmp_path, redact))
    draft.write("One ", [], 0)
    real = os.write

    def short(fd: int, data: bytes) -> int:
        real(fd, data[:9])
        if len(data) > 60:
            raise OSError(errno.ENOSPC, "full")
        return 9

    monkeypatch.setattr("tierline.store.drafts.os.write", short)
    draft.write("One two ", [], 1)
    draft.write("One two " + "long " * 20, [], 2)
    monkeypatch.undo()
    draft.write("One two " + "long " * 20 + "end", [], 3)
    (path,) = files(tmp_path)
    assert read(path).text == "One two " + "long " * 20 + "end"


@pytest.mark.parametrize(
    "head", [b"", b"{}\n", b"\0" * 300 + b"\n", b'{"type": "draft", "v": 1}\n']
)
def test_without_its_first_line_nobody_knows_where_it_belongs(tmp_path: Path, head: bytes) -> None:
    begin(Drafts(tmp_path, redact)).write("Half", [], 0)
    died(tmp_path)
    (path,) = files(tmp_path)
    _, _, rest = path.read_bytes().partition(b"\n")
    path.write_bytes(head + rest)
    (found,) = left(tmp_path)
    assert found.origin is None and found.text == "Half"
    found.set_aside()
    assert left(tmp_path) == []
    assert path.with_suffix(".damaged").read_bytes() == head + rest, "nothing is thrown away"


def test_a_damaged_line_is_a_mark_in_the_text(tmp_path: Path) -> None:
    draft = begin(Drafts(tmp_path, redact))
    for end in (4, 8, 14):
        draft.write("One two three."[:end], [], 0)
    (path,) = files(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'{"at":4', b'{"at":#'))
    assert read(path).text == "One […]three."
    with path.open("ab") as stream:
        stream.write(
            b'{"at": 999999999999, "text": "x"}\n{"at": -1, "text": "y"}\n{"at": "0"}\n[]\n'
        )
    assert read(path).text == "One […]three."


def test_where_nothing_can_be_written_there_are_no_drafts(tmp_path: Path) -> None:
    (tmp_path / "drafts").write_text("a file")
    assert Drafts(tmp_path, redact).begin(ORIGIN) is None
    assert left(tmp_path) == []


def test_what_is_no_draft_is_neither_read_nor_waited_for(tmp_path: Path) -> None:
    """A folder may come with the repository."""
    folder = tmp_path / "drafts"
    folder.mkdir()
    secret = tmp_path / "secret.jsonl"
    secret.write_text(json.dumps({"at": 0, "text": "secret"}) + "\n")
    (folder / "1-aaaaaaaa.1.jsonl").symlink_to(secret)
    (folder / "1-aaaaaaaa.2.jsonl").mkdir()
    os.mkfifo(folder / "1-aaaaaaaa.3.jsonl")
    with (folder / "1-aaaaaaaa.4.jsonl").open("wb") as stream:
        stream.truncate(1 << 40)
    (folder / "2-bbbbbbbb.lock").symlink_to(secret)
    (folder / "2-bbbbbbbb.1.jsonl").write_text(secret.read_text())
    (folder / "elsewhere.jsonl").write_text(secret.read_text())
    assert left(tmp_path) == []
    assert "secret" in secret.read_text()
