"""The model's tools over the symbol index: requesting bodies, and suggesting pins."""

from __future__ import annotations

from collections.abc import Iterator

from tierline import protocol as p
from tierline.context.prompt import ToolSpec
from tierline.session.retrieval.service import RetrievalService
from tierline.tools.registry import Call, Tool, ToolOutput

CODE = ToolSpec(
    name="request_code_context",
    description=(
        "See the body of a symbol that the module map, a code card or other code names: a "
        "function, a class, a heading. Give the symbol, and its path if you know it. Cheaper than "
        "reading the whole file."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "symbol": {"type": "string", "description": "E.g. `Plan.entry` or `parse_query`."},
            "path": {"type": "string", "description": "E.g. `src/plan.py`."},
            "max_lines": {"type": "integer", "minimum": 1, "maximum": 1000},
        },
    },
)
SUGGEST = ToolSpec(
    name="suggest_pins",
    description=(
        "Suggest that files or symbols which this work keeps coming back to stay in the context. "
        "The user decides; nothing waits for the answer."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "maxItems": 6,
                "description": "Each `path` or `path#symbol`.",
            },
            "why": {"type": "string", "description": "One sentence for the user."},
        },
        "required": ["items"],
    },
)


def code_tools(retrieval: RetrievalService) -> Iterator[Tool]:
    """``request_code_context`` and ``suggest_pins``."""

    async def code(call: Call) -> ToolOutput:
        wanted = call.arguments
        symbol, path = str(wanted.get("symbol", "")), str(wanted.get("path", ""))
        if not symbol and not path:
            return ToolOutput("Name a symbol, a path, or both.", error=True)
        most = int(wanted.get("max_lines", 200))
        found = await retrieval.code(p.CodeParams(symbol, path, most))
        lines = found.end - found.line + 1
        return ToolOutput(found.text, not found.found, note=f"{lines} lines" if found.found else "")

    async def suggest(call: Call) -> ToolOutput:
        items = [str(item) for item in call.arguments.get("items", ())]
        keys = await retrieval.suggest(items, str(call.arguments.get("why", ""))[:300])
        if not keys:
            return ToolOutput("Nothing new to suggest: unknown, pinned or suggested already.")
        return ToolOutput(
            f"Suggested to the user: {', '.join(items)}.", note=f"{len(keys)} suggested"
        )

    yield Tool(CODE, code, title=lambda a: str(a.get("symbol") or a.get("path") or ""))
    yield Tool(SUGGEST, suggest, title=lambda a: ", ".join(a.get("items", ())), parallel=False)
