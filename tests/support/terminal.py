"""The command line in a test: apart from this machine, run in this process, led to a model."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from lsp.conftest import environment
from tierline.cli.main import app
from wire.servers import WireServer

OF_THIS_MACHINE = ("_API_KEY", "_BASE_URL", "_PROXY", "_proxy", "_CA_BUNDLE", "_CA_CERTS")


def set_apart(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, setting or folder of this machine is in force; all that is kept goes below ``home``.

    What a command itself puts into the environment is undone after the test, too.
    """
    for name in list(os.environ):
        if name.startswith(("TIERLINE_", "SSL_CERT_")) or name.endswith(OF_THIS_MACHINE):
            monkeypatch.delenv(name)
    for name in ("NAME", "MODEL", "BASE_URL"):
        monkeypatch.setenv(f"TIERLINE_PROVIDER_{name}", "")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("TIERLINE_DATA_DIR", str(home / "data"))
    monkeypatch.setenv("HOME", str(home))


def lead_to(model: WireServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on the command line finds this model in the environment."""
    for name, value in environment(model).items():
        monkeypatch.setenv(name, value)


def run(root: Path, *words: str, text: str | bytes | None = None) -> Result:
    """A command and its arguments, in a workspace."""
    return CliRunner().invoke(app, [*words, "--root", str(root)], input=text)
