"""What all commands share: where they print, how they end, how they open a workspace.

Data goes to standard output, everything else to standard error. Neither gets colours where it is
no terminal, or where ``NO_COLOR`` is set; tables are cut to the width of a terminal only.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sqlite3
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TextIO, TypeVar

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from typer.core import TyperGroup

from tierline.cli import translation
from tierline.context.display import printable
from tierline.errors import TierlineError
from tierline.localization.translator import translate, translate_label, translate_lines

if TYPE_CHECKING:
    from tierline import protocol as p
    from tierline.session.retrieval.symbols import Progress
    from tierline.session.session import Session

EXIT_PROBLEM, EXIT_USAGE, EXIT_NO_PROVIDER = 1, 2, 3
EXIT_INTERRUPTED, EXIT_READER_GONE = 130, 141
"""Stable, as scripts rely on them. docs/cli.md says what each means."""
_WIDE = 1000
_IN_JSON = re.compile(
    "[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_told_of: set[Path] = set()
_Root = Annotated[
    Path, typer.Option("--root", help="The workspace folder.", file_okay=False, exists=True)
]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
T = TypeVar("T")


class _Console(Console):
    """Prints what others wrote as it is: no markup, and control sequences as visible characters.

    Raises when its reader is gone; rich would end the program with a code of its own.
    """

    def render_str(self, text: str, *, style: str | Style = "", **_more: Any) -> Text:
        """Every plain string of every renderable comes through here: none is markup."""
        return Text(printable(text), style=style)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """What rich itself puts in is a control segment or a style, never text."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(printable(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """A console for one of the standard streams, as it is now."""
    stream: TextIO = sys.stderr if stderr else sys.stdout
    plain = "NO_COLOR" in os.environ
    narrow = stream.isatty() or "COLUMNS" in os.environ
    return _Console(
        stderr=stderr,
        highlight=False,
        width=None if narrow else _WIDE,
        color_system=None if plain else "auto",
    )


out = console()


def say(text: str, style: str = "") -> None:
    """A sentence to standard error, in the user's language. Never cut, never taken for markup."""
    console(stderr=True).print(translate(text), style=style, soft_wrap=True)


def fail(text: str, code: int = EXIT_PROBLEM) -> NoReturn:
    """End the command with a sentence that says why."""
    say(text, "red")
    raise typer.Exit(code) from None


def tell(text: str, style: str = "") -> None:
    """The same to standard output, line by line: sentences of ours, not what others wrote."""
    console().print(translate_lines(text), style=style, soft_wrap=True)


def write(text: str, end: str = "\n") -> None:
    """Text to standard output as it is, but for what a terminal would carry out."""
    sys.stdout.write(printable(text) + end)
    sys.stdout.flush()


def read_stdin() -> str:
    """Standard input. What a pipe cut inside of a character is no reason to fail."""
    data = getattr(sys.stdin, "buffer", None)
    return sys.stdin.read() if data is None else data.read().decode("utf-8", "replace")


