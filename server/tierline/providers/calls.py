"""Tool calls from the text of their arguments."""

from __future__ import annotations

import json

from tierline.providers.base import ToolCall


def tool_call(identifier: str, name: str, arguments: str) -> ToolCall:
    """A call from the text of its arguments; ``error`` says why they cannot be used."""
    try:
        value = json.loads(arguments) if arguments.strip() else {}
    except RecursionError:
        return ToolCall(identifier, name, {}, "The arguments are nested too deeply.")
    except ValueError as error:
        return ToolCall(identifier, name, {}, f"The arguments are not JSON ({error}).")
    if not isinstance(value, dict):
        return ToolCall(identifier, name, {}, "The arguments are not a JSON object.")
    return ToolCall(identifier, name, value)
