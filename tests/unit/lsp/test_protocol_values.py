"""Values of the protocol that are made of the domain's own."""

from __future__ import annotations

import pytest
from attrs import frozen

from tierline import protocol as p


@frozen
class Note:
    id: str
    tags: tuple[str, ...]
    content: str = "Inner"


@frozen
class Place:
    scope: str
    content: str = "Outer"


def test_fields_are_given_or_those_of_the_first_source_that_has_them() -> None:
    made = p.of(p.MemoInfo, Note("a", ("x", "y")), Place("user"), source="model")
    assert made == p.MemoInfo("a", "user", "Inner", ["x", "y"], source="model")


def test_a_field_that_nobody_has_is_an_error_unless_it_has_a_default() -> None:
    with pytest.raises(TypeError):
        p.of(p.MemoInfo, Note("a", ()))
