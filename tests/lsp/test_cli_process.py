"""``tierline`` among other processes: pipes that close, Ctrl-C, terminals, completion."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lsp.conftest import environment
from lsp.pipe import clean_environment, history
from support.warm import run
from tierline.cli.common import EXIT_INTERRUPTED, EXIT_READER_GONE
from wire.scripts import o_texts, then
from wire.servers import Hold, WireServer, wire_server

TIERLINE = [sys.executable, "-m", "tierline"]
BINARY = Path(sys.executable).with_name("tierline")


def env(workspace: Path, model: WireServer | None = None, **more: str) -> dict[str, str]:
    return clean_environment(workspace, **(environment(model) if model else {}), **more)


def listen_to_ctrl_c() -> None:
    """Programs that a script starts in the background inherit a Ctrl-C that is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(
    words: list[str], given: dict[str, str], root: Path, *, stdin: int | None = None
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*TIERLINE, *words],
        env=given,
        cwd=root,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=listen_to_ctrl_c,  # noqa: PLW1509 - no thread runs here
    )


# --- pipes ----------------------------------------------------------------------------------------

PIPED = [
    ["sessions"],
    ["sessions", "--json"],
    ["query", "SELECT content FROM messages"],
    ["doctor", "--quick"],
    ["doctor", "--quick", "--json"],
    ["completion", "bash"],
    ["chat", "Again?"],
    ["chat", "Again?", "--json"],
    ["build"],
    ["budget"],
    ["--version"],
]


@pytest.mark.parametrize("words", PIPED, ids=" ".join)
def test_a_reader_that_goes_away_is_no_news(
    workspace: Path, model: WireServer, words: list[str]
) -> None:
    """``tierline … | head -0``: no stack, no complaint of the interpreter, one exit code."""
    given = env(workspace, model)
    assert run(["chat", "Hello?"], given, workspace) == 0
    process = start(words, given, workspace)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    said = process.stderr.read().decode()
    assert process.wait(30) == EXIT_READER_GONE, said
    for bad in ("Traceback", "Exception ignored", "Broken pipe", "BrokenPipe"):
        assert bad not in said


def test_the_first_line_of_many(workspace: Path) -> None:
    """As a shell does it, with the first line still arriving."""
    command = f"'{sys.executable}' -m tierline completion zsh | head -1"
    found = subprocess.run(
        ["/bin/sh", "-c", command], env=env(workspace), capture_output=True, text=True, check=True
    )
    assert found.stdout.strip()
    assert found.stderr == ""


# --- Ctrl-C ---------------------------------------------------------------------------------------


def test_ctrl_c_while_a_reply_streams(workspace: Path) -> None:
    """The exit code is a shell's; what had come is kept, and marked."""
    with wire_server("openai", then(o_texts("Half of it"), Hold())) as model:
        process = start(["chat", "Hello?"], env(workspace, model), workspace)
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.read(10) == b"Half of it"
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == EXIT_INTERRUPTED
        assert b"Traceback" not in process.stderr.read()
    (reply,) = [r for r in history(workspace) if r.get("role") == "assistant"]
    assert (reply["status"], "Half of it" in json.dumps(reply["content"])) == ("interrupted", True)


@pytest.mark.parametrize("words", [["interactive"], ["mcp"], ["chat", "-"]], ids=" ".join)
def test_ctrl_c_while_it_waits_for_input(
    workspace: Path, model: WireServer, words: list[str]
) -> None:
    process = start(words, env(workspace, model), workspace, stdin=subprocess.PIPE)
    at_rest(process)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == EXIT_INTERRUPTED
    assert process.stderr is not None
    said = process.stderr.read().decode()
    assert "Traceback" not in said, said


def at_rest(process: subprocess.Popen[bytes], limit: float = 30.0) -> None:
    """Wait until a process has had no use for the processor for a second, however busy that is."""
    stat = Path(f"/proc/{process.pid}/stat")
    used, since, began = -1, time.monotonic(), time.monotonic()
    while time.monotonic() - since < 1.0 and time.monotonic() - began < limit:
        now = sum(map(int, stat.read_text().rpartition(")")[2].split()[11:13]))
        if now != used or now < 10:
            used, since = now, time.monotonic()
        time.sleep(0.05)


