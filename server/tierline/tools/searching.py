"""``search_code``: lines that match, in files that may be shown; bounded in time and size."""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tierline.context.fences import render_path
from tierline.context.prompt import ToolSpec
from tierline.context.refusals import Refusal
from tierline.context.text import clip
from tierline.tools.reading import LISTING, MAX_GLOB, matches, told
from tierline.tools.registry import Call, Tool, ToolOutput
from tierline.workspace.listing import readable
from tierline.workspace.loader import Loader
from tierline.workspace.paths import ResolvedPath
from tierline.workspace.secrets import redact

MAX_LINES = 100
MAX_BYTES = 2_000_000
"""Larger files are not searched."""
LINE = 200
"""Characters shown of a line, around the match."""
SECONDS = 10.0
SLOW = "(The search took too long and was ended: name a folder or a pattern.)"
LINE_SECONDS = 0.25
"""A pattern that takes longer on one line is given up: it may backtrack without end."""
MAX_REPEATS = 100_000
"""Product of all repeat counts of a pattern: the library expands them when it compiles."""
_COUNT = re.compile(r"\{\s*(?:\d*\s*,\s*)?(\d+)\s*(?:,\s*\d*\s*)?\}")

SEARCH_CODE = ToolSpec(
    name="search_code",
    description=(
        "Search the workspace's text files line by line, without those that ignore rules exclude. "
        "Returns `path:line: text`. The query is plain text, case-sensitive, unless `regex` or "
        "`ignore_case` is true."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1, "maxLength": 1000},
            "regex": {"type": "boolean"},
            "ignore_case": {"type": "boolean"},
            "folder": {"type": "string", "description": "Folder or file to search; default: all."},
            "pattern": {
                "type": "string",
                "maxLength": MAX_GLOB,
                "description": "Glob over the path, e.g. `*.py`.",
            },
        },
        "required": ["query"],
    },
)

Match = Callable[[str], tuple[int, int] | None]


def tool(loader: Loader) -> Tool:
    """The tool over one workspace."""

    async def search(call: Call) -> ToolOutput:
        return await asyncio.to_thread(search_code, loader, call.arguments)

    return Tool(SEARCH_CODE, search, title=lambda a: str(a.get("query", "")))


def search_code(loader: Loader, arguments: Mapping[str, Any]) -> ToolOutput:
    """Matching lines. Blocking."""
    try:
        match = _matcher(arguments)
    except ValueError as error:
        return ToolOutput(f"The pattern is not usable: {error}.", error=True)
    until = time.monotonic() + SECONDS
    found = readable(loader, str(arguments.get("folder", "")), until=until)
    if isinstance(found, Refusal):
        return ToolOutput(told(found), error=True)
    pattern = str(arguments.get("pattern", ""))
    try:
        return _search(loader, (p for p in found if matches(p.key, pattern)), match, until)
    except _SlowPatternError:
        return ToolOutput("The pattern takes too long on some line; use a simpler one.", error=True)


class _SlowPatternError(Exception):
    """The expression does not end in time on one line."""


def _search(
    loader: Loader, places: Iterable[ResolvedPath], match: Match, deadline: float
) -> ToolOutput:
    lines: list[str] = []
    more, size, files = "", 0, 0
    try:
        for place in places:
            current = loader.current(place, MAX_BYTES)
            if isinstance(current, Refusal):
                continue
            before = len(lines)
            for number, line in enumerate(current[0].text.split("\n"), 1):
                if (hit := match(line)) is None:
                    if time.monotonic() > deadline:  # a slow pattern and many lines
                        more = SLOW
                        break
                    continue
                shown = f"{render_path(place.key)}:{number}: {redact(_around(line, *hit))[0]}"
                size += len(shown) + 1
                if len(lines) == MAX_LINES or size > LISTING:
                    more = "(There are more matches: search for something rarer, or name a folder.)"
                    break
                lines.append(shown)
            files += len(lines) > before
            if more:
                break
    except TimeoutError:
        more = SLOW
    if not lines:
        return ToolOutput(more or "No matches.", note="none")
    count = f"{len(lines)}{'+' if more else ''} match{'es' * (len(lines) != 1)}"
    note = f"{count} in {files} file{'s' * (files != 1)}"
    return ToolOutput("\n".join([*lines, *([more] if more else [])]), note=note)


def _matcher(arguments: Mapping[str, Any]) -> Match:
    query = str(arguments["query"])
    if "\n" in query or "\r" in query:
        raise ValueError("it spans lines; search for one line of it")
    fold = bool(arguments.get("ignore_case"))
    if not arguments.get("regex"):
        wanted = query.casefold() if fold else query

        def plain(line: str) -> tuple[int, int] | None:
            at = (line.casefold() if fold else line).find(wanted)
            return None if at < 0 else (at, at + len(wanted))

        return plain
    if math.prod(max(int(count), 1) for count in _COUNT.findall(query)) > MAX_REPEATS:
        raise ValueError(f"its counts multiply to more than {MAX_REPEATS:,}")
    import regex  # slow to import, and seldom needed

    try:
        compiled = regex.compile(query, regex.IGNORECASE if fold else 0)
    except regex.error as error:
        raise ValueError(str(error)) from error
    except (RecursionError, MemoryError, OverflowError) as error:
        raise ValueError("it is too deeply nested or too large") from error

    def expression(line: str) -> tuple[int, int] | None:
        try:
            found = compiled.search(line, timeout=LINE_SECONDS)
        except TimeoutError:
            raise _SlowPatternError from None
        return found.span() if found else None

    return expression


def _around(line: str, start: int, end: int) -> str:
    """The line, or of a long one the part with the match."""
    line = line.strip("\r")
    if len(line) <= LINE:
        return line
    first = max(0, min(start - LINE // 4, len(line) - LINE))
    shown = clip(line[first:], LINE)
    return f"{'…' if first else ''}{shown}{'…' if first + len(shown) < max(end, len(line)) else ''}"
