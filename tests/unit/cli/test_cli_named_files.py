"""A file that the user names on the command line is sent, or nothing is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from support.terminal import lead_to, run
from wire.scripts import o_reply
from wire.servers import WireServer, wire_server

PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489")


@pytest.fixture
def workspace(cli_workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (cli_workspace / "ok.py").write_text("ALPHA = 'the good one'\n")
    (cli_workspace / ".env").write_text("PLACE=somewhere\n")
    monkeypatch.setenv("TIERLINE_SYMBOLS_ENABLED", "false")
    return cli_workspace


def ignored(root: Path) -> None:
    (root / "it").write_text("x = 1\n")
    (root / ".gitignore").write_text("it\n")


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda root: None, "does not exist"),
    "binary": (lambda root: (root / "it").write_bytes(b"\x00\x01\x02" * 50), "is not text"),
    "encoding": (lambda root: (root / "it").write_bytes(b"\x81\x8d\x8f\x90" * 50), "it"),
    "picture": (lambda root: (root / "it").write_bytes(PNG), "is a picture"),
    "too large": (lambda root: (root / "it").write_text("x = 1\n" * 2_000_000), "too large"),
    "loop": (lambda root: (root / "it").symlink_to("it"), "leads back to itself"),
    "outside": (lambda root: (root / "it").symlink_to("/etc/hostname"), "outside"),
    "ignored": (ignored, "--confirm"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_named_file_that_cannot_be_sent_ends_the_command(
    workspace: Path, model: WireServer, fault: str
) -> None:
    make, said = FAULTS[fault]
    make(workspace)
    good, bad = str(workspace / "ok.py"), str(workspace / "it")
    for command in (["chat", "Why?"], ["budget"]):
        result = run(workspace, *command, "-f", good, "-f", bad)
        assert result.exit_code == 1, command
        assert said in result.stderr
        assert "Nothing was sent. Leave out what is refused, or add --skip-refused." in (
            result.stderr
        )
        assert result.stdout == ""
    assert model.requests == []
    result = run(workspace, "chat", "Why?", "-f", good, "-f", bad, "--skip-refused")
    assert result.exit_code == 0, result.stderr
    assert said in result.stderr
    assert "the good one" in model.requests[-1].raw.decode()


def test_a_file_of_secrets_is_sent_if_it_is_confirmed_and_stops_the_command_if_not(
    workspace: Path, model: WireServer
) -> None:
    good, secret = str(workspace / "ok.py"), str(workspace / ".env")
    result = run(workspace, "chat", "Why?", "-f", good, "-f", secret)
    assert result.exit_code == 1 and model.requests == []
    assert f"--confirm {secret}" in result.stderr
    assert run(workspace, "chat", "Why?", "-f", good, "--confirm", secret).exit_code == 0
    assert "PLACE=somewhere" in model.requests[-1].raw.decode()


def test_all_that_is_refused_is_named_at_once(workspace: Path, model: WireServer) -> None:
    names = [str(workspace / name) for name in (".env", "none.py")]
    result = run(workspace, "chat", "Why?", *(w for name in names for w in ("-f", name)))
    assert ".env looks like" in result.stderr and "none.py does not exist" in result.stderr


def test_a_mention_in_a_typed_question_names_a_file_too(workspace: Path, model: WireServer) -> None:
    result = run(workspace, "chat", "What does @.env say, and why @property?")
    assert result.exit_code == 1 and model.requests == []
    assert ".env looks like" in result.stderr
    assert "property" not in result.stderr
    result = run(workspace, "chat", "-", text="What does @.env say?")
    assert result.exit_code == 0
    assert "@.env is not sent." in result.stderr
    question = ["chat", "What does @.env say?", "--confirm", str(workspace / ".env")]
    assert run(workspace, *question).exit_code == 0
    assert "PLACE=somewhere" in model.requests[-1].raw.decode()


def test_a_folder_brings_what_it_has_and_names_the_rest(workspace: Path, model: WireServer) -> None:
    folder = workspace / "src"
    folder.mkdir()
    (folder / "a.py").write_text("BETA = 'of the folder'\n")
    (folder / "b.png").write_bytes(PNG)
    (folder / "c.txt").write_bytes(b"\x81\x8d\x8f\x90" * 50)
    result = run(workspace, "chat", "Why?", "-f", str(folder))
    assert result.exit_code == 0
    assert "Skipped pictures: src/b.png." in result.stderr
    assert "of the folder" in model.requests[-1].raw.decode()


def test_a_named_file_that_the_window_has_no_room_for_ends_the_turn(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERLINE_CONTEXT_MAX_INPUT_TOKENS", "6000")
    (workspace / "big.py").write_text(
        "".join(f"def function_{n}():\n    return {n}\n" for n in range(900))
    )
    named = ["-f", str(workspace / "ok.py"), "-f", str(workspace / "big.py")]
    with wire_server("openai", [o_reply("Fine.")]) as model:
        lead_to(model, monkeypatch)
        result = run(workspace, "chat", "Why?", *named)
        assert result.exit_code == 1, result.stderr
        assert "Nothing was sent." in result.stderr and "big.py" in result.stderr
        assert model.requests == []
        end = json.loads(run(workspace, "chat", "Why?", *named, "--json").stdout)
        assert (end["outcome"], end["code"]) == ("error", "not_sendable")
        assert run(workspace, "chat", "Why?", *named, "--skip-refused").exit_code == 0
        assert len(model.requests) == 1


def test_a_file_that_is_sent_in_part_says_so(
    workspace: Path, model: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERLINE_CONTEXT_MAX_FILE_TOKENS", "500")
    (workspace / "big.py").write_text("".join(f"name_{n} = {n}\n" for n in range(900)))
    result = run(workspace, "chat", "Why?", "-f", str(workspace / "big.py"))
    assert result.exit_code == 0
    assert "big.py: Only the first" in result.stderr
