"""The commands `memory` and `memo`, on the same store that an editor uses.

``add``, ``build``, ``compress``, ``interactive``; ``stats`` is shared with the cache's figures.
Nothing here needs a provider but what is typed in ``interactive``.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tierline import protocol as p
from tierline.cli.common import (
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    _Json,
    _Root,
    fail,
    home_of,
    in_session,
    open_session,
    out,
    print_json,
    read_stdin,
    say,
    tell,
    write,
)
from tierline.cli.reply import print_reply
from tierline.errors import TierlineError
from tierline.localization.translator import translate, translate_label

if TYPE_CHECKING:
    from tierline.session.session import Session

app = typer.Typer()
memory = typer.Typer(no_args_is_help=True, help="Memory levels: figures, compression.")
memo = typer.Typer(no_args_is_help=True, help="Memos: knowledge that outlives sessions.")
app.add_typer(memory, name="memory")
app.add_typer(memo, name="memo")
_FIGURE = re.compile(r"(?P<indent> *)(?P<name>[^:]+:) +(?P<value>.+)")
ROLES = ("user", "assistant", "system", "tool")

_New = Annotated[bool, typer.Option("--new", help="Begin a new session.")]
_Strategy = Annotated[
    str, typer.Option(help="full, window, ranked or levels; the setting when empty.")
]
_Tags = Annotated[
    list[str] | None,
    typer.Option("--tag", "-t", metavar="<str>", help="A tag; repeat it for more."),
]
_User = Annotated[bool, typer.Option("--user", help="For all your projects, not this one alone.")]


@app.command()
def add(
    role: Annotated[str, typer.Argument(help="user, assistant, system or tool.")],
    text: Annotated[str, typer.Argument(help="The text. Use - to read standard input.")],
    important: Annotated[
        bool,
        typer.Option(
            "--important",
            help="Keep it word for word, in permanent memory once it leaves working memory.",
        ),
    ] = False,
    new: _New = False,
    root: _Root = Path(),
    as_json: _Json = False,
) -> None:
    """Add a message to the newest session without asking a model."""
    if role not in ROLES:
        fail(f"There is no role {role}. Use {', '.join(ROLES)}.", EXIT_USAGE)
    said = read_stdin() if text == "-" else text
    if not said.strip():
        fail("There is nothing to add: the text is empty.", EXIT_USAGE)
    identifier = in_session(root, lambda s: s.memory.add(role, said, important=important), new=new)
    _print_id(identifier, as_json)
    if important:
        say(
            "It waits in working memory and goes to permanent memory when its turn is compressed.",
            "dim",
        )


@app.command()
def build(
    prompt: Annotated[
        str, typer.Option("--prompt", "-p", help="As it would be with this prompt.")
    ] = "",
    strategy: _Strategy = "",
    root: _Root = Path(),
    as_json: _Json = False,
) -> None:
    """Print the context that would be sent now. Nothing is sent.

    The module map and cards of an editor's request are not in it: nothing is indexed for this.
    """
    params = p.PlanParams(prompt=prompt)
    found = in_session(root, lambda s: s.plans.show(params), strategy=strategy, read_only=True)
    if as_json:
        print_json(found)
    else:
        write(found.text.rstrip("\n"))


@app.command()
def compress(root: _Root = Path(), as_json: _Json = False) -> None:
    """Compress the newest session's working memory now. The log keeps every message."""

    async def work(session: Session) -> tuple[p.MemoryStats, bool]:
        if not session.conversation.timeline().groups():
            return await session.memory.stats(p.NoParams()), False
        return await session.memory.compress(p.NoParams()), True

    stats, done = in_session(root, work)
    if as_json or done:
        _print_stats(stats, as_json)
    if not done:
        say("Nothing was compressed. There is no turn to compress yet.", "dim")
    elif not stats.active:
        say(
            "The history strategy is not levels, so requests are not shortened by this. "
            'Set history.strategy to "levels".',
            "yellow",
        )


@memory.command("stats")
def memory_stats(root: _Root = Path(), as_json: _Json = False) -> None:
    """Show levels, summaries and how well compression works."""
    _print_stats(in_session(root, lambda s: s.memory.stats(p.NoParams()), read_only=True), as_json)


memory.command("compress")(compress)


@app.command()
def interactive(
    root: _Root = Path(),
    new: _New = False,
    strategy: _Strategy = "",
    provider: Annotated[
        str, typer.Option(help="A provider's name, as in the settings; the setting when empty.")
    ] = "",
    model: Annotated[str, typer.Option(help="Model name.")] = "",
) -> None:
    """Talk in the terminal: prompts go to the model, lines with / are commands."""
    try:
        code = asyncio.run(_interactive(root, new, strategy, provider, model))
    except KeyboardInterrupt:
        # A thread still waits for a line, and nothing but the end of the process takes it away.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(EXIT_INTERRUPTED)
    raise typer.Exit(code)


@memo.command("list")
def memo_list(
    tag: Annotated[str, typer.Option(help="Only with this tag.")] = "",
    root: _Root = Path(),
    as_json: _Json = False,
) -> None:
    """List the memos of this project and of the user, the newest first."""
    params = p.MemoListParams(tag=tag)
    _print_memos(in_session(root, lambda s: s.memos.listed(params), read_only=True), as_json)


@memo.command("search")
def memo_search(
    query: Annotated[str, typer.Argument(help="Words.")],
    tag: _Tags = None,
    root: _Root = Path(),
    as_json: _Json = False,
) -> None:
    """Search the memos by words and tags, the best first."""
    params = p.MemoSearchParams(query, tag or [])
    _print_memos(in_session(root, lambda s: s.memos.search(params), read_only=True), as_json)


