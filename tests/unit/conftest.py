"""Fixtures for tests of the command line: a folder apart from this machine, a model on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.terminal import lead_to, set_apart
from wire.scripts import a_reply, o_reply
from wire.servers import Kind, WireServer, wire_server


@pytest.fixture
def cli_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder; neither keys nor settings of this machine are in force."""
    set_apart(tmp_path, monkeypatch)
    root = tmp_path / "work"
    root.mkdir()
    return root


@pytest.fixture
def kind() -> Kind:
    """The wire format that ``model`` speaks."""
    return "openai"


@pytest.fixture
def model(workspace: Path, kind: Kind, monkeypatch: pytest.MonkeyPatch) -> Iterator[WireServer]:
    """A model on loopback that the command line finds in the environment."""
    reply = o_reply("One ", "two.") if kind == "openai" else a_reply("One ", "two.")
    with wire_server(kind, [reply]) as server:
        lead_to(server, monkeypatch)
        yield server
