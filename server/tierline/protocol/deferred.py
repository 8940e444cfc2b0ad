"""Classes of the protocol whose methods attrs writes on first use.

LSP has more than 550 value classes and Tierline 170 of its own. attrs writes and compiles the
methods of each when its module is imported, and an editor waits for ``initialize`` meanwhile; a
session meets a quarter of them. :func:`define` puts that off: the class carries two stand-ins, one
for what ``attrs.fields`` reads and one for ``__init__``, and either completes it. What comes out is
what ``attrs.define(slots=False)`` makes: only an existing class can be completed in its place.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import attrs

_completing = threading.RLock()  # one class may need its neighbours, and threads the same one


class _StandIn:
    """Stands in for what attrs will put there. Whoever reads it, gets that."""

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        self.name = name
        self.options = options

    def __get__(self, instance: object | None, cls: type) -> Any:
        _complete(cls)
        return getattr(cls if instance is None else instance, self.name)


def define(cls: type, **options: Any) -> type:
    """``attrs.define`` on first use; ``options`` are those of it that concern methods."""
    for name in ("__attrs_attrs__", "__init__"):
        setattr(cls, name, _StandIn(name, options))
    return cls


def deferred(cls: type) -> bool:
    """Whether a class is one of these and still waits."""
    return isinstance(vars(cls).get("__attrs_attrs__"), _StandIn)


def is_value(kind: object) -> bool:
    """``attrs.has`` for a class itself, which completes none."""
    return isinstance(kind, type) and "__attrs_attrs__" in vars(kind)


def load_lsprotocol() -> None:
    """Import ``lsprotocol.types`` with its classes deferred. Nothing if it is there already."""
    if "lsprotocol.types" in sys.modules:
        return
    usual = attrs.define
    attrs.define = define  # type: ignore[assignment]
    try:
        import lsprotocol.types  # noqa: F401
    finally:
        attrs.define = usual
    from lsprotocol import _hooks

    # Would complete them all to resolve the names in their annotations: ``_complete`` does that.
    _hooks._resolved_forward_references = True


def _complete(cls: type) -> None:
    """Let attrs do its work. The stand-ins stay until it replaces them, so that another thread
    that comes meanwhile waits here instead of meeting half a class.
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
