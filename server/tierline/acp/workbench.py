"""The client as the session sees it: its files and unsaved texts, its terminals, its user."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit
from urllib.request import url2pathname

from acp import Client, RequestError, helpers, schema
from attrs import define, field, frozen

from tierline import disk
from tierline.context.display import visible_text
from tierline.context.edits.positions import TextChange, Units
from tierline.context.filetext import FileText
from tierline.context.text import clip, normalise, sha256
from tierline.localization.translator import translate, translate_label
from tierline.session.workbench import (
    CONSENT,
    EDITS,
    Annotation,
    ApplyResult,
    FileChange,
    TerminalCommand,
    Workbench,
)
from tierline.tools.running import CommandEnd, HeadAndTail
from tierline.workspace.decoding import decode, encode_back

log = logging.getLogger(__name__)

_MAX_CHARACTER_LENGTH = 4
"""Bytes of UTF-8; the protocol limits bytes."""
CLIENT_SECONDS = 20.0
"""Longest wait for the client's answer, so that it cannot hold up a turn for ever."""
FAULTS = (RequestError, ConnectionError, TimeoutError, ValueError)
"""Exceptions of a request to the client: an error, no answer, or an answer of another form."""
_MAX_BYTES = 64 * 1024 * 1024
_LINE_END = re.compile(r"\r\n|\r|\n")


@define
class ClientDocument:
    """A client's text that differs from the disk, as ``workspace/buffers.py`` reads it."""

    uri: str
    source: str
    version: int | None = 0


@frozen
class ClientAbilities:
    """The client's capabilities."""

    read: bool = False
    write: bool = False
    terminal: bool = False

    @classmethod
    def of(cls, declared: schema.ClientCapabilities | None) -> ClientAbilities:
        """The capabilities in the ``initialize`` request."""
        files = declared.fs if declared is not None else None
        return cls(
            read=bool(files and files.read_text_file),
            write=bool(files and files.write_text_file),
            terminal=bool(declared is not None and declared.terminal),
        )


