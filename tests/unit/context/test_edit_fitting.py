"""Where code of a reply belongs in a file."""

from __future__ import annotations

import pytest

from tierline.context.edits.blocks import EditMismatch, propose
from tierline.context.edits.fitting import NOWHERE, fit

FILE = '''import os

LIMIT = 3


@cached
def area(r):
    """Of a circle."""
    return 3 * r * r


class Shape:
    def name(self):
        return "shape"

    def size(self):
        return 1


def last():
    return 0
'''


def after(text: str, code: str) -> str:
    blocks = fit(text, code)
    assert not isinstance(blocks, str), blocks
    made = propose(text, blocks)
    assert not isinstance(made, EditMismatch), made
    return made.after


def test_a_function_of_the_same_name_is_replaced_also_with_another_signature() -> None:
    made = after(FILE, "def area(r, pi=3.14):\n    return pi * r * r")
    assert made == FILE.replace(
        'def area(r):\n    """Of a circle."""\n    return 3 * r * r',
        "def area(r, pi=3.14):\n    return pi * r * r",
    )
    assert made.count("@cached") == 1, "its decorator stays"


def test_a_method_is_found_without_its_class_and_indented_as_it_was() -> None:
    made = after(FILE, 'def size(self):\n    return len("two")\n')
    assert '    def size(self):\n        return len("two")\n\n\ndef last' in made


def test_what_has_no_counterpart_is_put_behind_what_has_one() -> None:
    made = after(FILE, "def last():\n    return 1\n\ndef beyond():\n    return 2\n")
    assert made.endswith("def last():\n    return 1\n\ndef beyond():\n    return 2\n")
    assert made.startswith(FILE.partition("def last")[0])


def test_braces_end_a_definition_where_they_are_closed() -> None:
    text = "function a() {\n  return 1;\n}\n\nfunction b() {\n  return 2;\n}\n"
    made = after(text, "export async function a(x: number) {\n  return x;\n}\n")
    assert made == (
        "export async function a(x: number) {\n  return x;\n}\n\nfunction b() {\n  return 2;\n}\n"
    )


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("print(1)\n", NOWHERE),
        ("def other():\n    pass\n", NOWHERE),
        ("", NOWHERE),
        ("def last():\n    return 0\n", "the file says the same already."),
    ],
)
def test_nothing_is_guessed(code: str, why: str) -> None:
    assert fit(FILE, code) == why


def test_a_name_that_is_there_twice_is_not_chosen_from() -> None:
    text = "class A:\n    def f(self):\n        pass\n\nclass B:\n    def f(self):\n        pass\n"
    assert fit(text, "def f(self):\n    return 1\n") == "several things are called f in the file."
