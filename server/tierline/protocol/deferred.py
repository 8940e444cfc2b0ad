"""Classes of the protocol whose methods attrs writes on first use.

LSP has more than 550 value classes and Tierline 170 of its own. attrs generates and compiles the
methods of each when its module is imported, while an editor waits for ``initialize``; a session
uses a quarter of them. :func:`define` defers that: the class gets two stand-ins, one for the
attribute that ``attrs.fields`` reads and one for ``__init__``, and the first use of either
completes it. The result is that of ``attrs.define(slots=False)``: slots would need a new class.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import attrs

_completing = threading.RLock()  # re-entrant: a class may complete others


class _StandIn:
    """Stands for an attribute that attrs will set. Reading it completes the class and
    returns that.
    """

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        self.name = name
        self.options = options

    def __get__(self, instance: object | None, cls: type) -> Any:
        _complete(cls)
        return getattr(cls if instance is None else instance, self.name)


def define(cls: type, **options: Any) -> type:
    """``attrs.define`` on first use, with its options about methods."""
    for name in ("__attrs_attrs__", "__init__"):
        setattr(cls, name, _StandIn(name, options))
    return cls


def deferred(cls: type) -> bool:
    """Whether a class is deferred and not completed yet."""
    return isinstance(vars(cls).get("__attrs_attrs__"), _StandIn)


def is_value(kind: object) -> bool:
    """``attrs.has``, without completing the class."""
    return isinstance(kind, type) and "__attrs_attrs__" in vars(kind)


def load_lsprotocol() -> None:
    """Import ``lsprotocol.types`` with its classes deferred. Does nothing if it is imported
    already.
    """
    if "lsprotocol.types" in sys.modules:
        return
    usual = attrs.define
    attrs.define = define  # type: ignore[assignment]
    try:
        import lsprotocol.types  # noqa: F401
    finally:
        attrs.define = usual
    from lsprotocol import _hooks

    # It would complete all classes to resolve their annotations: ``_complete`` does that for each.
    _hooks._resolved_forward_references = True


def _complete(cls: type) -> None:
    """Complete a class with attrs. The stand-ins stay until attrs replaces them, so that another
    thread waits here instead of using an incomplete class.
    """
    with _completing:
        for base in reversed(cls.__mro__):
            if not deferred(base):
                continue
            options = vars(base)["__attrs_attrs__"].options
            attrs.define(base, slots=False, init=True, **options)
            if base.__module__ == "lsprotocol.types":
                names = sys.modules[base.__module__].ALL_TYPES_MAP
                attrs.resolve_types(base, names, {})
