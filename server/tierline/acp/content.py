"""A prompt's content blocks as a Tierline prompt: text, pictures, files to add."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from acp import schema
from attrs import field, frozen

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
