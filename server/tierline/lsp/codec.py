"""JSON in and out for the custom methods: camelCase on the wire, snake_case in Python."""

from __future__ import annotations

import inspect
import re
from functools import lru_cache
from typing import Any

import attrs
from cattrs import Converter
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override
from pygls.protocol import default_converter

from tierline import protocol
from tierline.context.text import well_formed
from tierline.lsp.translation import TRANSLATED_FIELDS, ClientLanguage
from tierline.protocol import camel
from tierline.protocol.deferred import is_value

_OURS = {value for value in vars(protocol).values() if is_value(value)}


def make_converter(language: ClientLanguage | None = None) -> Converter:
    """The converter of pygls, which also knows our types; hooks are made on first use of a type.
    Sentences to the user are translated by ``language``.
    """
    converter: Converter = default_converter()  # type: ignore[no-untyped-call]
    converter.register_structure_hook_factory(_OURS.__contains__, _structure_factory(converter))
    converter.register_unstructure_hook_factory(
        _OURS.__contains__, _unstructure_factory(converter, language)
    )
    return converter


def _structure_factory(converter: Converter) -> Any:
    def factory(cls: type) -> Any:
        names = {f.name: override(rename=camel(f.name)) for f in attrs.fields(cls)}
        structure = make_dict_structure_fn(cls, converter, **names)  # type: ignore[arg-type, var-annotated]

        def hook(value: Any, target: Any) -> Any:
            if value is None:
                value = {}
            if not isinstance(value, dict):
                raise TypeError(f"{cls.__name__} must be an object, not {type(value).__name__}")
            _check_scalars(cls, value)
            return structure(value, target)

        return hook

    return factory


def _unstructure_factory(converter: Converter, language: ClientLanguage | None) -> Any:
    def factory(cls: type) -> Any:
        names = {f.name: override(rename=camel(f.name)) for f in attrs.fields(cls)}
        unstructure: Any = make_dict_unstructure_fn(cls, converter, **names)  # type: ignore[arg-type]
        if language is None or cls not in TRANSLATED_FIELDS:
            return unstructure
        return lambda value: language.value(value, unstructure(value))

    return factory


@lru_cache
def _scalars(cls: type) -> dict[str, type | tuple[type, ...]]:
    """Wire name -> the JSON types that a scalar field takes. cattrs would coerce 5 to "5"."""
    kinds: dict[type, type | tuple[type, ...]] = {
        str: str,
        bool: bool,
        int: int,
        float: (int, float),
    }
    hints = inspect.get_annotations(cls, eval_str=True)
    return {camel(name): kinds[hint] for name, hint in hints.items() if hint in kinds}


def _check_scalars(cls: type, value: dict[str, Any]) -> None:
    for name, kind in _scalars(cls).items():
        if name not in value:
            continue
        given = value[name]
        if not isinstance(given, kind) or (kind is not bool and isinstance(given, bool)):
            wanted = kind.__name__ if isinstance(kind, type) else "number"
            raise TypeError(f"{cls.__name__}.{name} must be {wanted}, not {type(given).__name__}")


LARGEST = 2**53 - 1
"""The largest integer that every JSON reader keeps exactly (RFC 8259, section 6)."""
_DEEPEST = 100
_NOT_BYTES = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Lone surrogates, except those that stand for the bytes of a file name that is not UTF-8."""


class InvalidParamsError(ValueError):
    """A value that cannot be used. The message is a sentence without its full stop."""


def sanitize(value: Any, depth: int = 0) -> Any:
    """The value with lone halves of surrogate pairs replaced by U+FFFD.

    Raises:
        UnusableError: a number is too large, or values are nested too deeply.
    """
    if isinstance(value, str):
        return value if value.isascii() or not _NOT_BYTES.search(value) else well_formed(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int) and abs(value) > LARGEST:
        raise InvalidParamsError("a number is too large")
    if isinstance(value, list | dict):
        if depth > _DEEPEST:
            raise InvalidParamsError("values are nested too deeply")
        if isinstance(value, list):
            return [sanitize(one, depth + 1) for one in value]
        return {sanitize(key): sanitize(one, depth + 1) for key, one in value.items()}
    return value
