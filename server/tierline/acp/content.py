"""A prompt: its content blocks as a Tierline prompt, and stopping it before its turn begins."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from pathlib import PurePosixPath
from typing import Any, TypeVar
from urllib.parse import SplitResult, unquote, urlsplit

from acp import schema
from attrs import define, field, frozen

from tierline import protocol as p
from tierline.context.display import visible_text
from tierline.context.fences import render_file
from tierline.context.text import clip

_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


@frozen
class AttachedFile:
    """An attached file: its URI, and its name in the prompt's text."""

    uri: str
    name: str


@frozen
class PromptContent:
    """The content of one ``session/prompt``."""

    text: str
    images: list[p.ImageInput] = field(factory=list)
    files: list[AttachedFile] = field(factory=list)
    problems: list[str] = field(factory=list)
    """Why parts of it cannot be sent, in sentences."""


def read_prompt(blocks: Sequence[Any]) -> PromptContent:
    """The blocks in order. Links to files become attachments, and their names stay in the text."""
    parts: list[str] = []
    found = PromptContent("")
    for block in blocks:
        match block:
            case schema.TextContentBlock(text=text):
                parts.append(text)
            case schema.ImageContentBlock(data=data, mime_type=kind):
                found.images.append(p.ImageInput(kind, data))
            case schema.ResourceContentBlock():
                parts.append(_link(_split(block.uri, found), block.title or block.name, found))
            case schema.EmbeddedResourceContentBlock(resource=resource):
                parts.append(_embedded(_split(str(resource.uri), found), resource, found))
            case _:
                found.problems.append(f"Tierline does not read {block.type} content.")
    text = "".join(parts)
    return PromptContent(text, found.images, found.files, found.problems)


def _split(uri: str, found: PromptContent) -> SplitResult:
    try:
        return urlsplit(uri)
    except ValueError:
        found.problems.append(f"{visible_text(clip(uri, 200))} is not a valid URI.")
        return SplitResult("", "", "", "", "")


def _link(split: SplitResult, name: str, found: PromptContent) -> str:
    if split.scheme != "file":
        uri = split.geturl()
        return uri if split.scheme in ("http", "https") else f"{name} ({uri})"
    place = f"file://{split.netloc}{split.path}"
    shown = name or PurePosixPath(unquote(split.path)).name
    found.files.append(AttachedFile(place, shown))
    return f"`{shown}`{_lines(split.fragment)}"


def _embedded(split: SplitResult, resource: Any, found: PromptContent) -> str:
    name = PurePosixPath(unquote(split.path)).name or str(resource.uri)
    if isinstance(resource, schema.TextResourceContents):
        shown = f"{name}{_lines(split.fragment)}"
        return f"\n\n{render_file(shown, resource.text)}\n\n"
    if resource.mime_type in _IMAGES:
        found.images.append(p.ImageInput(resource.mime_type, resource.blob))
        return ""
    found.problems.append(f"{name} is neither text nor a picture.")
    return ""


def _lines(fragment: str) -> str:
    """``#L10:20`` and ``#L10-L20`` in words; empty for anything else."""
    numbers = fragment.replace("L", "").replace("-", ":").split(":")
    if not fragment.startswith("L") or not all(number.isdigit() for number in numbers):
        return ""
    first, last = numbers[0], numbers[-1]
    return f" (line {first})" if first == last else f" (lines {first} to {last})"


T = TypeVar("T")


class StoppedError(Exception):
    """The client stopped a prompt before its turn began."""


@define(eq=False)
class PendingPrompt:
    """A prompt that is not answered yet."""

    turn_id: str = ""
    """The turn's id; empty until the prompt is sent."""
    stopped: asyncio.Event = field(factory=asyncio.Event)


async def unless_stopped(prompting: PendingPrompt, work: Coroutine[Any, Any, T]) -> T:
    """The result of ``work``, which is done before a prompt's turn.

    Raises:
        StoppedError: the client stopped the prompt meanwhile.
    """
    task = asyncio.ensure_future(work)
    stop = asyncio.ensure_future(prompting.stopped.wait())
    try:
        await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stop.cancel()
        task.cancel()
    if prompting.stopped.is_set():
        if task.done() and not task.cancelled():
            task.exception()  # a question that was closed with the prompt
        raise StoppedError
    return task.result()
