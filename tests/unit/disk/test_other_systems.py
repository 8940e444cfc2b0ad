"""What differs on systems that nothing here runs on, with doubles of what they do."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tierline import disk
from tierline.store.sessions import HistoryStore

fcntl = pytest.importorskip("fcntl")


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    done: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        done.append("fsync")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    return done


def full(monkeypatch: pytest.MonkeyPatch, does: Callable[[], None]) -> None:
    """macOS's ``F_FULLFSYNC``."""
    real = fcntl.fcntl
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)

    def control(descriptor: int, what: int, *more: int) -> int:
        if what != 51:
            return int(real(descriptor, what, *more))
        does()
        return 0

    monkeypatch.setattr(fcntl, "fcntl", control)


def test_on_macos_a_message_is_brought_through_the_drives_own_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, synced: list[str]
) -> None:
    full(monkeypatch, lambda: synced.append("full"))
    store = HistoryStore(tmp_path)
    store.append(store.make("user", "Kept"), durable=True)
    assert synced and set(synced) == {"full"}


def test_where_that_is_not_offered_it_is_synced_as_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, synced: list[str]
) -> None:
    def refuse() -> None:
        raise OSError(45, "Operation not supported")

    full(monkeypatch, refuse)
    disk.replace(tmp_path / "settings.toml", b"x = 1\n")
    assert synced == ["fsync"] and (tmp_path / "settings.toml").read_bytes() == b"x = 1\n"


def test_an_index_that_is_damaged_and_in_use_elsewhere_cannot_go_and_costs_no_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows deletes no file that another process has open."""
    store = HistoryStore(tmp_path)
    store.append(store.make("user", "Still there"))
    (store.folder / "index.sqlite3").write_bytes(b"no database " * 500)

    def unlink(*_: object, **__: object) -> None:
        raise PermissionError(13, "The process cannot access the file")

    monkeypatch.setattr(os, "unlink", unlink)
    again = HistoryStore(tmp_path)
    assert [one.preview for one in again.list_sessions()] == ["Still there"]
    assert [one.preview for one in again.sessions().sessions] == ["Still there"]
    assert [hit.snippet for hit in again.search("there").hits] == ["Still there"]
    restored = again.restore_newest()
    assert restored is not None and len(restored.messages) == 1
    assert again.session(restored.session_id) is not None
    again.append(again.make("user", "And goes on"))
    assert len(again.timeline().messages) == 2
