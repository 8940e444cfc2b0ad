"""The command line of seed 002 on the same store that an editor uses (002:219-236).

``add``, ``build``, ``compress``, ``interactive``; ``stats`` is shared with the cache's figures.
Nothing here needs a provider but what is typed in ``interactive``.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.console import Console

from tierline.errors import TierlineError

if TYPE_CHECKING:
    from tierline.session.session import Session

app = typer.Typer()
memory = typer.Typer(no_args_is_help=True, help="Memory levels: figures, compression.")
memo = typer.Typer(no_args_is_help=True, help="Memos: knowledge that outlives sessions.")
app.add_typer(memory, name="memory")
app.add_typer(memo, name="memo")
out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

EXIT_ERROR, EXIT_USAGE = 1, 2
ROLES = ("user", "assistant", "system", "tool")
T = TypeVar("T")

_Root = Annotated[
    Path, typer.Option("--root", help="The workspace folder.", file_okay=False, exists=True)
]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_New = Annotated[bool, typer.Option("--new", help="Begin a new session.")]
_Strategy = Annotated[
    str, typer.Option(help="full, window, ranked or levels; the setting when empty.")
]
_Tags = Annotated[list[str] | None, typer.Option("--tag", "-t", help="A tag; repeat it for more.")]
_User = Annotated[bool, typer.Option("--user", help="For all your projects, not this one alone.")]


@app.command()
def add(
    role: Annotated[str, typer.Argument(help="user, assistant, system or tool.")],
    text: Annotated[str, typer.Argument(help="The text. Use - to read standard input.")],
    important: Annotated[
        bool, typer.Option("--important", help="Keep it in permanent memory.")
    ] = False,
    new: _New = False,
    root: _Root = Path(),
) -> None:
    """Add a message to the newest session without asking a model."""
    if role not in ROLES:
        err.print(f"There is no role {role}. Use {', '.join(ROLES)}.", style="red")
        raise typer.Exit(EXIT_USAGE)
    said = sys.stdin.read() if text == "-" else text
    if not said.strip():
        err.print("There is nothing to add: the text is empty.", style="red")
        raise typer.Exit(EXIT_USAGE)
    identifier = _run(root, lambda s: s.memory.add(role, said, important=important), new=new)
    out.print(identifier)


@app.command()
def build(
    prompt: Annotated[
        str, typer.Option("--prompt", "-p", help="As it would be with this prompt.")
    ] = "",
    strategy: _Strategy = "",
    root: _Root = Path(),
) -> None:
    """Print the context that would be sent now. Nothing is sent."""
    from tierline.lsp import protocol as p

    async def work(session: Session) -> str:
        return (await session.plans.show(p.PlanParams(prompt=prompt))).text

    sys.stdout.write(_run(root, work, strategy=strategy).rstrip("\n") + "\n")


@app.command()
def compress(root: _Root = Path(), as_json: _Json = False) -> None:
    """Compress the newest session's working memory now. The log keeps every message."""
    from tierline.lsp import protocol as p

    stats = _run(root, lambda s: s.memory.compress(p.NoParams()))
    _print_stats(stats, as_json)
    if not stats.active:
        err.print(
            "The history strategy is not levels, so requests are not shortened by this. "
            'Set history.strategy to "levels".',
            style="yellow",
        )


@memory.command("stats")
def memory_stats(root: _Root = Path(), as_json: _Json = False) -> None:
    """Show levels, summaries and how well compression works."""
    from tierline.lsp import protocol as p

    _print_stats(_run(root, lambda s: s.memory.stats(p.NoParams())), as_json)


memory.command("compress")(compress)


@app.command()
def interactive(
    root: _Root = Path(),
    new: _New = False,
    strategy: _Strategy = "",
    provider: Annotated[str, typer.Option(help="auto, anthropic, openai or local.")] = "",
    model: Annotated[str, typer.Option(help="Model name.")] = "",
) -> None:
    """Talk in the terminal: prompts go to the model, lines with / are commands."""
    raise typer.Exit(asyncio.run(_interactive(root, new, strategy, provider, model)))


@memo.command("list")
def memo_list(
    tag: Annotated[str, typer.Option(help="Only with this tag.")] = "",
    root: _Root = Path(),
    as_json: _Json = False,
) -> None:
    """List the memos of this project and of the user, the newest first."""
    from tierline.lsp import protocol as p

    _print_memos(_run(root, lambda s: s.memos.listed(p.MemoListParams(tag=tag))), as_json)


@memo.command("search")
def memo_search(
    query: Annotated[str, typer.Argument(help="Words.")],
    tag: _Tags = None,
    root: _Root = Path(),
    as_json: _Json = False,
) -> None:
    """Search the memos by words and tags, the best first."""
    from tierline.lsp import protocol as p

    params = p.MemoSearchParams(query, tag or [])
    _print_memos(_run(root, lambda s: s.memos.search(params)), as_json)


@memo.command("save")
def memo_save(
    content: Annotated[str, typer.Argument(help="The memo. Use - to read standard input.")],
    tag: _Tags = None,
    user: _User = False,
    root: _Root = Path(),
) -> None:
    """Save a memo and print its id."""
    from tierline.lsp import protocol as p

    text = sys.stdin.read() if content == "-" else content
    params = p.MemoSaveParams(text, tag or [], "user" if user else "project")
    out.print(_run(root, lambda s: s.memos.save(params)).id)


