"""Nothing that a model, a file's name or a tool says is carried out by the terminal.

Commands run in this process; what they print is looked at byte for byte.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text
from typer.testing import CliRunner, Result

import tierline.cli
from support.terminal import lead_to
from tierline.cli.common import console
from tierline.cli.main import app
from tierline.context.display import plain_markdown, printable, shown_name, visible_text
from unit.cli.test_cli_every_command import COMMANDS, NO_JSON, PROTOCOLS, SAMPLES
from wire.scripts import o_reply
from wire.servers import WireServer, wire_server

ESC = "\x1b"
HOSTILE = (
    f"{ESC}]52;c;cm0gLXJmIH4=\x07 {ESC}]0;title{ESC}\\ {ESC}[2J{ESC}[1;1H "
    f"{ESC}]8;;https://evil.example{ESC}\\link{ESC}]8;;{ESC}\\ \x9b31m \x9d0;t\x9c \x90q\x9c "
    "\u202egnp.exe\u202c \u2066x\u2069 \x08\x08 \x7f \rOVER [red]r[/red] [link=https://evil]l[/link]"
    " :smile: [/]"
)
CARRIED_OUT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ud800-\udfff]"
)
NAME = "[red]n[b]\x1b[31m\u202ea\x9b.py"


@pytest.fixture
def workspace(cli_workspace: Path) -> Path:
    """A folder with a file of a hostile name and text."""
    (cli_workspace / NAME).write_text(f"def alpha():\n    return {HOSTILE!r}\n# {HOSTILE}\n")
    return cli_workspace


@pytest.fixture
def model(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WireServer]:
    """A model whose reply comes in pieces of one character."""
    with wire_server("openai", [o_reply(*HOSTILE)]) as server:
        lead_to(server, monkeypatch)
        monkeypatch.setenv("TIERLINE_PROVIDER_MODEL", "m[red]\x1b[31m")
        yield server


def command(root: Path, name: str, *more: str, words: list[str] | None = None) -> Result:
    log = root.parent / "other.jsonl"
    log.touch()
    given = words if words is not None else [w.format(log=log) for w in SAMPLES[name]]
    place = ["--root", str(root)] if name not in ("completion", *PROTOCOLS) else []
    return CliRunner().invoke(app, [*name.split(), *given, *place, *more], input="")


def is_plain(result: Result) -> None:
    for text in (result.stdout, result.stderr):
        assert CARRIED_OUT.findall(text) == []
    assert "Traceback" not in result.output


def test_a_reply_is_shown_and_not_carried_out_however_it_is_cut(
    workspace: Path, model: WireServer
) -> None:
    result = command(workspace, "chat", "-f", str(workspace / NAME))
    assert result.exit_code == 0, result.output
    is_plain(result)
    assert result.stdout == printable(HOSTILE) + "\n"
    assert r"\u{1b}]52;c;cm0gLXJmIH4=\u{7}" in result.stdout
    assert r"\u{9b}31m" in result.stdout and r"\u{202e}gnp.exe" in result.stdout
    assert "[red]r[/red] [link=https://evil]l[/link] :smile: [/]" in result.stdout


def test_json_has_the_very_text_and_no_control_character(
    workspace: Path, model: WireServer
) -> None:
    result = command(workspace, "chat", "--json")
    is_plain(result)
    assert json.loads(result.stdout)["message"]["text"] == HOSTILE


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - PROTOCOLS))
def test_every_command_prints_hostile_data_as_visible_characters(
    name: str, workspace: Path, model: WireServer
) -> None:
    talk = command(workspace, "chat", "-f", str(workspace / NAME), words=[HOSTILE])
    assert talk.exit_code == 0, talk.output
    for role in ("user", "tool"):
        is_plain(command(workspace, "add", words=[role, HOSTILE]))
    is_plain(command(workspace, "memo save", words=[HOSTILE]))
    is_plain(command(workspace, name))
    is_plain(command(workspace, name, "--confirm", NAME)) if "--confirm" in _options(name) else None
    if name not in NO_JSON:
        is_plain(command(workspace, name, "--json"))


def _options(name: str) -> set[str]:
    return {option for one in COMMANDS[name].params for option in one.opts}


@pytest.mark.parametrize(
    ("name", "words", "seen"),
    [
        ("query", ["SELECT content FROM messages"], r"\u{1b}]52"),
        ("query", ["SELECT content, '[red]x[/red]' AS '[b]c\x1b' FROM messages"], "[red]x[/red]"),
        ("query", ["SELECT '\x1b[31m' FROM nothing"], ""),
        ("sessions", [], r"\u{1b}]52"),
        ("build", [], r"\u{1b}]52"),
        ("memo list", [], r"\u{1b}]52"),
        ("url show", ["https://e.example/\x1b[31m"], ""),
        ("replay", ["x\x1b[31m[red]"], r"x\u{1b}[31m[red]"),
        ("stats", ["--session", "x\x1b[31m[red]"], r"x\u{1b}[31m[red]"),
        ("chat", ["Hi", "-f", "no such\x1b[31m[red]"], r"\u{1b}[31m[red]"),
    ],
)
def test_what_is_hostile_stays_readable(
    name: str, words: list[str], seen: str, workspace: Path, model: WireServer
) -> None:
    command(workspace, "chat", words=[HOSTILE])
    command(workspace, "memo save", words=[HOSTILE])
    result = command(workspace, name, words=words)
    is_plain(result)
    assert seen in result.output.replace("\n", "")


def test_the_conversation_in_a_terminal_is_plain_too(workspace: Path, model: WireServer) -> None:
    lines = f"Hello {HOSTILE!r}\n/help\n/no\x1b[31msuch\n/memos\n"
    result = CliRunner().invoke(app, ["interactive", "--root", str(workspace)], input=lines)
    is_plain(result)
    assert r"\u{1b}]52" in result.stdout


def test_rich_renderables_of_every_kind_go_through_the_same_door(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A test that fails when rich renders in another way."""
    table = Table(HOSTILE, HOSTILE, title=HOSTILE, caption=HOSTILE)
    table.add_row(HOSTILE, Text(HOSTILE))
    made = console()
    for one in (table, HOSTILE, Text(HOSTILE), Text.from_markup("[b]x[/b]").append(HOSTILE)):
        made.print(one, style="red")
        made.print(one, soft_wrap=True)
    made.rule(HOSTILE)
    said = capsys.readouterr().out
    assert CARRIED_OUT.findall(said) == []
    assert said.count("[red]r[/red]") >= 8


