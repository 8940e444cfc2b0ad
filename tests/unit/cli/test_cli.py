"""The command line, run in this process in a real workspace against a model on loopback."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from lsp.conftest import environment
from support.terminal import lead_to, run
from tierline.cli.common import EXIT_NO_PROVIDER, EXIT_PROBLEM
from tierline.context.prompt import Prompt
from tierline.history import actions
from tierline.providers.choice import dialects, rerender
from tierline.store.sessions import HistoryStore
from wire.scripts import o_error, o_reply
from wire.servers import Kind, WireServer, wire_server


@pytest.fixture
def workspace(cli_workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small project."""
    (cli_workspace / "src").mkdir()
    (cli_workspace / "src" / "a.py").write_text("def alpha() -> int:\n    return 1\n")
    (cli_workspace / "src" / "b.py").write_text("BETA = 'ä😀'\n", encoding="utf-8")
    # The index may become ready between two turns; here only the files named are to change.
    monkeypatch.setenv("TIERLINE_SYMBOLS_ENABLED", "false")
    return cli_workspace


@pytest.fixture(params=["openai", "anthropic"])
def kind(request: pytest.FixtureRequest) -> Kind:
    """Both wire formats."""
    found: Kind = request.param
    return found


def rows(workspace: Path, command: str) -> list[dict[str, Any]]:
    result = run(workspace, command, "--json")
    assert result.exit_code == 0, result.stderr
    found: list[dict[str, Any]] = json.loads(result.stdout)
    return found


def chat(workspace: Path, text: str, *arguments: str) -> Result:
    result = run(workspace, "chat", text, "-f", str(workspace / "src" / "b.py"), *arguments)
    assert result.exit_code == 0, result.output
    return result


# --- chat and budget -----------------------------------------------------------------------------


def test_chat_streams_the_reply_to_standard_output_and_all_else_to_standard_error(
    workspace: Path, model: WireServer
) -> None:
    result = chat(workspace, "Count.")
    assert result.stdout == "One two.\n"
    assert "1 file" in result.stderr
    assert "BETA = 'ä😀'" in model.requests[-1].raw.decode()


def test_chat_in_json_is_one_object_with_the_message_and_the_usage(
    workspace: Path, model: WireServer
) -> None:
    result = chat(workspace, "Count.", "--json")
    (line,) = result.stdout.splitlines()
    end = json.loads(line)
    assert (end["kind"], end["outcome"]) == ("turnFinished", "ok")
    assert end["message"]["text"] == "One two."
    assert end["usage"]["inputTokens"] > 0
    assert end["usage"]["estimated"] is False


def test_chat_reads_the_question_from_standard_input(workspace: Path, model: WireServer) -> None:
    result = run(workspace, "chat", "-", text="What is in the pipe?")
    assert result.exit_code == 0
    assert "What is in the pipe?" in model.requests[-1].raw.decode()


def test_chat_continues_the_session_only_if_told_to(workspace: Path, model: WireServer) -> None:
    chat(workspace, "First.")
    chat(workspace, "Second.")
    assert "First." not in json.dumps(model.bodies[-1])
    chat(workspace, "Third.", "--continue")
    body = json.dumps(model.bodies[-1])
    assert "Second." in body
    assert "First." not in body


def test_no_provider_has_an_exit_code_of_its_own(workspace: Path) -> None:
    result = run(workspace, "chat", "Anyone?", "--provider", "anthropic")
    assert result.exit_code == EXIT_NO_PROVIDER == 3
    assert "ANTHROPIC_API_KEY" in result.stderr
    assert result.stdout == ""


