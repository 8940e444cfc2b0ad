"""Commands that are typed into the chat: ``/undo``, ``/context window 5`` and so on.

One table for all clients: an editor sends the line to ``tierline/chat/command`` and shows the
answer.
"""

from __future__ import annotations

from asyncio import to_thread as in_thread
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from attrs import frozen

from tierline import protocol as p
from tierline.errors import TierlineError
from tierline.history.selection import SLIDE_SHARE, Strategy
from tierline.session.slash import context as slash_context
from tierline.session.slash import memory as slash_memory
from tierline.session.slash import moments as slash_moments
from tierline.session.slash import prompts as slash_prompts
from tierline.session.slash import urls as slash_urls
from tierline.session.slash.moments import incomplete, turn_named
from tierline.workspace.promptfiles import split_arguments

if TYPE_CHECKING:
    from tierline.session.session import Session

Run: TypeAlias = "Callable[[Session, str], Awaitable[p.CommandResult]]"


@frozen
class Command:
    """One command: its words, its arguments, its function."""

    words: str
    arguments: str
    doc: str
    run: Run

    @property
    def usage(self) -> str:
        """The usage line: ``/context window <N>``."""
        return f"/{self.words} {self.arguments}".rstrip()


async def run(session: Session, params: p.CommandParams) -> p.CommandResult:
    """Carry out one line.

    Raises:
        TierlineError: ``invalid_params`` for an unknown command or wrong arguments (with the
            usage), or the command's own error.
    """
    text = params.text.strip().removeprefix("/")
    words = text.split()
    if words and words[0].lower() == "messages":  # an alias
        text = f"message {text[len('messages') :].strip() or 'list'}"
        words = text.split()
    for command in sorted(COMMANDS, key=lambda c: -len(c.words.split())):
        head = command.words.split()
        if [w.lower() for w in words[: len(head)]] == head:
            return await command.run(session, _after(text, len(head)))
    if words and (own := await slash_prompts.run(session, words[0], _after(text, 1))):
        return own
    near = [c.usage for c in COMMANDS if words and c.words.split()[0] == words[0].lower()]
    raise TierlineError(
        "invalid_params",
        f"There is no command {params.text.strip()[:60]}.",
        f"Try {', '.join(near)}." if near else "/help lists all commands.",
    )


async def listed(session: Session, _params: p.NoParams) -> p.CommandListResult:
    """All commands, for completion: built-in ones, then the user's and the project's."""
    known = {c.words for c in COMMANDS}
    own = [
        p.CommandInfo(f"/{one.name} {one.hint}".rstrip(), one.description, one.source, True)
        for one in await slash_prompts.files(session)
        if one.name not in known
    ]
    built_in = [p.CommandInfo(c.usage, c.doc, prompt=c.run in ASKS) for c in COMMANDS]
    return p.CommandListResult([*built_in, *own])


# --- commands ------------------------------------------------------------------------------------


async def _help(session: Session, rest: str) -> p.CommandResult:
    known = (await listed(session, p.NoParams())).commands
    wanted = rest.lower().split()
    lines = [
        f"- `{c.usage}` – {c.doc}{f' ({c.source})' if c.source else ''}"
        for c in known
        if all(word in f"{c.usage} {c.doc}".lower() for word in wanted)
    ]
    return _document("Commands", ["# Commands", "", *(lines or ["None fits these words."])])


async def _import(session: Session, _rest: str) -> p.CommandResult:
    aside = session.left_aside
    if aside is None:
        raise TierlineError(
            "invalid_params",
            "There is no folder to import from: the .tierline here is in use, or there is none.",
            "To take over another log, put it into .tierline and list the sessions.",
        )
    store = session.conversation.store
    added = await in_thread(store.import_file, aside / "history.jsonl", foreign=True)
    return p.CommandResult(
        "Import",
        f"{added:,} records were taken over; the folder itself is as it was. Only what was said is "
        "imported: no pins, edits, notes or settings.",
    )


async def _show(session: Session, _rest: str) -> p.CommandResult:
    text = (await session.plans.show(p.PlanParams())).text
    return p.CommandResult("Exact context", text, document=True)