@memo.command("edit")
def memo_edit(
    identifier: Annotated[str, typer.Argument(help="The memo's id.")],
    content: Annotated[str, typer.Argument(help="The new text; empty keeps the old.")] = "",
    tag: _Tags = None,
    root: _Root = Path(),
) -> None:
    """Change a memo's text or tags."""
    from tierline.lsp import protocol as p

    params = p.MemoEditParams(identifier, content or None, tag)
    out.print(_run(root, lambda s: s.memos.edit(params)).id)


@memo.command("delete")
def memo_delete(
    identifier: Annotated[str, typer.Argument(help="The memo's id.")], root: _Root = Path()
) -> None:
    """Delete a memo."""
    from tierline.lsp import protocol as p

    _run(root, lambda s: s.memos.delete(p.MemoParams(identifier)))


def memory_lines(root: Path) -> list[str]:
    """The memory section of ``tierline stats``; empty if the workspace has no conversation."""
    from tierline.lsp import protocol as p
    from tierline.store.sessions import FOLDER

    if not (root / FOLDER / "history.jsonl").exists():  # looking must not leave a folder behind
        return []
    stats = _run(root, lambda s: s.memory.stats(p.NoParams()))
    return list(stats.lines) if stats.messages else []


# --- how -----------------------------------------------------------------------------------------


def _run(
    root: Path, work: Callable[[Session], Awaitable[T]], *, new: bool = False, strategy: str = ""
) -> T:
    """Open the workspace's session, do something with it, close it. Errors end the program."""

    async def whole() -> T:
        session = await _open(root, new, strategy, lambda _event: None)
        try:
            return await work(session)
        finally:
            await session.close()

    try:
        return asyncio.run(whole())
    except (TierlineError, OSError) as error:
        said = f"{error.message} {error.advice}" if isinstance(error, TierlineError) else str(error)
        err.print(said.strip(), style="red")
        raise typer.Exit(EXIT_ERROR) from None


async def _open(root: Path, new: bool, strategy: str, publish: Any) -> Session:
    from tierline.history.selection import Strategy
    from tierline.lsp.launch import configure_logging
    from tierline.session.session import Session

    if strategy and strategy not in set(Strategy):
        raise TierlineError(
            "invalid_params", f"There is no strategy {strategy}.", f"Use {', '.join(Strategy)}."
        )
    configure_logging()
    folder = root.resolve()  # noqa: ASYNC240 - once, at start
    session = Session(
        [(folder.name, folder.as_uri())],
        editor_settings={"history": {"restore": not new}},
        publish=publish,
    )
    await session.start()
    session.strategy_now = strategy
    return session


async def _interactive(root: Path, new: bool, strategy: str, provider: str, model: str) -> int:
    import os

    from tierline import cli
    from tierline.lsp import protocol as p

    for variable, value in (("NAME", provider), ("MODEL", model)):
        if value:
            os.environ[f"TIERLINE_PROVIDER_{variable}"] = value
    events: asyncio.Queue[p.Event] = asyncio.Queue()
    try:
        session = await _open(root, new, strategy, events.put_nowait)
    except TierlineError as error:
        err.print(f"{error.message} {error.advice}", style="red")
        return EXIT_USAGE
    prompt = sys.stdin.isatty()
    if prompt:
        err.print("/help lists the commands, /quit or the end of input leaves.", style="dim")
    try:
        while True:
            line = await asyncio.to_thread(_line, "> " if prompt else "")
            if line is None or line.strip() in ("/quit", "/exit"):
                return 0
            try:
                await _answer(session, events, line.strip(), cli.print_reply)
            except TierlineError as error:
                err.print(f"{error.message} {error.advice}".strip(), style="red")
    finally:
        await session.close()


async def _answer(
    session: Session, events: Any, line: str, reply: Callable[[Any, str, bool], Awaitable[int]]
) -> None:
    from tierline.lsp import protocol as p
    from tierline.session import slash

    if not line:
        return
    if line.startswith("/"):
        result = await slash.run(session, p.CommandParams(line))
        out.print(result.text, markup=False)
        return
    sent = await session.turns.send(p.ChatSendParams(text=line))
    for notice in sent.notices:
        err.print(notice, style="yellow")
    await reply(events, sent.turn_id, False)
    await session.turns.settled()


def _line(prompt: str) -> str | None:
    """One line of input; None at its end. Nothing is read ahead of what is answered."""
    try:
        return input(prompt)
    except (EOFError, KeyboardInterrupt):
        return None


def _print_stats(stats: Any, as_json: bool) -> None:
    if as_json:
        _print_json(stats)
    else:
        out.print("\n".join(stats.lines), markup=False)


def _print_memos(result: Any, as_json: bool) -> None:
    if as_json:
        _print_json(result.memos)
        return
    if not result.memos:
        out.print("There are no memos here.")
    for found in result.memos:
        tags = f" [{', '.join(found.tags)}]" if found.tags else ""
        out.print(f"{found.id} ({found.scope}){tags}\n  {found.content}", markup=False)


def _print_json(value: Any) -> None:
    from tierline.lsp.codec import make_converter

    print(json.dumps(make_converter().unstructure(value), ensure_ascii=False))  # noqa: T201
