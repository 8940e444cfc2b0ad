"""Where the memos of a user lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from tierline.store.memos import user_folder


def test_the_users_folder_is_the_platforms_unless_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERLINE_DATA_DIR", str(tmp_path / "mine"))
    assert user_folder() == tmp_path / "mine"
    monkeypatch.delenv("TIERLINE_DATA_DIR")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_folder().is_relative_to(tmp_path)
    assert user_folder().name == "tierline"
