"""The command line: serve an editor, or chat in the terminal with the same engine."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from rich.table import Table

from tierline import __version__
from tierline import protocol as p
from tierline.cli import (
    compact,
    completion,
    doctor,
    gc,
    history,
    index,
    mcp,
    memory,
    models,
    stats,
    url,
)
from tierline.cli import help as examples
from tierline.cli.common import (
    EXIT_INTERRUPTED,
    EXIT_PROBLEM,
    EXIT_USAGE,
    CommandGroup,
    _Json,
    _Root,
    fail,
    open_session,
    out,
    print_json,
    read_stdin,
    say,
    tell,
)
from tierline.cli.reply import print_reply
from tierline.errors import TierlineError
from tierline.localization.translator import translate, translate_label

if TYPE_CHECKING:
    from tierline.session.session import Session

app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    help="Tierline decides what a language model sees when you chat about code.",
)
for group in (
    history, stats, memory, compact, doctor, models, mcp, url, index, gc, completion
):  # fmt: skip
    app.add_typer(group.app)

_Files = Annotated[
    list[Path] | None,
    typer.Option("--file", "-f", metavar="<file>", help="A file to put into the context."),
]
_Confirm = Annotated[
    list[Path] | None,
    typer.Option(
        "--confirm",
        metavar="<file>",
        help="As --file, also if it is a file of secrets or an ignore rule excludes it.",
    ),
]
_Skip = Annotated[
    bool,
    typer.Option("--skip-refused", help="Go on without files that were named but cannot be sent."),
]
_Provider = Annotated[
    str, typer.Option(help="A provider's name, as in the settings; the setting when empty.")
]
_Model = Annotated[str, typer.Option(help="Model name; the setting, or the provider's default.")]


@app.callback(invoke_without_command=True)
def root_options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Options without a command."""
    if version:
        out.print(f"tierline {__version__}")
        raise typer.Exit


@app.command()
def serve(
    tcp: Annotated[
        str, typer.Option(help="Listen on HOST:PORT instead of standard input and output.")
    ] = "",
    stdio: Annotated[  # noqa: ARG001 - the default; many clients say it all the same
        bool, typer.Option("--stdio", help="Speak on standard input and output (the default).")
    ] = True,
) -> None:
    """Run the language server (your editor does this)."""
    from tierline.lsp.launch import serve as run

    if not tcp:
        run()
        return
    host, _, port = tcp.rpartition(":")
    if not port.isdigit():
        say(f"--tcp takes HOST:PORT, for example 127.0.0.1:7817, not {tcp!r}.")
        raise typer.Exit(EXIT_USAGE)
    host = host.strip("[]") or "127.0.0.1"
    from tierline.lsp.tcp import is_loopback, token

    try:
        token()
    except ValueError as error:
        fail(str(error), EXIT_USAGE)
    if not is_loopback(host):
        fail(f"--tcp listens on this machine only (127.0.0.1 or ::1), not on {host}.", EXIT_USAGE)
    run((host, int(port)))


@app.command()
def chat(
    question: Annotated[str, typer.Argument(help="What to ask. Use - to read standard input.")],
    file: _Files = None,
    confirm: _Confirm = None,
    skip_refused: _Skip = False,
    root: _Root = Path(),
    provider: _Provider = "",
    model: _Model = "",
    new: Annotated[bool, typer.Option("--new/--continue", help="Start a new session.")] = True,
    as_json: _Json = False,
) -> None:
    """Ask about files and stream the answer. If a file that is named cannot be sent, nothing is."""
    typed = question != "-"
    text = question if typed else read_stdin()
    # What is piped in may hold an @ that names nothing that the user chose.
    files = _Chosen(file or [], confirm or [], skip_refused, text if typed else "")
    code = asyncio.run(_chat(text, files, root, provider, model, new, as_json))
    raise typer.Exit(code)


@app.command()
def budget(
    file: _Files = None,
    confirm: _Confirm = None,
    skip_refused: _Skip = False,
    root: _Root = Path(),
    provider: _Provider = "",
    as_json: _Json = False,
) -> None:
    """Show how large the next request would be, section by section. Nothing is kept of it.

    The module map and cards of an editor's request are not in it: nothing is indexed for this.
    """
    files = _Chosen(file or [], confirm or [], skip_refused)
    raise typer.Exit(asyncio.run(_budget(files, root, provider, as_json)))