@memo.command("save")
def memo_save(
    content: Annotated[str, typer.Argument(help="The memo. Use - to read standard input.")],
    tag: _Tags = None,
    user: _User = False,
    root: _Root = Path(),
    as_json: _Json = False,
) -> None:
    """Save a memo and print its id."""
    text = read_stdin() if content == "-" else content
    params = p.MemoSaveParams(text, tag or [], "user" if user else "project")
    _print_memo(in_session(root, lambda s: s.memos.save(params)), as_json)


@memo.command("edit")
def memo_edit(
    identifier: Annotated[str, typer.Argument(help="The memo's id.")],
    content: Annotated[str, typer.Argument(help="The new text; empty keeps the old.")] = "",
    tag: _Tags = None,
    root: _Root = Path(),
    as_json: _Json = False,
) -> None:
    """Change a memo's text or tags."""
    params = p.MemoEditParams(identifier, content or None, tag)
    _print_memo(in_session(root, lambda s: s.memos.edit(params)), as_json)


@memo.command("delete")
def memo_delete(
    identifier: Annotated[str, typer.Argument(help="The memo's id.")],
    root: _Root = Path(),
    as_json: _Json = False,
) -> None:
    """Delete a memo."""
    in_session(root, lambda s: s.memos.delete(p.MemoParams(identifier)))
    if as_json:
        print_json({"id": identifier, "deleted": True})


def memory_lines(root: Path) -> list[str]:
    """The memory section of ``tierline stats``; empty if the workspace has no conversation."""
    if not (home_of(root) / "history.jsonl").exists():  # looking must not leave a folder behind
        return []
    stats = in_session(root, lambda s: s.memory.stats(p.NoParams()), read_only=True)
    return figures(stats.lines).split("\n") if stats.messages else []


def figures(lines: Sequence[str]) -> str:
    """Names and figures, one pair a line, in the user's language. Those that stand below each other
    stay aligned.
    """
    said: list[str] = []
    block: list[tuple[str, str, int]] = []

    def end() -> None:
        width = max((max(at, len(name) + 1) for name, _, at in block), default=0)
        said.extend(f"{name:<{width}}{value}" for name, value, _ in block)
        block.clear()

    for line in lines:
        if (row := _FIGURE.fullmatch(line)) is not None:
            name = row["indent"] + translate_label(row["name"])
            block.append((name, translate_label(row["value"]), row.start("value")))
        else:
            end()
            said.append(translate_label(line))
    end()
    return "\n".join(said)


# --- how -----------------------------------------------------------------------------------------


async def _interactive(root: Path, new: bool, strategy: str, provider: str, model: str) -> int:
    events: asyncio.Queue[p.Event] = asyncio.Queue()
    try:
        session = await open_session(
            root,
            new=new,
            strategy=strategy,
            publish=events.put_nowait,
            provider=provider,
            model=model,
        )
    except TierlineError as error:
        say(f"{error.message} {error.advice}", "red")
        return EXIT_USAGE
    prompt = sys.stdin.isatty()
    if prompt:
        say("/help lists the commands, /quit or the end of input leaves.", "dim")
    try:
        while True:
            line = await _next_line("> " if prompt else "")
            if line is None or line.strip() in ("/quit", "/exit"):
                return 0
            try:
                await _answer(session, events, line.strip())
            except TierlineError as error:
                say(f"{error.message} {error.advice}".strip(), "red")
    finally:
        await session.close()


async def _answer(session: Session, events: asyncio.Queue[p.Event], line: str) -> None:
    from tierline.session.slash import commands as slash

    if not line:
        return
    if line.startswith("/"):
        result = await slash.run(session, p.CommandParams(line))
        if not result.prompt:
            if result.document:
                out.print(result.text)
            else:
                tell(result.text)
            return
        line = result.prompt
    try:
        sent = await session.turns.send(p.ChatSendParams(text=line))
    except TierlineError as error:
        if error.code != "unclear_mention":
            raise
        say(error.message, "yellow")
        if (
            await _next_line(translate("Send it as mere text? [y/N] ")) or ""
        ).strip().lower() != "y":
            return
        sent = await session.turns.send(p.ChatSendParams(text=line, mentions="text"))
    for notice in sent.notices:
        say(notice, "yellow")
    await print_reply(events, sent.turn_id, False)
    await session.turns.settled()


async def _next_line(prompt: str) -> str | None:
    """One line of input, from a thread that Ctrl-C does not have to wait for."""
    loop = asyncio.get_running_loop()
    came: asyncio.Future[str | None] = loop.create_future()

    def given(line: str | None) -> None:
        if not came.done():
            came.set_result(line)

    def read() -> None:
        line = _line(prompt)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(given, line)

    threading.Thread(target=read, name="input", daemon=True).start()
    return await came


def _line(prompt: str) -> str | None:
    """One line of input; None at its end. Nothing is read ahead of what is answered."""
    try:
        return input(prompt)
    except (EOFError, KeyboardInterrupt):
        return None


def _print_stats(stats: Any, as_json: bool) -> None:
    if as_json:
        print_json(stats)
    else:
        out.print(figures(stats.lines))


def _print_memos(result: Any, as_json: bool) -> None:
    if as_json:
        print_json(result.memos)
        return
    if not result.memos:
        tell("There are no memos here.")
    for found in result.memos:
        tags = f" [{', '.join(found.tags)}]" if found.tags else ""
        out.print(f"{found.id} ({found.scope}){tags}\n  {found.content}")


def _print_memo(found: Any, as_json: bool) -> None:
    """The whole memo as JSON; else its id, for the next command."""
    if as_json:
        print_json(found)
    else:
        out.print(found.id)


def _print_id(identifier: str, as_json: bool) -> None:
    if as_json:
        print_json({"id": identifier})
    else:
        out.print(identifier)
