"""Jupyter notebooks as text: cells in order, outputs shortened, pictures as placeholders.

Read with ``json`` alone: of the format (nbformat 4 and its predecessor 3) only cell types, sources
and outputs matter here, and a damaged notebook should still show what it has, which a validating
reader refuses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from tierline.context.text import clip, clip_end, normalise
from tierline.workspace.buffers import NotebookBuffer

MAX_OUTPUT_CHARS = 600
"""Characters of one cell's text outputs; the beginning and the end are kept."""
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_BASE64_RUN = re.compile(r"[A-Za-z0-9+/]{200,}={0,2}")
_DATA_URI = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.-]+)*;base64,[A-Za-z0-9+/=\s]{100,}")


def is_notebook(path: str) -> bool:
    """True for the notebook file name extension."""
    return path.lower().endswith(".ipynb")


def from_json(text: str) -> str | None:
    """A notebook file's text as cells; None if it is not a notebook."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    cells = data.get("cells")
    if cells is None and isinstance(data.get("worksheets"), list):  # nbformat 3
        cells = [c for sheet in data["worksheets"] if isinstance(sheet, dict)
                 for c in sheet.get("cells") or ()]  # fmt: skip
    if not isinstance(cells, list):
        return None
    return _join(_from_json(cell) for cell in cells if isinstance(cell, dict))


def from_buffer(notebook: NotebookBuffer, disk: str = "") -> str:
    """An open notebook: the editor's cell texts, with the outputs that the file on disk has for
    unchanged code cells (editors do not send outputs to language servers).
    """
    outputs: dict[str, list[str]] = {}
    try:
        saved = json.loads(disk).get("cells", []) if disk else []
        for cell in saved:
            if cell.get("outputs"):
                source = normalise(_source(cell)).rstrip("\n")
                outputs.setdefault(source, []).append(_outputs(cell["outputs"]))
    except (ValueError, AttributeError, TypeError, RecursionError):
        outputs = {}
    cells = []
    for cell in notebook.cells:
        text = normalise(cell.text)
        saved_outputs = outputs.get(text.rstrip("\n")) if cell.kind == "code" else None
        cells.append((cell.kind, text, saved_outputs.pop(0) if saved_outputs else ""))
    return _join(cells)


def _from_json(cell: dict[str, Any]) -> tuple[str, str, str]:
    kind = str(cell.get("cell_type") or "code")
    outputs = cell.get("outputs")
    return kind, normalise(_source(cell)), _outputs(outputs) if isinstance(outputs, list) else ""


def _join(cells: Iterable[tuple[str, str, str]]) -> str:
    parts = []
    for number, (kind, source, outputs) in enumerate(cells, 1):
        part = f"# %% [{number}] {kind}\n{_without_pictures(source).rstrip()}\n"
        if outputs:
            part += f"# -> output\n{outputs.rstrip()}\n"
        parts.append(part)
    return "\n".join(parts)


def _source(cell: dict[str, Any]) -> str:
    return _text(cell.get("source", cell.get("input", "")))


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _outputs(outputs: list[Any]) -> str:
    parts = [_output(output) for output in outputs if isinstance(output, dict)]
    return _short("\n".join(part for part in parts if part))


def _output(output: dict[str, Any]) -> str:
    kind = output.get("output_type")
    if kind in ("error", "pyerr"):
        trace = "\n".join(map(str, output.get("traceback") or ()))
        name = f"{output.get('ename', '')}: {output.get('evalue', '')}"
        return _short(_ANSI.sub("", trace) or name)
    data = output.get("data")
    if not isinstance(data, dict):
        return _short(_ANSI.sub("", _text(output.get("text"))))
    lines = [
        f"[{mime}, {_size(value)}]"
        for mime, value in data.items()
        if not mime.startswith("text/") and mime != "application/json"
    ]
    for mime in ("text/plain", "text/markdown", "text/latex", "text/html"):
        if mime in data:
            lines.append(_short(_ANSI.sub("", _text(data[mime]))))
            break
    return "\n".join(lines)


def _size(value: Any) -> str:
    text = _text(value)
    count = len(text) * 3 // 4 if text else len(json.dumps(value))
    return f"{count / 1000:.0f} kB" if count >= 1000 else f"{count} bytes"


def _short(text: str) -> str:
    text = _without_pictures(normalise(text)).rstrip("\n")
    if len(text) <= MAX_OUTPUT_CHARS:
        return text
    head = clip(text, MAX_OUTPUT_CHARS * 2 // 3)
    tail = clip_end(text, MAX_OUTPUT_CHARS // 3)
    return f"{head}\n[{len(text) - len(head) - len(tail):,} characters left out]\n{tail}"


def _without_pictures(text: str) -> str:
    text = _DATA_URI.sub(lambda m: f"[{m[1] or 'data'}, {_size(m[0])}]", text)
    return _BASE64_RUN.sub(lambda m: f"[base64, {_size(m[0])}]", text)
