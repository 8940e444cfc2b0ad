"""Prompts of code actions and everyday commands: explain, fix, write tests, document."""

from __future__ import annotations

import asyncio

from tierline import protocol as p
from tierline.context.active_editor import enclosing
from tierline.context.fences import render_path
from tierline.context.refusals import Refusal
from tierline.errors import TierlineError
from tierline.session.files.active_file import symbols_of
from tierline.session.files.service import FileService
from tierline.session.turns.turn import TurnRunner
from tierline.session.workbench import Workbench
from tierline.workspace.loader import LoadedFile

AROUND = 10
"""Lines above and below a problem outside any definition."""
MAX_LINES = 400
WORDS = {
    "explain": "Explain {what}: what it does, how, and what is surprising about it.",
    "fix": "Fix {what}.",
    "tests": "Write tests for {what}, in the style and the framework of this project's own tests.",
    "document": "Write documentation comments for {what}, in this project's style. Change no code.",
}


class AskService:
    """Makes a prompt of a place in the editor and sends it."""

    def __init__(self, files: FileService, turns: TurnRunner, workbench: Workbench) -> None:
        self._files = files
        self._turns = turns
        self._workbench = workbench

    async def ask(self, params: p.AskParams) -> p.ChatSendResult:
        """Send a prompt about the code at a place, with that code and its problems.

        Raises:
            TierlineError: ``invalid_params`` without a question; ``not_sendable`` if the file may
                not be sent; and the errors of ``send``.
        """
        place = params.editor
        words = params.text.strip()
        if params.what == "ask" and not words:
            raise TierlineError("invalid_params", "There is no question.", "Pass it as text.")
        await self._workbench.refresh([place.uri])
        entry = self._files.context.get(self._files.key(place.uri))
        loaded = await asyncio.to_thread(
            self._files.loader.load, place.uri, confirm=entry is not None and entry.confirmed
        )
        if isinstance(loaded, Refusal):
            raise TierlineError("not_sendable", f"Nothing was sent. {loaded.message}", "")
        lines = loaded.content.text.splitlines(keepends=True)
        first, last, name = await asyncio.to_thread(self._meant, params, lines, loaded)
        path = render_path(loaded.key)
        whole = (first, last) == (1, len(lines))
        span = f"line {first}" if first == last else f"lines {first} to {last}"
        what = f"`{name}` in {path}" if name else path if whole else f"{span} of {path}"
        if params.what == "fix":
            what = _problems(params.problems, path) or f"what is wrong in {what}"
        text = WORDS[params.what].format(what=what) if params.what != "ask" else words
        if words and params.what != "ask":
            text += f"\n\n{words}"
        given = [p.EditorContent("problems", uri=place.uri, problems=params.problems)]
        return await self._turns.send(
            p.ChatSendParams(
                text,
                selection="".join(lines[first - 1 : last]) if not whole else "",
                editor=p.EditorPlace(place.uri, first, last, place.cursor_line or first),
                given=given if params.problems else [],
            )
        )

    def _meant(
        self, params: p.AskParams, lines: list[str], loaded: LoadedFile
    ) -> tuple[int, int, str]:
        """First and last line of the code that is meant, and the name of its definition."""
        place = params.editor
        count = max(1, len(lines))
        if params.selected and place.first_line > 0:
            first = min(place.first_line, count)
            return first, max(first, min(place.last_line, count)), ""
        problem = next((one.line for one in params.problems if one.line > 0), 0)
        line = min(problem or place.cursor_line or place.first_line or 1, count)
        for symbol in reversed(enclosing(symbols_of(loaded), line)):
            if symbol.end - symbol.line < MAX_LINES:
                return symbol.line, min(symbol.end, count), symbol.qualified
        if problem:
            return max(1, line - AROUND), min(count, line + AROUND), ""
        return 1, count, ""


def _problems(found: list[p.Problem], path: str) -> str:
    if not found:
        return ""
    said = "; ".join(
        f"{' '.join(one.message.split())}{f' (line {one.line})' if one.line else ''}"
        for one in found[:5]
    )
    return f"{'this problem' if len(found) == 1 else 'these problems'} in {path}: {said}"
