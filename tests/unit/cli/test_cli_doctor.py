"""``tierline doctor`` on healthy and damaged workspaces: each fault is named with what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from support.terminal import set_apart
from tierline.cli.main import app
from tierline.session import doctor
from tierline.store.profiles import ProfileStore
from tierline.store.sessions import HistoryStore


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No key, setting or model server of this machine takes part."""
    set_apart(tmp_path, monkeypatch)
    monkeypatch.setenv("COLUMNS", "200")

    async def nobody() -> list[Any]:
        return []

    monkeypatch.setattr(doctor, "probe_loopback", nobody)


@pytest.fixture
def root(cli_workspace: Path) -> Path:
    return cli_workspace


def run(root: Path, *arguments: str) -> tuple[int, dict[str, dict[str, str]]]:
    result = CliRunner().invoke(app, ["doctor", "--root", str(root), "--json", *arguments])
    checks = json.loads(result.stdout)
    return result.exit_code, {f"{c['area']} {c['name']}": c for c in checks}


def conversation(root: Path) -> Path:
    store = HistoryStore(root)
    store.append(store.make("user", "Where is the parser?"))
    store.list_sessions()
    store.close()
    return root / ".tierline"


def test_a_healthy_workspace_needs_nothing(root: Path) -> None:
    home = conversation(root)
    code, checks = run(root)
    assert code == 0
    assert {c["status"] for c in checks.values()} <= {"ok", "note"}
    assert "1 record" in checks["history log"]["found"]
    assert checks["counting o200k_base"]["status"] == "ok"
    assert not list(home.parent.glob(".tierline-probe-*")), "the probe is removed"


def test_a_large_index_is_not_copied_to_be_checked(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation(root)
    monkeypatch.setattr("tierline.session.doctor.COPIED_BYTES", 1000)
    monkeypatch.setattr("tierline.session.doctor.ReadOnlyCopy", lambda: pytest.fail("it is copied"))
    code, checks = run(root)
    assert code == 0 and "too large" in checks["index index.sqlite3"]["found"]


def test_notes_alone_are_called_notes_and_end_with_0(root: Path) -> None:
    _, checks = run(root)
    notes = sum(check["status"] == "note" for check in checks.values())
    assert notes > 0
    result = CliRunner().invoke(app, ["doctor", "--root", str(root)])
    assert result.exit_code == 0
    assert f"Everything that a turn needs is there. {notes} note" in result.output


def test_it_speaks_the_environments_language(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGUAGE", "de")
    # A cell breaks into lines where its width says, and that depends on where the folder lies.
    said = " ".join(CliRunner().invoke(app, ["doctor", "--root", str(root)]).output.split())
    assert "Alles, was eine Runde braucht, ist da." in said and "mit einem Punkt" in said
    assert "noch keine Unterhaltung" in said and "kann geschrieben werden" in said


def test_a_folder_without_a_conversation_is_left_as_it_was(root: Path) -> None:
    code, checks = run(root)
    assert code == 0
    assert checks["history log"]["found"] == "no conversation yet"
    assert list(root.iterdir()) == []


def test_damaged_lines_are_counted_and_left_alone(root: Path) -> None:
    log = conversation(root) / "history.jsonl"
    with log.open("ab") as file:
        file.write(b'{"torn": \n\0\0\0\n')
    before = log.read_bytes()
    code, checks = run(root)
    assert code == 1, "it needs attention"
    assert checks["history log"]["status"] == "warning"
    assert "2 lines cannot be read" in checks["history log"]["found"]
    assert log.read_bytes() == before
    _, quick = run(root, "--quick")
    assert "not read line by line" in quick["history log"]["found"]


def test_a_corrupt_index_names_the_file_to_delete(root: Path) -> None:
    index = conversation(root) / "index.sqlite3"
    index.write_bytes(b"no database at all" * 400)
    _, checks = run(root)
    assert checks["index index.sqlite3"]["status"] == "warning"
    assert "Delete" in checks["index index.sqlite3"]["advice"]


def test_keys_are_named_but_never_printed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-very-secret-value")
    result = CliRunner().invoke(app, ["doctor", "--root", str(root)])
    assert "very-secret" not in result.output
    assert "a key in ANTHROPIC_API_KEY" in result.output
    assert "claude-" in result.output, "the choice follows the key"


def test_a_bad_setting_and_a_missing_model_file_are_explained(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = conversation(root)
    (home / "config.toml").write_text('[context]\nmode = "turbo"\n', encoding="utf-8")
    monkeypatch.setenv("TIERLINE_PROVIDER_LOCAL_MODEL_PATH", str(root / "absent.gguf"))
    code, checks = run(root)
    assert code == 1
    assert "mode = 'turbo'" in checks[f"settings {home / 'config.toml'}"]["found"]
    chosen = checks["provider chosen"]
    assert chosen["status"] == "failure"
    assert chosen["advice"]


def test_a_missing_vocabulary_is_a_warning(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "encoder", lambda name: None)
    _, checks = run(root)
    assert checks["counting cl100k_base"]["status"] == "warning"
    assert "vocabulary.py" in checks["counting cl100k_base"]["advice"]


def test_a_read_only_folder_is_a_failure(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("tierline.disk.create", refuse)
    code, checks = run(root)
    assert code == 1
    assert "Read-only file system" in checks["workspace writing"]["found"]


def test_a_check_that_breaks_hides_no_other(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(doctor, "vocabularies", broken)
    code, checks = run(root)
    assert code == 1
    assert checks["doctor RuntimeError"]["found"] == "boom"
    assert "history log" in checks


def test_it_says_how_prompts_are_ranked(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, found = run(root)
    assert found["memory embeddings"]["status"] in ("ok", "note")
    monkeypatch.setenv("TIERLINE_MEMORY_EMBEDDING_MODEL", "/no/such/folder")
    _, found = run(root)
    assert (
        found["memory embeddings"]["status"] == "warning"
        and "numpy" in found["memory embeddings"]["advice"]
    )
    monkeypatch.setenv("TIERLINE_MEMORY_EMBEDDINGS", "off")
    _, found = run(root)
    assert found["memory embeddings"]["found"].startswith("switched off")


def test_what_was_learnt_of_servers_is_shown_and_can_be_forgotten(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERLINE_STATE_DIR", str(tmp_path / "state"))
    store = ProfileStore()
    store.learn("http://127.0.0.1:1/v1/", "m", {"tools": False}, "m takes no tools here.")
    store.learn("http://127.0.0.1:1/v1", "m", {"window": 4096}, "m reads 4,096 tokens here.")
    code, checks = run(root)
    found = checks["server m at http://127.0.0.1:1/v1"]
    assert (code, found["status"]) == (0, "note")
    assert "m takes no tools here. m reads 4,096 tokens here. (learnt on " in found["found"]
    assert "--forget" in found["advice"]
    _, checks = run(root, "--forget")
    assert not [name for name in checks if name.startswith("server ")]
    assert store.learnt() == []