@define(eq=False, repr=False, slots=False)
class AcpWorkbench(Workbench):
    """Speaks to the client about one session. The protocol has no requests for notifications or
    for showing a place: panels show a turn's end themselves, and rows carry places.
    """

    features = frozenset({CONSENT, EDITS})
    units: ClassVar[Units] = "utf-32"

    _client: Client
    _abilities: ClientAbilities
    _terminal_shown: Callable[[str, str], None]
    """``(call_id, terminal_id)``: a call's command runs in this terminal."""
    session_id: str = field(default="", init=False)
    documents: dict[str, ClientDocument] = field(factory=dict, init=False)
    """The unsaved texts that are known, by URI. Read from any thread, replaced as a whole."""

    async def refresh(self, uris: Sequence[str]) -> None:
        """See ``Workbench.refresh``: the client sends texts only on request."""
        if not self._abilities.read:
            return
        texts = await asyncio.gather(*(self._read(uri) for uri in uris))
        known = dict(self.documents)
        for uri, text in zip(uris, texts, strict=True):
            held = known.pop(uri, None)
            if text is not None and text != await asyncio.to_thread(_on_disk, uri):
                same = held is not None and held.source == text
                version = held.version or 0 if held is not None else 0
                known[uri] = ClientDocument(uri, text, version if same else version + 1)
        self.documents = known

    async def apply(self, change: FileChange, annotation: Annotation) -> ApplyResult:  # noqa: ARG002
        """See ``Workbench.apply``: the client writes the whole text, or we do if it cannot."""
        if self._abilities.write:
            return await self._apply_there(change)
        if change.uri in self.documents:
            return ApplyResult(False, "it has unsaved changes, and the client cannot be written to")
        return await asyncio.to_thread(_apply_on_disk, change)

    async def ask(self, text: str, actions: Sequence[str]) -> str:
        """See ``Workbench.ask``."""
        kinds: list[schema.PermissionOptionKind] = ["allow_once"] * (len(actions) - 1)
        chosen = await self.permission(
            schema.ToolCallUpdate(tool_call_id="question", title=translate(text), status="pending"),
            list(zip(actions, actions, [*kinds, "reject_once"], strict=True)),
        )
        return chosen if chosen in actions else ""

    async def permission(
        self,
        call: schema.ToolCallUpdate,
        options: Sequence[tuple[str, str, schema.PermissionOptionKind]],
    ) -> str:
        """Ask the user. The id of the option chosen; empty if the question was cancelled."""
        try:
            answer = await self._client.request_permission(
                session_id=self.session_id,
                tool_call=call,
                options=[
                    schema.PermissionOption(option_id=key, name=translate_label(name), kind=kind)
                    for key, name, kind in options
                ],
            )
        except FAULTS as error:
            log.info("The client shows no questions: %s", error)
            return ""
        outcome = answer.outcome
        return outcome.option_id if isinstance(outcome, schema.AllowedOutcome) else ""

    async def run(self, command: TerminalCommand, /) -> CommandEnd | None:
        """See ``Workbench.run``: in one of the client's terminals, if it has them."""
        if not self._abilities.terminal:
            return None
        program, arguments = _as_argv(command.command)
        try:
            async with asyncio.timeout(CLIENT_SECONDS):
                made = await self._client.create_terminal(
                    session_id=self.session_id,
                    command=program,
                    args=arguments,
                    cwd=command.folder,
                    output_byte_limit=command.most_characters * _MAX_CHARACTER_LENGTH,
                )
        except FAULTS as error:
            return CommandEnd("", error=f"the client opened no terminal ({_said(error)})")
        self._terminal_shown(command.call, made.terminal_id)
        try:
            return await self._wait(made.terminal_id, command)
        finally:
            await asyncio.shield(self._release(made.terminal_id))

    async def save(self, uris: Sequence[str]) -> list[str]:
        """See ``Workbench.save``: texts that the client writes are saved already."""
        return list(uris)

    # --- texts -----------------------------------------------------------------------------------

    async def _read(self, uri: str) -> str | None:
        path = _path(uri)
        if path is None:
            return None
        try:
            async with asyncio.timeout(CLIENT_SECONDS):
                found = await self._client.read_text_file(
                    session_id=self.session_id, path=str(path)
                )
        except FAULTS as error:
            log.info("The client does not give %s: %s", path.name, error)
            return None
        return found.content

    async def _apply_there(self, change: FileChange) -> ApplyResult:
        path = _path(change.uri)
        if path is None:
            return ApplyResult(False, "it is no file")
        held = self.documents.get(change.uri)
        if change.create:
            text = ""
        elif held is not None:
            text = held.source
        else:
            disk = await asyncio.to_thread(_on_disk, change.uri)
            if disk is None:
                return ApplyResult(False, "it cannot be read any more")
            text = disk
        if change.base and sha256(normalise(text)) != change.base:
            return ApplyResult(False, "the file has changed meanwhile")
        after = changed(text, change.changes)
        try:
            async with asyncio.timeout(CLIENT_SECONDS):
                await self._client.write_text_file(
                    session_id=self.session_id, path=str(path), content=after
                )
        except FAULTS as error:
            return ApplyResult(False, f"the client refused ({_said(error)})")
        await self.refresh([change.uri])
        return ApplyResult(True)

    # --- terminals -------------------------------------------------------------------------------

    async def _wait(self, terminal: str, command: TerminalCommand) -> CommandEnd:
        where = {"session_id": self.session_id, "terminal_id": terminal}
        timed_out, code = False, None
        try:
            async with asyncio.timeout(command.seconds):
                code = (await self._client.wait_for_terminal_exit(**where)).exit_code
        except TimeoutError:
            timed_out = True
            await self._kill(terminal)
        except FAULTS as error:  # its output may have more details
            log.info("The client does not say how a command ended: %s", error)
        try:
            async with asyncio.timeout(CLIENT_SECONDS):
                found = await self._client.terminal_output(**where)
        except FAULTS as error:
            return CommandEnd(f"(The client gives no output: {_said(error)})", code, timed_out)
        if code is None and found.exit_status is not None and not timed_out:
            code = found.exit_status.exit_code
        cut = "[… the beginning was left out …]\n" if found.truncated else ""
        kept = HeadAndTail(command.most_characters)
        kept.add(found.output.encode("utf-8", "replace"))
        output, left_out = kept.end()
        return CommandEnd(cut + output, code, timed_out, left_out)

    async def _kill(self, terminal: str) -> None:
        try:
            async with asyncio.timeout(CLIENT_SECONDS):
                await self._client.kill_terminal(session_id=self.session_id, terminal_id=terminal)
        except FAULTS as error:  # it may have just ended
            log.info("A command was not stopped: %s", error)

    async def _release(self, terminal: str) -> None:
        """Release a terminal, which also ends a running command."""
        try:
            async with asyncio.timeout(CLIENT_SECONDS):
                await self._client.release_terminal(
                    session_id=self.session_id, terminal_id=terminal
                )
        except FAULTS as error:
            log.info("A terminal was not released: %s", error)