def print_json(value: Any) -> None:
    """JSON on one line; names of fields as in docs/protocol.md."""
    from tierline.lsp.codec import make_converter

    text = json.dumps(make_converter().unstructure(value), ensure_ascii=False)
    # The same value, written so that no terminal carries anything out.
    write(_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


class CommandGroup(TyperGroup):
    """Ends every command in the same ways: a sentence with advice, and a stable exit code."""

    def main(self, *args: Any, **more: Any) -> Any:
        """Run, with help in the user's language."""
        _hide_types_of_switches(self)
        translation.begin(self)
        return super().main(*args, **more)

    def make_context(self, *args: Any, **more: Any) -> Any:
        """Read the command line."""
        with translation.complaints():
            return super().make_context(*args, **more)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            with translation.complaints():
                result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            _hush()
            raise typer.Exit(EXIT_READER_GONE) from None
        except (KeyboardInterrupt, asyncio.CancelledError):
            raise typer.Exit(EXIT_INTERRUPTED) from None
        except TierlineError as error:
            say(f"{error.message} {error.advice}".strip(), "red")
            code = EXIT_NO_PROVIDER if error.code == "no_provider" else EXIT_PROBLEM
            raise typer.Exit(code) from None
        except sqlite3.Error as error:
            fail(f"A database in .tierline cannot be used: {error}. Run tierline doctor.")
        except OSError as error:
            place = f": {error.filename}" if error.filename else ""
            fail(f"{error.strerror or error}{place}. Check the path and its permissions.")
        return result


def _hide_types_of_switches(command: Any) -> None:
    """A switch takes no value; typer 0.29 writes ``<bool>`` beside it."""
    for parameter in (*command.params, command.get_help_option(typer.Context(command))):
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    for below in getattr(command, "commands", {}).values():
        _hide_types_of_switches(below)


def _hush() -> None:
    """Let nothing complain at exit that it could not be written."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def home_of(root: Path, *, make: bool = False) -> Path:
    """Where a workspace's files are kept; says so if that is not its own ``.tierline``. ``make``:
    for a command that writes.
    """
    from tierline.disk import ownership

    chosen = ownership.home(root.resolve())
    if make:
        chosen = ownership.prepare(chosen)
    if chosen.why and chosen.folder not in _told_of:
        say(chosen.why, "yellow")
        _told_of.add(chosen.folder)
    return chosen.folder


def in_session(
    root: Path,
    work: Callable[[Session], Awaitable[T]],
    *,
    new: bool = False,
    strategy: str = "",
    progress: Progress | None = None,
    read_only: bool = False,
) -> T:
    """Open the workspace's session, do something with it, close it."""

    async def whole() -> T:
        session = await open_session(
            root, new=new, strategy=strategy, progress=progress, read_only=read_only
        )
        try:
            return await work(session)
        finally:
            await session.close()

    return asyncio.run(whole())


async def open_session(
    root: Path,
    *,
    new: bool = False,
    strategy: str = "",
    publish: Callable[[p.Event], None] = lambda _event: None,
    progress: Progress | None = None,
    read_only: bool = False,
    provider: str = "",
    model: str = "",
) -> Session:
    """The session of a workspace, with its newest conversation unless ``new``. ``read_only``: for a
    command that only shows something. ``provider`` and ``model``, given for this one command, count
    more than the environment.

    Raises:
        TierlineError: ``invalid_params`` for a strategy that there is not.
    """
    from tierline.history.selection import Strategy
    from tierline.lsp.launch import configure_logging
    from tierline.session.session import Session

    if strategy and strategy not in set(Strategy):
        raise TierlineError(
            "invalid_params", f"There is no strategy {strategy}.", f"Use {', '.join(Strategy)}."
        )
    for variable, value in (("NAME", provider), ("MODEL", model)):
        if value:
            os.environ[f"TIERLINE_PROVIDER_{variable}"] = value
    configure_logging()
    folder = root.resolve()  # noqa: ASYNC240 - once, at start
    session = Session(
        [(folder.name, folder.as_uri())],
        editor_settings={"history": {"restore": not new}},
        publish=publish,
        progress=progress,
        read_only=read_only,
    )
    await session.start()
    session.preferences.strategy_now = strategy
    return session


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on standard error while something takes long; nothing where that is no
    terminal. The function takes what is done and the whole.
    """
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    shown = console(stderr=True)
    title = translate_label(title)
    columns = (TextColumn(title), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=shown, transient=True, disable=not shown.is_terminal) as made:
        task = made.add_task(title, total=None)

        def step(done: int, total: int) -> None:
            made.update(task, completed=done, total=max(total, 1))

        yield step


def format_money(dollars: float) -> str:
    """``$1.23``, with more digits where the amount is small."""
    sign = "-" if dollars < 0 else ""
    amount = abs(dollars)
    return f"{sign}${amount:.2f}" if amount >= 1 or amount == 0 else f"{sign}${amount:.4f}"
