"""``read_file`` and ``list_files``: what the workspace holds, in pages.

A page is small enough not to be truncated when it is sent (``history.truncation``). It holds whole
lines, and a note that says how to get the next ones.
"""

from __future__ import annotations

import asyncio
import fnmatch
import time
from collections.abc import Callable, Mapping
from typing import Any

from tierline.context.fences import render_file, render_path
from tierline.context.prompt import ToolSpec
from tierline.context.refusals import Refusal
from tierline.context.text import clip
from tierline.history.truncation import DEFAULTS
from tierline.tools.registry import Call, Tool, ToolOutput
from tierline.workspace.listing import readable
from tierline.workspace.loader import Loader

PAGE = DEFAULTS.page - 400
"""Characters of file text on the largest page; the rest is for path, fence and note."""
MIN_PAGE = 4_600
LISTING = DEFAULTS.full - 400
"""Characters of a list of names or matches."""
_SHARE = 0.5
"""Characters of a page for each token of the model's window: an eighth of it, at four a token."""
MAX_NAMES = 400
MAX_GLOB = 1000
"""Characters of a glob. Longer ones fit no path and are slow to compile."""
SECONDS = 10.0
"""A listing that takes longer is cut off, and says so."""

READ_FILE = ToolSpec(
    name="read_file",
    description=(
        "Read a text file of the workspace as the user sees it now (unsaved changes included). "
        "Returns a page of whole lines, some hundreds; the note says which lines and where the "
        "next page begins. Files that are given in full, and pages that were read and have not "
        "changed, need not be read again."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Path relative to the workspace."},
            "start_line": {"type": "integer", "minimum": 1, "description": "Default 1."},
            "end_line": {"type": "integer", "minimum": 1, "description": "Last line, inclusive."},
        },
        "required": ["path"],
    },
)
LIST_FILES = ToolSpec(
    name="list_files",
    description=(
        "List the workspace's files, without those that ignore rules exclude. With `pattern` "
        "(a glob such as `*.py` or `src/**`) only matching paths."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "folder": {"type": "string", "description": "Folder to list; default: all."},
            "pattern": {
                "type": "string",
                "maxLength": MAX_GLOB,
                "description": "Glob over the path or the name.",
            },
        },
    },
)


def tools(loader: Loader, window: Callable[[], int] = lambda: 2 * PAGE) -> tuple[Tool, ...]:
    """Both tools over one workspace. ``window``: tokens that the model takes."""

    async def read(call: Call) -> ToolOutput:
        page = page_for(window())
        return await asyncio.to_thread(read_file, loader, call.arguments, page)

    async def names(call: Call) -> ToolOutput:
        return await asyncio.to_thread(list_files, loader, call.arguments)

    return (
        Tool(READ_FILE, read, title=_read_title),
        Tool(LIST_FILES, names, title=lambda a: str(a.get("pattern") or a.get("folder") or "")),
    )


def page_for(window: int) -> int:
    """Characters of a page for a window of so many tokens."""
    return max(MIN_PAGE, min(PAGE, int(window * _SHARE)))


def read_file(loader: Loader, arguments: Mapping[str, Any], limit: int = PAGE) -> ToolOutput:
    """A page of a file, at most so many characters. Blocking."""
    loaded = loader.load(str(arguments["path"]))
    if isinstance(loaded, Refusal):
        return ToolOutput(told(loaded), error=True)
    lines = loaded.content.text.splitlines(keepends=True)
    first = int(arguments.get("start_line", 1))
    last = min(int(arguments.get("end_line", len(lines))), len(lines))
    if not lines:
        return ToolOutput(f"{render_path(loaded.key)} is empty.", note="empty")
    if first > len(lines) or last < first:
        return ToolOutput(
            f"{render_path(loaded.key)} has {len(lines)} lines; there is no such range.", error=True
        )
    page: list[str] = []
    size = 0
    for line in lines[first - 1 : last]:
        if page and size + len(line) > limit:
            break
        page.append(clip(line, limit) if len(line) > limit else line)
        size += len(page[-1])
    end = first + len(page) - 1
    note = "" if (first, end) == (1, len(lines)) else f"lines {first}-{end} of {len(lines)}"
    if page and len(page[-1]) == limit:
        note += ", a line was cut"
    text = render_file(loaded.key, "".join(page), note)
    if end < last:
        text += f"(Next page: start_line={end + 1}.)"
    for warning in loaded.warnings:
        text += f"\n({warning})"
    return ToolOutput(text, note=f"{len(page)} line{'s' * (len(page) != 1)}")


def list_files(loader: Loader, arguments: Mapping[str, Any]) -> ToolOutput:
    """Paths, one a line. Blocking."""
    until = time.monotonic() + SECONDS
    found = readable(loader, str(arguments.get("folder", "")), until=until)
    if isinstance(found, Refusal):
        return ToolOutput(told(found), error=True)
    pattern = str(arguments.get("pattern", ""))
    names: list[str] = []
    more, size = "", 0
    try:
        for place in found:
            if not matches(place.key, pattern):
                continue
            size += len(place.key) + 1
            if len(names) == MAX_NAMES or size > LISTING:
                more = "(There are more files: name a folder or a pattern.)"
                break
            names.append(render_path(place.key))
    except TimeoutError:
        more = "(The listing took too long and was ended: name a folder.)"
    if not names:
        return ToolOutput(more or "No files.", note="none")
    count = f"{len(names)}{'+' if more else ''} file{'s' * (len(names) != 1)}"
    return ToolOutput("\n".join([*names, *([more] if more else [])]), note=count)


def matches(key: str, pattern: str) -> bool:
    """True if a glob fits the path or its last component; an empty one fits all."""
    if not pattern:
        return True
    plain = pattern.removeprefix("./")
    return (
        fnmatch.fnmatchcase(key, plain)
        or fnmatch.fnmatchcase(key.rsplit("/", 1)[-1], plain)
        or ("**/" in plain and fnmatch.fnmatchcase(key, plain.replace("**/", "")))
    )


def told(refusal: Refusal) -> str:
    """A refusal in words for the model, which cannot confirm anything."""
    if refusal.confirmable:
        return f"{refusal.message} Only the user can add it to the context."
    return refusal.sentence


def _read_title(arguments: Mapping[str, Any]) -> str:
    path = str(arguments.get("path", ""))
    first, last = arguments.get("start_line"), arguments.get("end_line")
    if first or last:
        return f"{path}, lines {first or 1} to {last or 'the end'}"
    return path