@pytest.mark.parametrize("module", ["typer", "rich.text", "tierline.cli.common"])
def test_ctrl_c_while_modules_load(workspace: Path, module: str) -> None:
    """In the middle of an import, which the interpreter names as it goes."""
    command = [sys.executable, "-X", "importtime", "-m", "tierline", "doctor", "--quick"]
    process = subprocess.Popen(
        command,
        env=env(workspace),
        cwd=workspace,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=listen_to_ctrl_c,  # noqa: PLW1509 - no thread runs here
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.split(b"|")[-1].strip() == module.encode():
            break
    process.send_signal(signal.SIGINT)
    rest = process.stderr.read()
    assert process.wait(10) == EXIT_INTERRUPTED
    assert b"Traceback" not in rest


# --- terminals ------------------------------------------------------------------------------------


def on_a_terminal(words: list[str], given: dict[str, str], root: Path) -> str:
    """What the command writes to a terminal of its own."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*TIERLINE, *words], env=given, cwd=root, stdin=slave, stdout=slave, stderr=slave
    )
    os.close(slave)
    said = b""
    with contextlib.suppress(OSError):  # Linux: the last one has closed it
        while piece := os.read(master, 65536):
            said += piece
    os.close(master)
    process.wait(10)
    return said.decode()


@pytest.mark.parametrize(
    "words", [["doctor", "--quick"], ["chat", "Hello?"], ["index", "history"]], ids=" ".join
)
def test_no_color_and_dumb_terminals(workspace: Path, model: WireServer, words: list[str]) -> None:
    given = env(workspace, model) | {"TERM": "xterm-256color"}
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        given.pop(name, None)
    assert run(["chat", "Hello?"], given, workspace) == 0
    assert "\x1b[" in on_a_terminal(words, given, workspace), "colours, or a bar, on a terminal"
    colourless = on_a_terminal(words, given | {"NO_COLOR": "1"}, workspace)
    assert not [
        c for c in colourless.split("\x1b[")[1:] if c.split("m")[0].replace(";", "").isdigit()
    ]
    assert "\x1b[" not in on_a_terminal(words, given | {"TERM": "dumb", "NO_COLOR": "1"}, workspace)


# --- completion -----------------------------------------------------------------------------------

ASK = """
eval "$(tierline completion bash)"
complete -p tierline >/dev/null || exit 9
COMP_WORDS=({words})
COMP_CWORD={place}
_tierline_completion tierline
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
@pytest.mark.skipif(not BINARY.exists(), reason="the program is not installed beside Python")
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("tierline se", {"serve", "sessions"}),
        ("tierline memo ", {"list", "search", "save", "edit", "delete"}),
        ("tierline url re", {"refresh", "remove"}),
        ("tierline stats --tu", {"--turns"}),
        ("tierline completion f", {"fish"}),
    ],
)
def test_bash_completes(workspace: Path, words: str, wanted: set[str]) -> None:
    given = env(workspace)
    given["PATH"] = f"{BINARY.parent}{os.pathsep}{given['PATH']}"
    parts = words.split(" ")
    script = ASK.format(words=" ".join(f"'{part}'" for part in parts), place=len(parts) - 1)
    found = subprocess.run(
        ["bash", "-c", script],
        env=given,
        cwd=workspace,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert set(found.stdout.split()) == wanted


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_scripts_of_other_shells_are_read_by_them(workspace: Path, shell: str) -> None:
    """Only whether the shell understands the script; what it completes with is the same for all."""
    script = subprocess.run(
        [*TIERLINE, "completion", shell],
        env=env(workspace),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "_TIERLINE_COMPLETE" in script
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    subprocess.run(
        [shell, "--no-execute" if shell == "fish" else "-n"], input=script, text=True, check=True
    )