def test_a_refused_request_fails_with_the_reason(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = o_error("Incorrect key.", 401, code="invalid_api_key")
    with wire_server("openai", [refusal]) as server:
        lead_to(server, monkeypatch)
        result = run(workspace, "chat", "Count.")
    assert result.exit_code == 1
    assert "key" in result.stderr
    assert "test-key-of-nobody" not in result.output


def test_a_provider_that_is_named_counts_more_than_the_environment(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who names a provider must not have the code sent to another one."""
    monkeypatch.setenv("TIERLINE_PROVIDER_NAME", "openai")
    monkeypatch.setenv("OPENAI_API_KEY", "test-key-of-nobody")
    result = run(workspace, "chat", "Anyone?", "--provider", "anthropic")
    assert result.exit_code == EXIT_NO_PROVIDER


def test_without_options_the_users_configuration_file_counts(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tierline.config import default_user_file

    with wire_server("openai", [o_reply("Yes.")]) as server:
        file = default_user_file()
        assert tmp_path in file.parents
        file.parent.mkdir(parents=True)
        lines = ["[provider]", 'name = "openai"', 'model = "of-the-file"']
        file.write_text("\n".join([*lines, f'base_url = "{server.url}"']), encoding="utf-8")
        monkeypatch.setenv("OPENAI_API_KEY", "test-key-of-nobody")
        assert run(workspace, "chat", "Well?").exit_code == 0
        assert server.bodies[-1]["model"] == "of-the-file"
        assert run(workspace, "chat", "Well?", "--model", "of-the-option").exit_code == 0
        assert server.bodies[-1]["model"] == "of-the-option"


def test_a_file_that_does_not_exist_fails_before_anything_is_sent(
    workspace: Path, model: WireServer
) -> None:
    for command in (["chat", "Count."], ["budget"]):
        result = run(workspace, command[0], *command[1:], "-f", str(workspace / "none.py"))
        assert result.exit_code == 1, command
        assert "none.py" in result.stderr
    assert model.requests == []


def test_budget_in_json_sums_up(workspace: Path, model: WireServer) -> None:
    result = run(workspace, "budget", "--json", "-f", str(workspace / "src" / "a.py"))
    assert result.exit_code == 0
    report = json.loads(result.stdout)
    assert report["provider"] == model.kind
    assert sum(section["tokens"] for section in report["sections"]) == report["used"]
    assert next(s["tokens"] for s in report["sections"] if s["name"] == "files") > 5
    assert model.requests == [], "counting sends no prompt"


def test_budget_says_which_file_would_not_be_in_the_request(
    workspace: Path, model: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERLINE_CONTEXT_MAX_INPUT_TOKENS", "4000")
    big = workspace / "src" / "big.py"
    big.write_text("".join(f"def function_{n}(): ...\n" for n in range(3_000)))
    result = run(workspace, "budget", "-f", str(big), "-f", str(workspace / "src" / "a.py"))
    assert result.exit_code == 0
    assert "Not in the request: src/big.py" in " ".join(result.stderr.split())
    assert "src/a.py" not in result.stderr
    monkeypatch.setenv("TIERLINE_CONTEXT_MAX_INPUT_TOKENS", "400000")
    monkeypatch.setenv("TIERLINE_CONTEXT_MAX_FILE_TOKENS", "500")
    result = run(workspace, "budget", "-f", str(big))
    assert "Only a part is in the request: src/big.py" in " ".join(result.stderr.split())


# --- plans, replay -------------------------------------------------------------------------------


def test_replay_gives_the_bytes_that_were_sent(workspace: Path, model: WireServer) -> None:
    """Issue 2: a stored plan renders to the same request again."""
    chat(workspace, "Count the Ää 😀.")
    (stored,) = rows(workspace, "plans")
    assert stored["provider"] == model.kind
    result = run(workspace, "replay", stored["planId"])
    assert result.exit_code == 0, result.stderr
    assert result.stdout_bytes == model.requests[-1].raw
    assert stored["requestSha256"] == hashlib.sha256(model.requests[-1].raw).hexdigest()
    assert stored["requestSha256"] in result.stderr


def test_replay_needs_neither_key_nor_settings_nor_the_files_of_then(
    workspace: Path, model: WireServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat(workspace, "Count.")
    chat(workspace, "Go on.", "--continue")
    sent = [request.raw for request in model.requests]
    (workspace / "src" / "b.py").write_text("BETA = 3\n", encoding="utf-8")
    for name in environment(model):
        monkeypatch.setenv(name, "")
    found = rows(workspace, "plans")
    assert [run(workspace, "replay", r["planId"]).stdout_bytes for r in reversed(found)] == sent


def test_a_plan_without_the_adapters_name_is_replayed_all_the_same(
    workspace: Path, model: WireServer
) -> None:
    chat(workspace, "Count.")
    change(workspace, "UPDATE plan SET provider = ''")
    (stored,) = rows(workspace, "plans")
    result = run(workspace, "replay", stored["planId"])
    assert (result.exit_code, result.stdout_bytes) == (0, model.requests[-1].raw)


def test_bytes_that_differ_are_said_to_differ(workspace: Path, model: WireServer) -> None:
    chat(workspace, "Count.")
    change(workspace, "UPDATE plan SET request_sha256 = 'f00d'")
    (stored,) = rows(workspace, "plans")
    result = run(workspace, "replay", stored["planId"])
    assert result.exit_code == 1
    assert "The bytes differ" in result.stderr
    assert "f00d" in result.stderr
    body = json.loads(result.stdout)
    assert body["messages"] == model.bodies[-1]["messages"], "what it renders to now, to compare"


def test_an_adapter_that_is_gone_is_named(workspace: Path, model: WireServer) -> None:
    chat(workspace, "Count.")
    change(workspace, "UPDATE plan SET provider = 'telegraph'")
    result = run(workspace, "replay", rows(workspace, "plans")[0]["planId"])
    assert result.exit_code == 1
    assert "telegraph" in result.stderr
    assert result.stdout == ""


def test_a_damaged_block_is_a_sentence_and_no_traceback(workspace: Path, model: WireServer) -> None:
    chat(workspace, "Count.")
    change(workspace, "UPDATE block SET data = x'00'")
    result = run(workspace, "replay", rows(workspace, "plans")[0]["planId"])
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert "no stored prompt" in result.stderr


def test_a_plan_is_found_by_any_part_of_its_id_and_without_one_it_is_the_newest(
    workspace: Path, model: WireServer
) -> None:
    chat(workspace, "Count.")
    chat(workspace, "Go on.", "--continue")
    newest, _ = rows(workspace, "plans")
    assert run(workspace, "replay", newest["planId"][:-2]).stdout_bytes == model.requests[-1].raw
    for part in (newest["planId"][-8:], newest["planId"][6:14]):
        assert run(workspace, "replay", part).stdout_bytes == model.requests[-1].raw
    assert run(workspace, "replay").stdout_bytes == model.requests[-1].raw
    both = run(workspace, "replay", "plan_")
    assert both.exit_code == 1
    assert "2 plans have plan_ in their id" in both.stderr and newest["planId"] in both.stderr
    result = run(workspace, "replay", "zzz")
    assert result.exit_code == 1
    assert "There is no plan" in result.stderr


def test_diff_names_what_changed_and_what_broke_the_prefix(
    workspace: Path, model: WireServer
) -> None:
    chat(workspace, "Count.")
    (workspace / "src" / "b.py").write_text("BETA = 3\n", encoding="utf-8")
    extra = str(workspace / "src" / "a.py")
    chat(workspace, "Go on.", "--continue", "-f", extra)
    newer, older = (row["planId"] for row in rows(workspace, "plans"))
    result = run(workspace, "replay", "--diff", older, newer)
    assert result.exit_code == 0
    assert "+ file:src/a.py" in result.stdout
    assert "~ file:src/b.py" in result.stdout
    assert "cached prefix" in result.stdout.splitlines()[-1]
    found = json.loads(run(workspace, "replay", "--diff", older, newer, "--json").stdout)
    assert "file:src/a.py" in found["added"]
    assert found["changed"] == ["file:src/b.py"]
    same = json.loads(run(workspace, "replay", "--diff", older, older, "--json").stdout)
    assert (same["added"], same["changed"], same["firstBreak"]) == ([], [], "")


@pytest.mark.parametrize("arguments", [["--diff", "one"], ["one", "two"]])
def test_a_wrong_number_of_plans_is_a_usage_error(workspace: Path, arguments: list[str]) -> None:
    assert run(workspace, "replay", *arguments).exit_code == 2


def test_looking_back_leaves_nothing_behind(workspace: Path) -> None:
    assert rows(workspace, "plans") == []
    assert rows(workspace, "sessions") == []
    assert "no sessions" in run(workspace, "sessions").stderr
    assert run(workspace, "replay", "any").exit_code == 1
    assert not (workspace / ".tierline").exists()


@pytest.mark.parametrize("dialect", dialects(), ids=lambda d: d.provider)
def test_the_hash_decides_which_dialect_was_sent(dialect: Any) -> None:
    prompt = Prompt("m", system=(), messages=(), cache_key="s", max_output_tokens=5)
    once = rerender(prompt, dialect.provider, "")
    payload = json.dumps(dialect.body(prompt), separators=(",", ":")).encode()
    again = rerender(prompt, dialect.provider, hashlib.sha256(payload).hexdigest())
    assert again.payload == payload
    assert once.provider == again.provider == dialect.provider


# --- sessions ------------------------------------------------------------------------------------


def test_sessions_are_listed_newest_first(workspace: Path, model: WireServer) -> None:
    chat(workspace, "Older one.")
    chat(workspace, "Newer [red]one[/red].")
    found = rows(workspace, "sessions")
    assert [row["preview"] for row in found] == ["Newer [red]one[/red].", "Older one."]
    assert [row["messages"] for row in found] == [2, 2]
    assert len(json.loads(run(workspace, "sessions", "-n", "1", "--json").stdout)) == 1
    by_session = run(workspace, "plans", "--json", "--session", found[1]["sessionId"])
    (plan,) = json.loads(by_session.stdout)
    assert plan["sessionId"] == found[1]["sessionId"]
    table = run(workspace, "sessions").stdout
    assert found[0]["sessionId"] in table
    newer, older = (row["sessionId"] for row in found)
    HistoryStore(workspace).record(actions.rename("Named elsewhere"), session_id=older)
    table = run(workspace, "sessions").stdout
    assert "Named elsewhere" in table and "Older one." not in table, "as editors list it"
    titles = {row["sessionId"]: row["title"] for row in rows(workspace, "sessions")}
    assert titles == {older: "Named elsewhere", newer: ""}
    assert run(workspace, "archive").exit_code == 2
    assert "no session nobody" in run(workspace, "archive", "nobody").stderr
    assert "There is nothing to move." in run(workspace, "archive", "--days", "1").stdout
    assert "1 session is in the archive." in run(workspace, "archive", older).stdout
    assert [row["sessionId"] for row in rows(workspace, "sessions")] == [newer]
    away = json.loads(run(workspace, "sessions", "--archived", "--json").stdout)
    assert [row["sessionId"] for row in away] == [older]
    dry = json.loads(run(workspace, "archive", "--back", older, "--dry-run", "--json").stdout)
    assert dry == {"sessions": [older], "archived": False, "dryRun": True}
    assert "1 session is back in the list." in run(workspace, "archive", "--back", older).stdout
    assert {row["sessionId"] for row in rows(workspace, "sessions")} == {newer, older}


def change(workspace: Path, statement: str) -> None:
    """Change the stored plans behind Tierline's back."""
    with sqlite3.connect(workspace / ".tierline" / "plans.sqlite3") as db:
        db.execute(statement)
    db.close()


# --- query ---------------------------------------------------------------------------------------


def test_history_is_read_with_sql(workspace: Path, model: WireServer) -> None:
    """Seed 000, section 5: the user's side of ``query_db``."""
    assert run(workspace, "query", "SELECT 1").exit_code == 1
    assert not (workspace / ".tierline").exists(), "looking leaves nothing behind"
    run(workspace, "chat", "What about\nalpha?")
    one = run(workspace, "query", "SELECT content FROM messages WHERE role = 'user'")
    assert one.stdout == "What about\nalpha?\n", "one value comes as it is"
    found = run(workspace, "query", "SELECT role, content FROM messages ORDER BY id", "--json")
    assert [r["role"] for r in json.loads(found.stdout)] == ["user", "assistant"]
    assert "One two." in run(workspace, "query", "SELECT role, content FROM messages").stdout
    for wrong in ("DROP TABLE message", "SELECT * FROM sqlite_master", "nonsense"):
        refused = run(workspace, "query", wrong)
        assert refused.exit_code == 1 and "Not run" in refused.stderr
    assert len(json.loads(run(workspace, "query", "SELECT * FROM messages", "--json").stdout)) == 2


# --- recover -------------------------------------------------------------------------------------


def test_sessions_of_another_log_are_taken_over(workspace: Path, model: WireServer) -> None:
    """BR-144: "damaged ones listed as damaged with a recover option"."""
    chat(workspace, "Kept.")
    log = workspace / ".tierline" / "history.jsonl"
    other = workspace / "old.jsonl"
    other.write_bytes(log.read_bytes() + b'{"torn": ')
    log.unlink()
    before = other.read_bytes()
    done = run(workspace, "recover", str(other))
    assert done.exit_code == 0 and "1 damaged lines" in done.stderr
    assert [row["preview"] for row in rows(workspace, "sessions")] == ["Kept."]
    again = run(workspace, "recover", str(other), "--json")
    assert json.loads(again.stdout)["added"] == 0 and other.read_bytes() == before


def test_recover_says_if_nothing_could_be_taken(workspace: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("root:x:0:0\nnobody:x:1:1\n", encoding="utf-8")
    result = run(workspace, "recover", str(other))
    assert result.exit_code == EXIT_PROBLEM
    assert "none of the 2 lines" in result.stderr
    as_json = run(workspace, "recover", str(other), "--json")
    assert as_json.exit_code == EXIT_PROBLEM
    assert json.loads(as_json.stdout)["skipped"] == 2