def test_nothing_in_the_command_line_prints_beside_the_door() -> None:
    """``common.py`` has the streams and the consoles; the one exception is told below."""
    folder = Path(tierline.cli.__file__).parent
    found = []
    for path in folder.glob("*.py"):
        if path.name == "common.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                if called in ("print", "typer.echo", "typer.secho", "Console", "click.echo") or (
                    called.startswith(("sys.stdout.", "sys.stderr.")) and called.endswith("write")
                ):
                    found.append(f"{path.name}: {ast.unparse(node)}")
    # A stored request's bytes, in a pipe only, so that their hash can be checked there.
    allowed = {"history.py: typer.echo(request.payload, nl=False)"}
    assert set(found) - allowed == {f for f in found if f.startswith("reference.py")}


@given(st.text(), st.lists(st.integers(0, 100), max_size=5))
def test_text_is_the_same_whole_or_in_pieces_and_holds_nothing_to_carry_out(
    text: str, cuts: list[int]
) -> None:
    text = text.replace("\r\n", "\n")
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    pieces = [text[a:b] for a, b in itertools.pairwise(places)]
    assert "".join(map(printable, pieces)) == printable(text)
    assert CARRIED_OUT.search(printable(text)) is None
    assert printable(printable(text)) == printable(text)
    for name in (shown_name(text), plain_markdown(text)):
        assert CARRIED_OUT.search(name) is None and not set(name) & set("\n\t\u200b\u00ad")
    assert CARRIED_OUT.search(visible_text(text)) is None
    bare = re.sub(r"\\.", "", plain_markdown(text))
    assert not set(bare) & set("[]<>`*&|\\")


def test_what_people_write_stays_as_it_is() -> None:
    for text in ("é ü 語 👍🏽 👨‍👩‍👧 ❤️ नमस्ते می‌خواهم\n\tx = 1", shlex.quote("a b"), "⚠ 1 … – “x”"):
        assert printable(text) == text
