"""Fixtures for tests of the command line: a folder apart from this machine, a model on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lsp.conftest import environment
from wire.scripts import o_reply
from wire.servers import WireServer, wire_server


@pytest.fixture
def cli_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder; neither keys nor settings of this machine are in force."""
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("TIERLINE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    root = tmp_path / "work"
    root.mkdir()
    return root


@pytest.fixture
def model(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WireServer]:
    """A model on loopback that the command line finds in the environment."""
    with wire_server("openai", [o_reply("Fine.")]) as server:
        for name, value in environment(server).items():
            monkeypatch.setenv(name, value)
        yield server
