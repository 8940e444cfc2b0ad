"""Fields that a model calls by another name."""

from __future__ import annotations

from typing import Any

import pytest

from tierline.history.scratchpad import TOOL, manage
from tierline.tools.reading import READ_FILE
from tierline.tools.schema import misnamed

READ = {
    "type": "object",
    "properties": {
        "path": {"type": "string"}, "start": {"type": "integer"}, "limit": {"type": "integer"},
    },
    "required": ["path"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ({"file": "a.py"}, "path"),
        ({"file_path": "a.py"}, "path"),
        ({"paht": "a.py"}, "path"),
        ({"paths": "a.py"}, "path"),
        ({"path": "a.py", "offset": 3}, "start"),
        ({"path": "a.py", "max_results": 3}, "limit"),
    ],
)
def test_a_field_by_another_name_is_told_its_own(arguments: dict[str, Any], meant: str) -> None:
    (sentence,) = misnamed(arguments, READ)
    assert f"the field is {meant}" in sentence


@pytest.mark.parametrize(
    "arguments", [{}, {"path": "a.py"}, {"path": "a.py", "why": "to look"}, {"path": 1, "x": None}]
)
def test_what_means_no_field_is_no_problem(arguments: dict[str, Any]) -> None:
    assert misnamed(arguments, READ) == []


@pytest.mark.parametrize("field", ["text", "body", "value", "note"])
@pytest.mark.parametrize("action", ["append", "update"])
def test_the_scratchpad_says_which_field_holds_the_text(field: str, action: str) -> None:
    arguments = {"action": action, field: "x"}
    assert "content" in misnamed(arguments, TOOL.input_schema)[0]
    outcome = manage("kept", arguments)
    assert outcome.error and outcome.text == "kept"
    assert "`content`" in outcome.answer and f"`{field}`" in outcome.answer
    assert "Saved" not in outcome.answer


@pytest.mark.parametrize(
    "arguments",
    [{"action": "append", "content": ""}, {"action": "append", "content": " "},
     {"action": "update", "content": "kept"}, {"action": "append"}, {"action": "update"}],
)  # fmt: skip
def test_nothing_is_called_saved_that_was_not(arguments: dict[str, Any]) -> None:
    outcome = manage("kept", arguments)
    assert not outcome.changed and "Saved" not in outcome.answer and outcome.text == "kept"


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ({"file": "a.py"}, "path"),
        ({"path": "a.py", "offset": 3}, "start_line"),
        ({"path": "a.py", "start": 3, "end": 9}, "start_line"),
    ],
)
def test_read_file_says_the_right_field(arguments: dict[str, Any], meant: str) -> None:
    assert f"the field is {meant}" in misnamed(arguments, READ_FILE.input_schema)[0]
