"""The append-only log: nothing that was acknowledged is lost, nothing that is bad is fatal."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from tierline.store.errors import StorageError
from tierline.store.log import HistoryLog, encode_line


def record(n: int, **more: Any) -> dict[str, Any]:
    return {"v": 1, "type": "message", "id": f"m{n}", "session_id": "s", **more}


def ids(log: HistoryLog) -> list[str]:
    return [r["id"] for r in log.scan().records]


def test_appended_records_are_read_back_in_order(tmp_path: Path) -> None:
    log = HistoryLog(tmp_path / "history.jsonl")
    log.append(record(1))
    log.append([record(2), record(3)], durable=True)
    assert ids(log) == ["m1", "m2", "m3"]
    assert ids(HistoryLog(tmp_path / "history.jsonl")) == ["m1", "m2", "m3"]


def test_file_is_private_to_its_owner(tmp_path: Path) -> None:
    log = HistoryLog(tmp_path / ".tierline" / "history.jsonl")
    log.append(record(1))
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600


def test_offsets_lead_back_to_the_record(tmp_path: Path) -> None:
    log = HistoryLog(tmp_path / "h.jsonl")
    log.append(record(1))
    where = log.append(record(2))
    assert [line.record for line in log.read(where.start)] == [record(2)]
    assert [line.record for line in log.read(where.start + 1)] == [None], "half a record"
    assert list(log.read(10_000)) == []


@pytest.mark.parametrize(
    "text", ["a\nb\rc\u2028d\x85e\x1ef", "\x0b\x0c\x1c\x1d\u2029\0", "\ud83d", "\udf0b x"]
)
def test_any_text_is_one_physical_line_and_comes_back_exact(tmp_path: Path, text: str) -> None:
    line = encode_line(record(1, content=text))
    assert line.count(b"\n") == 1 and line.endswith(b"\n") and line.isascii()
    log = HistoryLog(tmp_path / "h.jsonl")
    log.append(record(1, content=text))
    assert log.scan().records[0]["content"] == text


BAD = {
    "torn": b'{"id":"x","role":"assis',
    "words": b"plain words\n",
    "list": b'["a"]\n',
    "latin-1": b'{"id":"caf\xe9"}\n',
    "nul": b"\0" * 5000 + b"\n",
    "nul without newline": b"\0" * 5000,
    "deep": b"[" * 200_000 + b"\n",
    "huge number": b'{"id":' + b"9" * 10_000 + b"}\n",
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
def test_bad_lines_are_skipped_counted_and_left_alone(tmp_path: Path, bad: bytes) -> None:
    path = tmp_path / "h.jsonl"
    before = encode_line(record(1)) + bad
    path.write_bytes(before)
    log = HistoryLog(path)
    assert ids(log) == ["m1"]
    assert log.scan().skipped == 1
    assert path.read_bytes() == before
    log.append(record(2))
    assert ids(log) == ["m1", "m2"]
    assert path.read_bytes().startswith(before)


def test_record_behind_nul_bytes_on_one_line_is_still_read(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    path.write_bytes(encode_line(record(1)) + b"\0" * 900 + encode_line(record(2)))
    assert ids(HistoryLog(path)) == ["m1", "m2"]


def test_byte_order_mark_and_crlf_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + encode_line(record(1)).replace(b"\n", b"\r\n") + b"\r\n")
    assert ids(HistoryLog(path)) == ["m1"]


def test_whole_last_record_without_newline_counts(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    path.write_bytes(encode_line(record(1)).rstrip())
    log = HistoryLog(path)
    assert ids(log) == ["m1"]
    log.append(record(2))
    assert ids(log) == ["m1", "m2"]


def test_every_byte_offset_of_a_cut_record_leaves_the_next_append_readable(tmp_path: Path) -> None:
    first, cut = (
        encode_line(record(1, content="ok")),
        encode_line(record(2, content="caf\xe9 \ud83d")),
    )
    for offset in range(len(cut)):
        path = tmp_path / f"{offset}.jsonl"
        path.write_bytes(first + cut[:offset])
        log = HistoryLog(path)
        log.append(record(3))
        whole = offset >= len(cut) - 1  # only the newline is missing
        assert ids(log) == (["m1", "m2", "m3"] if whole else ["m1", "m3"]), offset
        assert path.read_bytes().count(b"\n") >= 2


def test_incremental_reader_does_not_step_over_a_growing_tail(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    path.write_bytes(encode_line(record(1)) + b'{"id":"m2","x')
    log = HistoryLog(path)
    end = log.scan().end
    assert end == len(encode_line(record(1)))
    with path.open("ab") as stream:
        stream.write(b'":1}\n')
    assert [line.record["id"] for line in log.read(end) if line.record] == ["m2"]


def test_short_write_is_an_error_and_does_not_poison_the_next_append(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = HistoryLog(tmp_path / "h.jsonl")
    log.append(record(1))
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:20]))
    with pytest.raises(StorageError, match="disk is full"):
        log.append(record(2))
    monkeypatch.setattr(os, "write", real)
    log.append(record(3))
    assert ids(log) == ["m1", "m3"]


@pytest.mark.parametrize(
    ("number", "words"),
    [(errno.ENOSPC, "disk is full"), (errno.EROFS, "read-only"), (errno.EIO, "not written")],
)
def test_write_failures_say_what_happened_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, words: str
) -> None:
    log = HistoryLog(tmp_path / "h.jsonl")

    def fail(fd: int, data: bytes) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "write", fail)
    with pytest.raises(StorageError, match=words) as caught:
        log.append(record(1))
    assert caught.value.code == "storage" and caught.value.advice


def test_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="file is a file, not a folder"):
        HistoryLog(tmp_path / "file" / "history.jsonl").append(record(1))
    (tmp_path / "history.jsonl").mkdir()
    with pytest.raises(StorageError, match=r"history\.jsonl: it is a folder"):
        HistoryLog(tmp_path / "history.jsonl").append(record(1))


def test_lock_that_is_never_released_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    holder, other = HistoryLog(path), HistoryLog(path, lock_timeout=0.05)
    holder._lock.acquire()
    try:
        with pytest.raises(StorageError, match="holds the lock"):
            other.append(record(1))
    finally:
        holder._lock.release()
    other.append(record(1))


def test_deleted_file_and_folder_are_made_again_and_reported(tmp_path: Path) -> None:
    """Bug case BR-150: the store is deleted between two messages."""
    folder = tmp_path / ".tierline"
    log = HistoryLog(folder / "history.jsonl")
    assert not log.append(record(1)).recreated
    for name in folder.iterdir():
        name.unlink()
    folder.rmdir()
    assert log.append(record(2)).recreated
    assert not log.append(record(3)).recreated
    assert ids(log) == ["m2", "m3"]


def test_unknown_objects_never_stop_a_write(tmp_path: Path) -> None:
    log = HistoryLog(tmp_path / "h.jsonl")
    log.append(record(1, meta={"path": tmp_path, 3: {1, 2}.__class__}))
    assert json.loads(log.path.read_bytes())["meta"]["path"] == str(tmp_path)


def test_overlong_line_is_skipped_piecewise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tierline.store.log.MAX_LINE_BYTES", 200)
    path = tmp_path / "h.jsonl"
    path.write_bytes(encode_line(record(1)) + b"x" * 1001 + b"\n" + encode_line(record(2)))
    log = HistoryLog(path)
    assert ids(log) == ["m1", "m2"]
    assert log.scan().problems == {"too_long": 1}


def test_an_empty_log_ends_where_it_begins(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_bytes(b"")
    found = HistoryLog(path).scan()
    assert (found.end, list(found.records)) == (0, [])