class _Chosen(NamedTuple):
    """Files of the command line: the plain ones, those that were confirmed, those that a question
    mentions; and whether to go on without those that are refused.
    """

    plain: list[Path]
    confirmed: list[Path]
    skip: bool
    question: str = ""


async def _chat(
    text: str, files: _Chosen, root: Path, provider: str, model: str, new: bool, as_json: bool
) -> int:
    events: asyncio.Queue[p.Event] = asyncio.Queue()
    session = await open_session(
        root, new=new, publish=events.put_nowait, provider=provider, model=model
    )
    try:
        named = await _add_files(session, files)
        if named is None:
            return EXIT_PROBLEM
        must = frozenset() if files.skip else named
        # What is piped in may hold an @ that names nothing.
        as_text = files.skip or not files.question
        params = p.ChatSendParams(text=text, mentions="text" if as_text else "ask")
        try:
            sent = await session.turns.send(params, must)
        except TierlineError as error:
            if error.code == "unclear_mention":
                say(f"{error.message} Change the prompt, or add --skip-refused.", "red")
                return EXIT_PROBLEM
            raise
        for notice in sent.notices:
            say(notice, "yellow")
        return await print_reply(events, sent.turn_id, as_json)
    except asyncio.CancelledError:
        return EXIT_INTERRUPTED
    finally:
        await session.close()


async def _add_files(session: Session, files: _Chosen) -> frozenset[str] | None:
    """Put what the user named into the context. Returns the keys of the files (not of those that a
    folder brings), or None if one of them cannot be sent and the command must end.
    """
    given = [(path, False) for path in files.plain] + [(path, True) for path in files.confirmed]
    named: set[str] = set()
    ended = False
    for path, confirm in given:
        reference = str(path.absolute())
        result = await session.files.add(p.FileParams(path=reference, confirm=confirm))
        for notice in result.notices:
            say(notice, "yellow")
        for refused in result.refused:
            how = f" To confirm: --confirm {shlex.quote(str(path))}" if refused.confirmable else ""
            say(f"{refused.reason}{how}", "red")
        ended |= bool(result.refused)
        if (info := session.files.info(reference)) is not None:
            named.add(info.path)
    found, _ = await session.mentions.find(files.question)
    for mentioned in (one.refusal for one in found if one.refusal is not None):
        how = f" To confirm: --confirm {shlex.quote(mentioned.name)}"
        say(f"{mentioned.sentence}{how if mentioned.confirmable else ''}", "red")
        ended = True
    if ended and not files.skip:
        say("Nothing was sent. Leave out what is refused, or add --skip-refused.", "red")
        return None
    return frozenset(named)


async def _budget(files: _Chosen, root: Path, provider: str, as_json: bool) -> int:
    from tierline.context.plan import explain

    session = await open_session(root, provider=provider, read_only=True)
    try:
        named = await _add_files(session, files)
        if named is None:
            return EXIT_PROBLEM
        report = await session.budget(p.NoParams())
        plan = (await session.composer.preview()).plan if named else None
    finally:
        await session.close()
    for key in (f"file:{path}" for path in sorted(named)):
        if plan is not None and not plan.includes(key):
            say(f"Not in the request: {explain(plan, key)} The rest would be sent.", "yellow")
        elif plan is not None and (entry := plan.entry(key)) and entry.whole_tokens > entry.tokens:
            say(f"Only a part is in the request: {explain(plan, key)}", "yellow")
    if as_json:
        print_json(report)
        return 0
    table = Table(
        title=translate(f"Next request to {report.model or 'no model'}"), title_justify="left"
    )
    table.add_column(translate_label("section"))
    table.add_column(translate_label("tokens"), justify="right")
    for section in report.sections:
        table.add_row(translate_label(section.name), f"{section.tokens:,}")
    table.add_section()
    table.add_row(translate_label("total"), f"{report.used:,}")
    out.print(table)
    tell(
        f"{report.percent:.1f} % of {report.max_input_tokens:,} tokens "
        f"({report.accuracy}, window from {report.limit_source})",
        "dim",
    )
    return 0


examples.explain(app)