def _said(error: Exception) -> str:
    """Why a request to the client failed, in a few words."""
    if isinstance(error, TimeoutError):
        return "it did not answer"
    if isinstance(error, ValueError):
        return "its answer cannot be understood"
    return visible_text(clip(str(error), 300))


def terminal_content(terminal: str) -> list[Any]:
    """A call's content while its command runs."""
    return [helpers.tool_terminal_ref(terminal)]


def changed(text: str, changes: Sequence[TextChange]) -> str:
    """The text with the changes in it; places count Unicode characters."""
    starts = [0, *(found.end() for found in _LINE_END.finditer(text))]

    def offset(line: int, character: int) -> int:
        return starts[line] + character if line < len(starts) else len(text)

    ordered = sorted(
        ((offset(c.start_line, c.start_character), offset(c.end_line, c.end_character), c.text)
         for c in changes),
        reverse=True,
    )  # fmt: skip
    for start, end, new in ordered:
        text = text[:start] + new + text[end:]
    return text


def _as_argv(command: Sequence[str] | str) -> tuple[str, list[str]]:
    if isinstance(command, str):
        return "/bin/sh", ["-c", command]
    return command[0], list(command[1:])


def _path(uri: str) -> Path | None:
    split = urlsplit(uri)
    return Path(url2pathname(split.path)) if split.scheme == "file" else None


def _on_disk(uri: str) -> str | None:
    """The text as an editor reads it: decoded, its line ends as they are. None if it is none."""
    path = _path(uri)
    try:
        data = disk.read(disk.resolved(path), _MAX_BYTES) if path is not None else None
    except (OSError, ValueError):
        return None
    if data is None or not isinstance(found := decode(data), FileText):
        return None
    return data.decode(found.facts.encoding).removeprefix("\ufeff")


def _apply_on_disk(change: FileChange) -> ApplyResult:
    path = _path(change.uri)
    if path is None:
        return ApplyResult(False, "it is no file")
    try:
        if change.create:
            path.parent.mkdir(parents=True, exist_ok=True)
            place = disk.resolved(path.parent) / path.name
            disk.create(place, changed("", change.changes).encode(), mode=0o666)
            return ApplyResult(True)
        place = disk.resolved(path)
        before = decode(disk.read(place, _MAX_BYTES))
        if not isinstance(before, FileText):
            return ApplyResult(False, "it is no text any more")
        after = changed(before.text, change.changes)
        disk.replace(place, encode_back(before, _LINE_END.sub("\n", after)))
    except (OSError, ValueError) as error:
        return ApplyResult(False, str(getattr(error, "strerror", None) or error))
    return ApplyResult(True)