async def _window(session: Session, rest: str) -> p.CommandResult:
    status = await session.history.window(p.WindowParams(_number(rest, "/context window <N>")))
    size = status.window
    if status.strategy not in (Strategy.WINDOW, Strategy.FULL) or not size:
        await session.history.strategy(p.StrategyParams("window" if size else "full"))
    step = max(size // SLIDE_SHARE, 1)
    text = f"The last {_turns(size)} will be sent." if size else "The full history will be sent."
    if step > 1:
        text = (
            f"At most the last {_turns(size)} will be sent. The oldest leave {step} at a time, so "
            "that the provider's cache holds in between."
        )
    return p.CommandResult("Window", text)


async def _rebuild(session: Session, _rest: str) -> p.CommandResult:
    return p.CommandResult("STATE", (await session.anchor.rebuild(p.NoParams())).text)


async def _state(session: Session, _rest: str) -> p.CommandResult:
    found = await session.anchor.get(p.NoParams())
    off = "" if found.enabled else " The setting history.state_anchor does not ask for it now."
    return p.CommandResult("STATE", found.text or f"There is no STATE yet.{off}")


async def _undo(session: Session, rest: str) -> p.CommandResult:
    to = await turn_named(session, rest) if rest else ""
    before = len(session.conversation.groups())
    await session.history.undo(p.UndoParams(to=to))
    gone = before - len(session.conversation.groups())
    what = "The last turn was" if gone == 1 else f"{_turns(gone)} were"
    kept = session.conversation.timeline().state
    state = " STATE is that of the turn before." if kept else ""
    return p.CommandResult("Undo", f"{what} taken back.{state} /context restore brings it back.")


async def _drop(session: Session, rest: str) -> p.CommandResult:
    await session.history.drop(p.GroupParams(await turn_named(session, rest)))
    return p.CommandResult("Drop", "The turn is hidden. /context restore brings it back.")


async def _restore(session: Session, rest: str) -> p.CommandResult:
    group = await turn_named(session, rest, hidden=True) if rest else ""
    await session.history.restore(p.GroupParams(group))
    return p.CommandResult("Restore", "The turn is back.")


async def _list(session: Session, rest: str) -> p.CommandResult:
    limit = _number(rest, "/message list [N]") if rest else 0
    turns = (await session.history.turns(p.GroupListParams(limit, hidden=True))).groups
    if not turns:
        return p.CommandResult("Turns", "There are no turns yet.")
    total = len((await session.history.turns(p.GroupListParams(0, hidden=True))).groups)
    rows = [
        f"| {number} | `{t.group_id}` | {_cell(t.prompt)} | {t.messages} | {_tokens(t.tokens)} "
        f"| {t.hidden} |"
        for number, t in enumerate(turns, total - len(turns) + 1)
    ]
    head = [
        "| number | turn | prompt | messages | tokens | hidden by |",
        "| ---: | --- | --- | ---: | ---: | --- |",
    ]
    return _document("Turns", ["# Turns", "", *head, *rows])


async def _show_turn(session: Session, rest: str) -> p.CommandResult:
    if not rest:
        raise incomplete("/message show <turn>")
    group = await turn_named(session, rest, hidden=True)
    found = await session.history.show(p.GroupParams(group))
    return p.CommandResult(f"Turn {group}", found.text, document=True)


async def _remove(session: Session, rest: str) -> p.CommandResult:
    if not rest:
        raise incomplete("/message remove <turn>")
    await session.history.remove(p.GroupParams(await turn_named(session, rest, hidden=True)))
    return p.CommandResult("Remove", "The turn is removed.")


async def _scratchpad(session: Session, rest: str) -> p.CommandResult:
    verb, _, text = rest.partition(" ")
    if verb == "append":
        found = await session.scratchpad.append(p.ScratchpadAppendParams(text.strip()))
    elif verb == "set":
        found = await session.scratchpad.set(p.ScratchpadSetParams(text.strip()))
    elif not rest:
        found = await session.scratchpad.get(p.NoParams())
    else:
        raise incomplete("/session scratchpad [append <text> | set <text>]")
    return p.CommandResult("Scratchpad", found.text or "(The scratchpad is empty.)")


async def _new(session: Session, rest: str) -> p.CommandResult:
    match rest:
        case "" | "keep" | "drop":
            await session.new_sessions.new(p.NewSessionParams(rest))
        case _:
            raise incomplete("/new, /new keep or /new drop (keep or drop the files)")
    return p.CommandResult("Session", "A new session has begun; the old one stays in the list.")


async def _sessions(session: Session, rest: str) -> p.CommandResult:
    limit = _number(rest, "/session list [N]") if rest else 20
    found = (await session.history.sessions(p.SessionListParams(limit))).sessions
    rows = [
        f"| `{s.session_id}` | {_cell(s.title or s.preview)} | {s.message_count} | {s.timestamp} |"
        for s in found
    ]
    head = ["| session | title | messages | last used |", "| --- | --- | ---: | --- |"]
    return _document("Sessions", ["# Sessions", "", *head, *rows])


async def _branches(session: Session, _rest: str) -> p.CommandResult:
    found = (await session.history.branches(p.NoParams())).branches
    lines = [
        f"- {'**' if b.current else ''}{b.branch}{'**' if b.current else ''}"
        + (f" from {b.parent}" if b.parent else "")
        for b in found
    ]
    return p.CommandResult("Branches", "\n".join(lines))


async def _fork(session: Session, rest: str) -> p.CommandResult:
    state = await session.history.fork(p.ForkParams(name=rest))
    return p.CommandResult("Branch", f"You are on the new branch {state.branch}.")


async def _switch(session: Session, rest: str) -> p.CommandResult:
    if not rest:
        raise incomplete("/branch switch <branch>")
    state = await session.history.switch(p.BranchParams(rest))
    return p.CommandResult("Branch", f"You are on the branch {state.branch}.")


async def _compare(session: Session, rest: str) -> p.CommandResult:
    names = split_arguments(rest)
    if len(names) not in (1, 2):
        raise incomplete("/branch compare <branch> [branch]")
    here = session.conversation.branch
    a, b = (here, names[0]) if len(names) == 1 else names
    found = await session.history.compare(p.BranchCompareParams(a, b))
    return p.CommandResult(f"Branches {a} and {b}", found.text, document=True)


async def _export(session: Session, rest: str) -> p.CommandResult:
    kinds: dict[str, Literal["markdown", "html", "json"]] = {
        "": "markdown", "markdown": "markdown", "html": "html", "json": "json"
    }  # fmt: skip
    if rest.lower() not in kinds:
        raise incomplete("/export, or /export with markdown, html or json behind it")
    made = await session.exchange.export(p.ExportParams(kinds[rest.lower()]))
    return p.CommandResult(made.name, made.text, document=True)


async def _query(session: Session, rest: str) -> p.CommandResult:
    found = await session.history.query(p.QueryParams(rest))
    head = ["| " + " | ".join(map(_cell, found.columns)) + " |"]
    head.append("| " + " | ".join("---" for _ in found.columns) + " |")
    rows = ["| " + " | ".join(map(_cell, row)) + " |" for row in found.rows]
    more = ["", "More was left out: use LIMIT and OFFSET."] if found.truncated else []
    return _document("Query", [*head, *rows, *more])


ASKS = (slash_prompts.explain, slash_prompts.fix, slash_prompts.tests, slash_prompts.document)
COMMANDS: tuple[Command, ...] = (
    Command("explain", "[what]", "Explain the selected code, or what you name.", ASKS[0]),
    Command("fix", "[what]", "Fix the problems in it.", ASKS[1]),
    Command("tests", "[what]", "Write tests for it.", ASKS[2]),
    Command("document", "[what]", "Write documentation comments for it.", ASKS[3]),
    Command("import", "", "Take over the sessions of a .tierline that is not used.", _import),
    Command("undo", "[turn]", "Take back the last turn, or all turns after one.", _undo),
    Command(
        "back",
        "[turn] [now]",
        "Show what going back to a prompt changes; with “now” do it.",
        slash_moments.back,
    ),
    Command(
        "forward",
        "[now]",
        "Show what going forward again changes; with “now” do it.",
        slash_moments.forward,
    ),
    Command("keep", "[file]", "Keep the edits that were applied.", slash_moments.keep),
    Command("takeback", "[file]", "Take applied edits out of the files.", slash_moments.take_back),
    Command("context", "", "Show how large the next request is, by section.", slash_context.budget),
    Command("budget", "", "The same as /context.", slash_context.budget),
    Command("tiers", "", "Show the next request's tiers, and what is cached.", slash_context.tiers),
    Command("cache", "", "Say why the last request hit or missed the cache.", slash_context.cache),
    Command("why", "<file>", "Say why something was sent or left out.", slash_context.why),
    Command("cost", "", "Show what this conversation has cost.", slash_context.cost),
    Command("model", "[name]", "List the models, or choose one.", slash_context.model),
    Command("effort", "[level]", "Say or choose how much the model thinks.", slash_context.effort),
    Command(
        "compact",
        "[what the summary is to hold]",
        "Summarise the older part of the history now.",
        slash_context.compact,
    ),
    Command("compacted", "", "Show what a compaction took out.", slash_context.compacted),
    Command("files", "", "List the files in the context.", slash_context.files),
    Command("add", "<file>", "Put a file or folder into the context.", slash_context.add),
    Command("remove", "<file>", "Take a file out of the context.", slash_context.remove),
    Command("pin", "<file>", "Pin a file: it is left out last.", slash_context.pin),
    Command("unpin", "<file>", "Unpin a file; it stays in the context.", slash_context.unpin),
    Command("new", "[keep|drop]", "Begin a new session; keep or drop the files.", _new),
    Command("clear", "[keep|drop]", "The same as /new.", _new),
    Command("context show", "", "Show the exact context of the next request.", _show),
    Command("context window", "<N>", "Send only the last N turns; 0 for all.", _window),
    Command("context rebuild", "", "Derive STATE anew from the window.", _rebuild),
    Command("context state", "", "Show STATE as it is.", _state),
    Command("context drop", "<turn>", "Hide a turn; it can come back.", _drop),
    Command("context restore", "[turn]", "Bring a hidden turn back.", _restore),
    Command("message list", "[N]", "List the last N turns with their tokens.", _list),
    Command("message show", "<turn>", "Show everything that belongs to a turn.", _show_turn),
    Command("message remove", "<turn>", "Remove a turn for good.", _remove),
    Command("messages", "[list|show|remove …]", "The same as /message.", _list),
    Command(
        "session scratchpad", "[append|set <text>]", "Show or change the scratchpad.", _scratchpad
    ),
    Command("session new", "[keep|drop]", "Begin a new session.", _new),
    Command("session list", "[N]", "List the sessions, the newest first.", _sessions),
    Command("branch list", "", "List the branches of this session.", _branches),
    Command("branch fork", "[name]", "Begin a branch here.", _fork),
    Command("branch switch", "<branch>", "Go to another branch.", _switch),
    Command("branch compare", "<branch> [branch]", "Compare two branches and plans.", _compare),
    Command("memory stats", "", "Show the memory levels and summaries.", slash_memory.stats),
    Command("memory compress", "", "Compress working memory now.", slash_memory.compress),
    Command("memory on", "", "Send this conversation as levels.", slash_memory.switch_on),
    Command("memory off", "", "Send this conversation in full.", slash_memory.switch_off),
    Command("memo save", "<text #tag …>", "Save a memo for this project.", slash_memory.save_memo),
    Command(
        "memo user", "<text #tag …>", "Save a memo for all projects.", slash_memory.save_user_memo
    ),
    Command("memo list", "[words #tag]", "List or search the memos.", slash_memory.list_memos),
    Command("memo delete", "<id>", "Delete a memo.", slash_memory.delete_memo),
    Command("capsule list", "", "Show the descriptions of files.", slash_memory.list_capsules),
    Command("capsule make", "<path>", "Describe a file by its words.", slash_memory.make_capsule),
    Command("capsule ask", "<path>", "Have the model describe a file.", slash_memory.ask_capsule),
    Command("url list", "", "List the web pages in the context.", slash_urls.listed),
    Command("url show", "<address>", "Show the text of a page.", slash_urls.show),
    Command("url refresh", "<address>", "Read a page again.", slash_urls.refresh),
    Command("url remove", "<address>", "Take a page out of the context.", slash_urls.remove),
    Command("url", "<address>", "Read a web page into the context.", slash_urls.add),
    Command("export", "[markdown|html|json]", "Show this conversation to be saved.", _export),
    Command("query", "<SELECT …>", "Read the history with SQL.", _query),
    Command("help", "[words]", "List the commands, or those that fit words.", _help),
)


def _after(text: str, count: int) -> str:
    """The text after the first ``count`` words, white space included (SQL and notes keep their
    form).
    """
    return (*text.split(maxsplit=count), "")[count].strip()


def _number(text: str, usage: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise incomplete(usage) from None


def _document(title: str, lines: Sequence[str]) -> p.CommandResult:
    return p.CommandResult(title, "\n".join(lines) + "\n", document=True)


def _turns(count: int) -> str:
    return "1 turn" if count == 1 else f"{count} turns"


def _tokens(count: int) -> str:
    return f"{count:,}" if count else ""


def _cell(text: str) -> str:
    """One line of a table, short enough to read."""
    line = " ".join(str(text).split()).replace("|", "\\|")
    return line if len(line) <= 200 else f"{line[:199]}…"
