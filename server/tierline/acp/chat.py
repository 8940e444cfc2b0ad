"""One conversation of the chat panel: prompts in, updates out, in order."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp import Client, RequestError, helpers, schema

from tierline import protocol as p
from tierline.acp import options, rows
from tierline.acp.content import (
    AttachedFile,
    PendingPrompt,
    PromptContent,
    StoppedError,
    read_prompt,
    unless_stopped,
)
from tierline.acp.workbench import AcpWorkbench, ClientAbilities, terminal_content
from tierline.context.display import plain_markdown
from tierline.context.text import clip
from tierline.errors import TierlineError
from tierline.localization.translator import translate, translate_lines
from tierline.mcpservers.definitions import ServerDefinition
from tierline.session.handlers import HANDLERS

if TYPE_CHECKING:
    from tierline.session.session import Session

log = logging.getLogger(__name__)

TITLE = 80
"""Characters of a conversation's title."""
STOPS: dict[str, schema.StopReason] = {
    "filtered": "refusal",
    "max_rounds": "max_turn_requests",
    "output_limit": "max_tokens",
}
"""The protocol's stop reason for codes of a turn's notices."""
ONCE, ALWAYS, DENY = "once", "always", "deny"
ALL = "all"


class AcpChat:
    """Holds one session of the workspace and shows it to the client."""

    def __init__(self, client: Client, abilities: ClientAbilities) -> None:
        self._client = client
        self.workbench = AcpWorkbench(client, abilities, self._terminal)
        self.session_id = ""
        self.root = Path()
        self.edits = "ask"
        self._session: Session | None = None
        self._settings: Mapping[str, Any] = {}
        self._outgoing: asyncio.Queue[Any] = asyncio.Queue()
        self._sender: asyncio.Task[None] | None = None
        self._asking: set[asyncio.Task[None]] = set()
        self._finished: dict[str, asyncio.Future[p.TurnFinished]] = {}
        self._notice: dict[str, str] = {}
        self._rows: dict[str, str] = {}
        """The newest row of each call, by the call's own id."""
        self._shown: set[str] = set()
        self._prompts: list[PendingPrompt] = []
        self._titled = False
        self._cost = 0.0

    async def open(
        self,
        folders: Sequence[Path],
        session_id: str = "",
        servers: Sequence[ServerDefinition] = (),
    ) -> p.State:
        """Open the workspace with a new conversation, or with that of ``session_id``. The tools of
        the MCP ``servers`` are offered to the model.

        Raises:
            TierlineError: ``not_found`` if there is no such conversation.
        """
        from tierline.session.session import Session

        self.root = folders[0]
        self._settings = {"history": {"restore": False}}
        self._session = Session(
            [(folder.name, folder.as_uri()) for folder in folders],
            editor_settings=self._settings,
            publish=self._on_event,
            text_documents=lambda: self.workbench.documents,
            workbench=self.workbench,
            mcp_servers=servers,
        )
        await self._session.start()
        self.edits = self._session.settings.tools.edits
        if session_id:
            state: p.State = await self.ask(
                "tierline/history/loadSession", p.SessionParams(session_id)
            )
        else:
            state = await self.ask("tierline/state/get", p.NoParams())
        self.session_id = self.workbench.session_id = state.session_id
        self._titled = bool(state.messages)
        self._cost = sum(m.usage.cost for m in state.messages if m.usage is not None)
        self._sender = asyncio.ensure_future(self._send())
        return state

    async def close(self) -> None:
        """Stop running work and release everything; partial replies are kept."""
        for prompting in self._prompts:
            prompting.stopped.set()
        for task in self._asking:
            task.cancel()
        if self._session is not None:
            await self._session.close()
        if self._sender is not None:
            self._sender.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sender
        while not self._outgoing.empty():  # wakes ``drained``
            self._outgoing.get_nowait()
            self._outgoing.task_done()

    async def ask(self, method: str, params: Any) -> Any:
        """Call one of Tierline's methods.

        Raises:
            TierlineError: the method's error.
        """
        assert self._session is not None
        return await HANDLERS[method](self._session, params)

    # --- prompts ---------------------------------------------------------------------------------

    async def prompt(self, blocks: Sequence[Any]) -> schema.PromptResponse:
        """Answer one prompt. Returns when the turn has ended and all its updates were sent.

        Raises:
            TierlineError: the prompt was not sent.
        """
        content = read_prompt(blocks)
        if content.problems:
            raise TierlineError(
                "not_sendable",
                f"Nothing was sent. {' '.join(content.problems)}",
                "Take it away, then send again.",
            )
        prompting = PendingPrompt()
        self._prompts.append(prompting)
        try:
            return await self._answered(content, prompting)
        except StoppedError:
            return schema.PromptResponse(stop_reason="cancelled")
        finally:
            self._prompts.remove(prompting)

    async def _answered(
        self, content: PromptContent, prompting: PendingPrompt
    ) -> schema.PromptResponse:
        command = await unless_stopped(prompting, self._command(content))
        if command is not None and not command.prompt:
            self._say(_in_words(command))
            await self._outgoing.join()
            return schema.PromptResponse(stop_reason="end_turn")
        await unless_stopped(prompting, self._attach(content.files))
        text = command.prompt if command is not None else content.text
        sent = await self._sent(p.ChatSendParams(text, images=content.images), prompting)
        for notice in sent.notices:
            self._say(_quote(translate(notice)))
        prompting.turn_id = sent.turn_id
        if prompting.stopped.is_set():
            await self._stop(sent.turn_id)
        try:
            finished = await self._turn(sent.turn_id)
        finally:
            self._finished.pop(sent.turn_id, None)
        await self._outgoing.join()
        notice = self._notice.pop(sent.turn_id, "")
        if finished.outcome == "error":
            raise TierlineError(finished.code or "internal", finished.error, finished.advice)
        if not self._titled:
            self._titled = True
            title = " ".join(clip(content.text, TITLE).split())
            self._put(schema.SessionInfoUpdate(session_update="session_info_update", title=title))
        stopped: schema.StopReason = STOPS.get(notice, "end_turn")
        if finished.outcome == "interrupted" and notice != "incomplete":
            stopped = "cancelled"
        return schema.PromptResponse(stop_reason=stopped, usage=rows.usage(finished.usage))

    async def _sent(self, params: p.ChatSendParams, prompting: PendingPrompt) -> p.ChatSendResult:
        """Send a prompt, after asking the user about unclear mentions."""
        try:
            sent: p.ChatSendResult = await self.ask("tierline/chat/send", params)
        except TierlineError as error:
            if error.code != "unclear_mention":
                raise
            call = schema.ToolCallUpdate(
                tool_call_id="mentions",
                title=translate(error.message),
                kind="read",
                status="pending",
            )
            choices: list[tuple[str, str, schema.PermissionOptionKind]] = [
                ("confirm", "Send with what is mentioned", "allow_once"),
                ("text", "Send it as mere text", "allow_once"),
                (DENY, "Do not send", "reject_once"),
            ]
            asked = self.workbench.permission(call, choices)
            chosen = await unless_stopped(prompting, asked)
            if chosen not in ("confirm", "text"):
                raise
            params.mentions = chosen  # type: ignore[assignment]
            sent = await self.ask("tierline/chat/send", params)
        return sent

    async def cancel(self) -> None:
        """Stop all unanswered prompts, the waiting ones first."""
        for prompting in reversed(self._prompts):
            prompting.stopped.set()
            if prompting.turn_id:
                await self._stop(prompting.turn_id)

    async def _stop(self, turn_id: str) -> None:
        with contextlib.suppress(TierlineError):
            await self.ask("tierline/chat/cancel", p.ChatCancelParams(turn_id))

    async def _command(self, content: PromptContent) -> p.CommandResult | None:
        """The answer of a slash command; None for an ordinary prompt."""
        words = content.text.split()
        if not words or not words[0].startswith("/") or content.files or content.images:
            return None
        listed: p.CommandListResult = await self.ask("tierline/chat/commands", p.NoParams())
        known = {command.usage.split()[0] for command in listed.commands}
        if words[0] not in known:
            return None
        result: p.CommandResult = await self.ask(
            "tierline/chat/command", p.CommandParams(content.text)
        )
        return result

    async def _attach(self, files: Sequence[AttachedFile]) -> None:
        """Add the files that the prompt links to. The user is asked about those that may not be
        sent.
        """
        await self.workbench.refresh([file.uri for file in files])
        for file in files:
            added: p.FilesResult = await self.ask("tierline/files/add", p.FileParams(uri=file.uri))
            for refused in added.refused:
                await self._refused(file, refused)

    async def _refused(self, file: AttachedFile, refused: p.FileInfo) -> None:
        if refused.confirmable:
            call = schema.ToolCallUpdate(
                tool_call_id=f"send/{refused.path}",
                title=translate(f"Send {refused.path}? {refused.reason}"),
                kind="read",
                status="pending",
            )
            choices: list[tuple[str, str, schema.PermissionOptionKind]] = [
                (ONCE, "Send it", "allow_once"),
                (DENY, "Do not send", "reject_once"),
            ]
            if await self.workbench.permission(call, choices) == ONCE:
                await self.ask("tierline/files/add", p.FileParams(uri=file.uri, confirm=True))
                return
        raise TierlineError(
            "not_sendable",
            f"Nothing was sent: {file.name} may not be. {refused.reason}",
            "Take it out of the prompt, then send again.",
        )

    async def _turn(self, turn_id: str) -> p.TurnFinished:
        loop = asyncio.get_running_loop()
        return await self._finished.setdefault(turn_id, loop.create_future())

    # --- what is offered -------------------------------------------------------------------------

    async def options(self) -> list[options.Option]:
        """Model, context mode and edit mode with their values."""
        assert self._session is not None
        found: p.ProviderListResult = await self.ask("tierline/provider/list", p.NoParams())
        effort: p.EffortResult = await self.ask("tierline/model/effort", p.EffortParams())
        return options.options(found.providers, self._session.mode, self.edits, effort)

    def modes(self) -> schema.SessionModeState:
        """The edit modes."""
        return options.modes(self.edits)

    async def choose(self, option: str, value: str) -> None:
        """Set an option.

        Raises:
            TierlineError: ``invalid_params`` for an unknown option or value.
        """
        if option == options.MODEL:
            provider, model = options.read(value)
            await self.ask("tierline/provider/select", p.ProviderSelectParams(provider, model))
        elif option == options.CONTEXT and value in options.CONTEXT_MODES:
            await self.ask("tierline/mode/set", p.ModeParams(value))  # type: ignore[arg-type]
        elif option == options.EFFORT:
            await self.ask("tierline/model/effort", p.EffortParams(value))  # type: ignore[arg-type]
        elif option == options.EDITS and value in options.EDIT_MODES:
            self._edit_mode(value)
        else:
            raise TierlineError(
                "invalid_params",
                f"There is no {option} {value!r}.",
                "The session's configOptions list what there is.",
            )

    def begun(self) -> None:
        """Called once the client knows the session: send its commands and options."""
        self._beside(self._offer())

    async def _offer(self) -> None:
        """Send the slash commands, one entry for each first word."""
        listed: p.CommandListResult = await self.ask("tierline/chat/commands", p.NoParams())
        heads: dict[str, list[p.CommandInfo]] = {}
        for command in listed.commands:
            heads.setdefault(command.usage.split()[0].removeprefix("/"), []).append(command)
        self._put(
            helpers.update_available_commands(options.offered(n, c) for n, c in heads.items())
        )

    def replay(self, messages: Sequence[p.ChatMessage]) -> None:
        """Show a conversation again."""
        for update in rows.replay(messages, self.root):
            self._put(update)

    async def drained(self) -> None:
        """Wait until the client was sent everything."""
        await self._outgoing.join()

    def _edit_mode(self, value: str) -> None:
        assert self._session is not None
        self.edits = value
        self._session.configure({**self._settings, "tools": {"edits": value}})
        self._put(helpers.update_current_mode(value))  # for clients that only support modes

    # --- events ----------------------------------------------------------------------------------

    def _on_event(self, event: p.Event) -> None:
        """Handle a session's event, on the event loop."""
        match event.body:
            case p.TextDelta(text=text):
                self._say(text)
            case p.ReasoningDelta(text=text, was_text=False):
                self._put(helpers.update_agent_thought_text(text))
            case p.ToolChanged(call=call):
                self._row(call)
            case p.ConsentAsked(consent=consent):
                self._beside(self._consent(consent))
            case p.Notice() as notice:
                self._note(notice)
            case p.TurnFinished() as finished:
                self._cost += finished.usage.cost if finished.usage is not None else 0.0
                loop = asyncio.get_running_loop()
                future = self._finished.setdefault(finished.turn_id, loop.create_future())
                if not future.done():
                    future.set_result(finished)
            case p.BudgetChanged(budget=budget):
                self._put(
                    schema.UsageUpdate(
                        session_update="usage_update",
                        used=budget.used,
                        size=budget.max_input_tokens,
                        cost=schema.Cost(amount=self._cost, currency="USD") if self._cost else None,
                    )
                )
            case p.NotesChanged(which="scratchpad"):
                self._beside(self._plan())
            case p.ModeChanged() | p.ProviderChanged():
                self._beside(self._options_changed())
            case _:
                pass

    def _note(self, notice: p.Notice) -> None:
        if notice.turn_id and notice.code in (*STOPS, "incomplete"):
            self._notice[notice.turn_id] = notice.code
        if notice.level == "info":
            self._put(helpers.update_agent_thought_text(f"{translate(notice.text)}\n"))
        else:
            self._say(_quote(translate(notice.text)))

    async def _options_changed(self) -> None:
        self._put(
            schema.ConfigOptionUpdate(
                session_update="config_option_update", config_options=await self.options()
            )
        )

    async def _plan(self) -> None:
        """Send the scratchpad's list of tasks as the model's plan."""
        pad: p.Scratchpad = await self.ask("tierline/scratchpad/get", p.NoParams())
        if entries := rows.plan(pad.text):
            self._put(helpers.update_plan(entries))

    def _row(self, call: p.ToolCallInfo) -> None:
        identifier = rows.call_id(call.message_id, call.id)
        self._rows[call.id] = identifier
        fields = rows.row(call, self.root)
        if identifier in self._shown:
            if fields["content"] is None:
                del fields["content"]  # it would replace a diff or a terminal
            self._put(helpers.update_tool_call(identifier, **fields))
        else:
            self._shown.add(identifier)
            self._put(helpers.start_tool_call(identifier, **fields))
        if call.status == "asking" and call.edit_id:
            self._beside(self._edit(call.edit_id, identifier))

    def _terminal(self, call: str, terminal: str) -> None:
        content = terminal_content(terminal)
        self._put(helpers.update_tool_call(self._rows.get(call, call), content=content))

    async def _consent(self, consent: p.ConsentInfo) -> None:
        """Ask the user a tool's question."""
        kinds: dict[str, schema.ToolKind] = {"url": "fetch", "spending": "other"}
        kind = kinds.get(consent.kind, "execute")
        question = translate(f"{consent.title} {consent.detail}")
        call = schema.ToolCallUpdate(
            tool_call_id=self._rows.get(consent.call_id, f"consent/{consent.id}"),
            title=consent.text or translate(consent.title),
            kind=kind,
            status="pending",
            content=[helpers.tool_content(helpers.text_block(question))],
        )
        choices: list[tuple[str, str, schema.PermissionOptionKind]] = [(ONCE, "Yes", "allow_once")]
        if consent.can_remember:
            always = "Always" if consent.kind == "spending" else "Always, for exactly this"
            choices.append((ALWAYS, always, "allow_always"))
        choices.append((DENY, "No", "reject_once"))
        chosen = await self.workbench.permission(call, choices)
        answer: Any = chosen if chosen in (ONCE, ALWAYS) else DENY
        with contextlib.suppress(TierlineError):  # answered elsewhere or withdrawn
            await self.ask("tierline/consent/answer", p.ConsentAnswerParams(consent.id, answer))

    async def _edit(self, edit_id: str, row: str) -> None:
        """Show a proposed edit and ask for the user's decision."""
        try:
            preview: p.EditPreview = await self.ask("tierline/edit/preview", p.EditParams(edit_id))
            listed: p.EditListResult = await self.ask("tierline/edit/list", p.NoParams())
        except TierlineError as error:
            self._say(_quote(translate(f"{error.message} {error.advice}")))
            await self._reject(edit_id, "It could not be shown to the user.")
            return
        create = any(edit.id == edit_id and edit.create for edit in listed.edits)
        content = [rows.diff(preview, self.root, create=create)]
        self._put(helpers.update_tool_call(row, content=content))
        await self._outgoing.join()
        call = schema.ToolCallUpdate(
            tool_call_id=row,
            title=translate(f"Edit {preview.path}"),
            kind="edit",
            status="pending",
            content=list(content),
            locations=[schema.ToolCallLocation(path=str(self.root / preview.path))],
        )
        choices: list[tuple[str, str, schema.PermissionOptionKind]] = [
            (ONCE, "Apply", "allow_once"),
            (ALL, "Apply this and all others in this session", "allow_always"),
            (DENY, "Reject", "reject_once"),
        ]
        chosen = await self.workbench.permission(call, choices)
        try:
            if chosen in (ONCE, ALL):
                await self.ask("tierline/edit/accept", p.EditAcceptParams(edit_id))
                if chosen == ALL:
                    self._edit_mode("apply")
                    await self._options_changed()
        except TierlineError as error:
            self._say(_quote(translate(f"{error.message} {error.advice}")))
        if chosen not in (ONCE, ALL):
            await self._reject(edit_id, "" if chosen == DENY else "The question was closed.")

    async def _reject(self, edit_id: str, reason: str) -> None:
        with contextlib.suppress(TierlineError):  # decided elsewhere, or its turn was stopped
            await self.ask("tierline/edit/reject", p.EditRejectParams(edit_id, reason))

    # --- sending ---------------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        self._put(helpers.update_agent_message_text(text))

    def _put(self, update: Any) -> None:
        self._outgoing.put_nowait(update)

    async def _send(self) -> None:
        """Send updates one after the other, until the client is gone."""
        while True:
            update = await self._outgoing.get()
            try:
                await self._client.session_update(session_id=self.session_id, update=update)
            except (RequestError, ConnectionError) as error:
                log.info("An update was not sent: %s", error)
            finally:
                self._outgoing.task_done()

    def _beside(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)


def _in_words(command: p.CommandResult) -> str:
    """A command's answer, translated; a document holds messages word for word and is not."""
    if command.document:
        return command.text
    return translate_lines(command.text) or translate(command.title)


def _quote(text: str) -> str:
    return f"\n\n> {plain_markdown(text)}\n\n"
