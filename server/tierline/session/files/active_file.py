"""The editor's active file goes with the prompt: the file in its tier, the place as a text."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from attrs import frozen

from tierline import protocol as p
from tierline.context.active_editor import WHOLE_CHARACTERS, ActiveEditor, around, describe
from tierline.context.refusals import Refusal
from tierline.context.retrieval.symbol import Symbol
from tierline.session.files.service import FileService
from tierline.workspace.loader import LoadedFile
from tierline.workspace.symbols.extract import extract
from tierline.workspace.symbols.languages import syntax_of

MAX_LABEL_LENGTH = 200


@frozen
class ActiveFileContext:
    """The context from the editor's active file."""

    text: str = ""
    """Text for the end of the prompt."""
    attached: tuple[p.Attachment, ...] = ()
    """Attachments for the conversation."""
    notices: tuple[str, ...] = ()


async def active_file_context(
    files: FileService, place: p.EditorPlace, selection: str
) -> ActiveFileContext:
    """Collect the context from the editor's active file. A file that may not be sent is left out,
    with a notice.
    """
    await files.settled()
    loaded = await asyncio.to_thread(files.loader.load, place.uri, confirm=_confirmed(files, place))
    if isinstance(loaded, Refusal):
        return await _elsewhere(files, place, selection, loaded)
    lines = loaded.content.text.splitlines()
    symbols = await asyncio.to_thread(symbols_of, loaded)
    where = ActiveEditor(
        loaded.key,
        place.first_line,
        min(place.last_line, len(lines)) if place.last_line else 0,
        place.cursor_line,
        selected=bool(selection),
    )
    listed = files.context.has_file(loaded.key)
    excerpt, shown = selection, where
    if len(loaded.content.text) <= WHOLE_CHARACTERS or listed:
        if not listed:
            await files.open_in_editor(loaded)
    elif not selection:
        first, last = around(where, symbols, len(lines))
        excerpt = "\n".join(lines[first - 1 : last]) + "\n"
        shown = ActiveEditor(loaded.key, first, last, place.cursor_line)
    whole = not selection and not excerpt
    return ActiveFileContext(
        describe(where if whole or selection else shown, symbols, excerpt),
        (_attachment(loaded.key, files.loader.uri(loaded.key), shown, excerpt, whole=whole),),
    )


def selection_context(text: str) -> ActiveFileContext:
    """The text for a selection without a place."""
    place = ActiveEditor("selection", selected=True)
    attached = _attachment(place.path, "", place, text, whole=False)
    return ActiveFileContext(describe(place, (), text), (attached,))


async def _elsewhere(
    files: FileService, place: p.EditorPlace, selection: str, refusal: Refusal
) -> ActiveFileContext:
    """A document outside the workspace, or one that may not be sent: only the selection goes with
    the prompt.
    """
    name = files.key(place.uri)
    if not selection:
        told = (f"{refusal.name} is open, but is not sent. {refusal.sentence}",)
        return ActiveFileContext(notices=told if refusal.confirmable else ())
    where = ActiveEditor(name, place.first_line, place.last_line, place.cursor_line, selected=True)
    attached = _attachment(name, place.uri, where, selection, whole=False)
    return ActiveFileContext(describe(where, (), selection), (attached,))


def _confirmed(files: FileService, place: p.EditorPlace) -> bool:
    entry = files.context.get(files.key(place.uri))
    return entry is not None and entry.confirmed


def _attachment(
    path: str, uri: str, place: ActiveEditor, text: str, *, whole: bool
) -> p.Attachment:
    first, last = (0, 0) if whole else (place.first_line, place.last_line)
    lines = "" if not first else f":{first}" if last <= first else f":{first}-{last}"
    return p.Attachment(
        kind="selection" if place.selected else "file" if whole else "excerpt",
        label=f"{path}{lines}"[-MAX_LABEL_LENGTH:],
        path=path,
        uri=uri,
        first_line=first,
        last_line=last,
        text=text,
    )


def symbols_of(loaded: LoadedFile) -> Sequence[Symbol]:
    """The definitions of a file; none if its language is unknown."""
    syntax = syntax_of(loaded.key)
    if syntax is None:
        return ()
    try:
        return extract(loaded.key, loaded.content.text, syntax).symbols
    except ImportError:
        return ()
