"""Arguments of a wrong type that have one reading."""

from __future__ import annotations

from typing import Any

import pytest

from tierline.tools.schema import repaired

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "paths": {"type": "array", "items": {"type": "string"}},
        "limit": {"type": "integer"},
        "all": {"type": "boolean"},
        "start": {"type": "integer"},
        "either": {"type": ["integer", "null"]},
        "edits": {
            "type": "array",
            "items": {"type": "object", "properties": {"line": {"type": "integer"}}},
        },
    },
    "required": ["path"],
}


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"paths": '["a","b"]'}, {"paths": ["a", "b"]}),
        ({"paths": "a"}, {"paths": ["a"]}),
        ({"limit": "20"}, {"limit": 20}),
        ({"limit": 20.0}, {"limit": 20}),
        ({"limit": "20.0"}, {"limit": 20}),
        ({"all": "true"}, {"all": True}),
        ({"all": "False"}, {"all": False}),
        ({"path": "a", "start": None}, {"path": "a"}),
        ({"path": "a", "start": "null"}, {"path": "a", "start": "null"}),
        ({"either": None}, {"either": None}),
        ({"edits": '[{"line": "3"}]'}, {"edits": [{"line": 3}]}),
        ({"edits": {"line": "3"}}, {"edits": {"line": "3"}}),
    ],
)
def test_what_has_one_reading_is_converted(given: Any, meant: Any) -> None:
    assert repaired(given, SCHEMA) == meant


@pytest.mark.parametrize(
    "given",
    [
        {"limit": "20 lines"},
        {"limit": "2.5"},
        {"limit": True},
        {"path": '{"a": 1}'},
        {"path": "20"},
        {"path": 7},
        {"path": None},
        {"paths": "[a, b"},
        {"other": "20"},
        {"paths": "[" * 100_000},
    ],
)
def test_what_fits_or_could_mean_several_things_stays(given: Any) -> None:
    assert repaired(given, SCHEMA) == given
