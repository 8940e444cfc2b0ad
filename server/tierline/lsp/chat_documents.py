"""A conversation in a document, for editors with plain LSP only.

In any file called ``*.chat.md`` the text after the last ``## You`` is the prompt; the code action
*Ask Tierline* (command ``tierline.document.ask``) sends it, and the reply grows at the end of the
document through ``workspace/applyEdit``. So Helix, Zed, JetBrains and Sublime need no extension.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Literal

from attrs import define, field
from lsprotocol import types as lsp

from tierline import protocol as p
from tierline.context.display import plain_markdown
from tierline.errors import TierlineError
from tierline.lsp.host import TierlineServer
from tierline.lsp.workbench import LspWorkbench

log = logging.getLogger(__name__)

SUFFIX = ".chat.md"
WITH_IT, AS_TEXT = "Send with it", "Send as mere text"
YOU, REPLY = "## You", "## Tierline"
COMMAND = "tierline.document.ask"
PAUSE_SECONDS = 0.3
"""Text is collected for this long: each edit is one undo step of the editor."""


@define
class _Talk:
    """A document that waits for its reply."""

    uri: str
    pending: list[str] = field(factory=list)
    arrived: asyncio.Event = field(factory=asyncio.Event)
    ended: bool = False
    thinking: bool = False
    """A folded section is open."""

    def fold(self) -> None:
        """Open the section for thinking, if it is not open."""
        if not self.thinking:
            self.pending.append("\n\n<details><summary>Thinking</summary>\n\n")
        self.thinking = True

    def unfold(self) -> None:
        """Close the section for thinking, if it is open."""
        if self.thinking:
            self.pending.append("\n\n</details>\n\n")
        self.thinking = False


class ChatDocuments:
    """Sends the prompts of chat documents and writes the replies into them."""

    def __init__(self, server: TierlineServer, workbench: LspWorkbench) -> None:
        self._server, self._workbench = server, workbench
        self._talks: dict[str, _Talk] = {}
        self._asking: set[str] = set()
        self._writing: dict[str, asyncio.Task[None]] = {}

    def action(self, uri: str) -> lsp.CodeAction | None:
        """*Ask Tierline*, in a chat document with something to ask."""
        if not uri.endswith(SUFFIX) or uri in self._asking or not prompt(self._text(uri)):
            return None
        command = lsp.Command("Ask Tierline", COMMAND, arguments=[{"uri": uri}])
        return lsp.CodeAction("Ask Tierline", kind="source.tierline", command=command)

    async def ask(self, uri: str) -> p.ChatSendResult:
        """Send the document's prompt; the reply follows in the document.

        Raises:
            TierlineError: ``invalid_params`` if the document is not open here, ``empty_prompt``,
                ``conflict`` if its last reply still streams; or what sending a prompt raises.
        """
        if uri not in self._server.workspace.text_documents:
            raise TierlineError(
                "invalid_params",
                f"The document {uri} is not open in this server.",
                f"Open a file called something{SUFFIX} and ask there.",
            )
        if any(talk.uri == uri and talk.ended for talk in self._talks.values()):
            # The last text was sent to the document already; only its confirmation is missing.
            await asyncio.wait([self._writing[uri]])
        if uri in self._asking:
            raise TierlineError(
                "conflict", "A reply is still being written here.", "Stop it first."
            )
        text = prompt(self._text(uri))
        if not text:
            raise TierlineError(
                "empty_prompt", "There is nothing to send.", f"Write your question below {YOU}."
            )
        session = await self._server.ready()
        self._asking.add(uri)
        try:
            sent = await self._sent(session, text)
        except BaseException:
            self._asking.discard(uri)
            raise
        talk = self._talks[sent.turn_id] = _Talk(uri, [f"\n\n{REPLY}\n\n"])
        notices = map(self._server.language.say, sent.notices)
        talk.pending += [f"*{plain_markdown(notice)}*\n\n" for notice in notices]
        talk.arrived.set()
        self._writing[uri] = asyncio.ensure_future(self._write(sent.turn_id, talk))
        return sent

    async def _sent(self, session: Any, text: str) -> p.ChatSendResult:
        """Send a prompt, after asking the user about unclear mentions."""
        try:
            sent: p.ChatSendResult = await session.turns.send(p.ChatSendParams(text=text))
        except TierlineError as error:
            if error.code != "unclear_mention":
                raise
            chosen = await self._workbench.ask(error.message, [WITH_IT, AS_TEXT])
            if chosen not in (WITH_IT, AS_TEXT):
                raise
            mentions: Literal["confirm", "text"] = "confirm" if chosen == WITH_IT else "text"
            sent = await session.turns.send(p.ChatSendParams(text=text, mentions=mentions))
        return sent

    def on_event(self, event: p.Event) -> None:
        """Handle an event; most are about turns that began elsewhere."""
        body = event.body
        talk = self._talks.get(getattr(body, "turn_id", ""))
        if talk is None:
            return
        match body:
            case p.ReasoningDelta(was_text=True):
                return
            case p.ReasoningDelta():
                talk.fold()
                talk.pending.append(body.text)
            case p.TextDelta():
                talk.unfold()
                talk.pending.append(body.text)
            case p.Notice():
                talk.unfold()
                talk.pending.append(
                    f"\n\n*{plain_markdown(self._server.language.say(body.text))}*\n\n"
                )
            case p.TurnFinished():
                talk.unfold()
                if body.outcome != "ok":
                    why = f"{body.error} {body.advice}".strip() or "Stopped."
                    why = self._server.language.say(why)
                    talk.pending.append(f"\n\n*{plain_markdown(why)}*")
                talk.pending.append(f"\n\n{YOU}\n\n")
                talk.ended = True
            case _:
                return
        talk.arrived.set()

    async def _write(self, turn_id: str, talk: _Talk) -> None:
        try:
            while True:
                await talk.arrived.wait()
                if not talk.ended:
                    await asyncio.sleep(PAUSE_SECONDS)
                talk.arrived.clear()
                text, ended = "".join(talk.pending), talk.ended
                talk.pending.clear()
                if text and not await self._append(talk.uri, text):
                    log.warning("The editor did not take the reply; it is in the history")
                    return
                if ended and not talk.pending:
                    return
        finally:
            self._talks.pop(turn_id, None)
            self._asking.discard(talk.uri)

    async def _append(self, uri: str, text: str) -> bool:
        """Put text at the document's end. False if the editor refuses or the document is closed."""
        document = self._server.workspace.text_documents.get(uri)
        if document is None:
            return False
        lines = document.lines
        whole = not lines or lines[-1].endswith(("\n", "\r"))
        end = (
            lsp.Position(len(lines), 0)
            if whole
            else document.position_codec.position_to_client_units(
                lines, lsp.Position(len(lines) - 1, len(lines[-1]))
            )
        )
        if whole:
            text = text.removeprefix("\n")
        edit = lsp.TextEdit(lsp.Range(end, end), text)
        try:
            result = await self._server.workspace_apply_edit_async(
                lsp.ApplyWorkspaceEditParams(
                    label="Tierline", edit=lsp.WorkspaceEdit(changes={uri: [edit]})
                )
            )
        except Exception as error:
            log.warning("The editor failed to take the reply: %s", error)
            return False
        await self._seen(uri, document.version)
        return bool(result.applied)

    async def _seen(self, uri: str, version: int | None) -> None:
        """Wait until the editor has reported the edit: the next one is placed at the end of the new
        text.
        """
        for _ in range(100):
            document = self._server.workspace.text_documents.get(uri)
            if document is None or document.version != version:
                return
            await asyncio.sleep(0.02)

    def _text(self, uri: str) -> str:
        document = self._server.workspace.text_documents.get(uri)
        return document.source if document is not None else ""


def prompt(text: str) -> str:
    """The prompt: everything after the last ``## You``, or the whole document if it has no reply
    yet.
    """
    lines = text.splitlines()
    marks = [n for n, line in enumerate(lines) if line.rstrip() == YOU]
    if marks:
        return "\n".join(lines[marks[-1] + 1 :]).strip()
    if any(line.rstrip() == REPLY for line in lines):
        return ""
    return text.strip()
