"""What all protocol modules share: ``define``, wire names, the closed sets of values."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import attrs

from tierline.context import accuracy as _accuracy
from tierline.context import fileentry as _fileentry
from tierline.context import items as _items
from tierline.context import mode as _mode
from tierline.context.tiers import outcome as _outcome
from tierline.history import messages as _messages
from tierline.protocol import deferred

if TYPE_CHECKING:
    from attrs import define as define  # noqa: PLC0414  (exported)
else:

    def define(cls: type) -> type:
        """``attrs.define`` on first use, with one ``repr`` for all classes: both speed up the
        answer to ``initialize``.
        """
        cls.__repr__ = _shown
        return deferred.define(cls, repr=False)


# Closed sets of the domain are its own enumerations; on the wire they are their values.
E = TypeVar("E", bound=StrEnum)
D = TypeVar("D")
C = TypeVar("C", bound=attrs.AttrsInstance)

PinKind: TypeAlias = _items.Pin
ContextMode: TypeAlias = _mode.ContextMode
FileState: TypeAlias = _fileentry.FileState
Accuracy: TypeAlias = _accuracy.Accuracy
MessageStatus: TypeAlias = _messages.Status
CacheOutcome: TypeAlias = _outcome.Outcome
TurnOutcome: TypeAlias = Literal["ok", "interrupted", "error"]
EditState: TypeAlias = Literal[
    "open", "applied", "partly", "rejected", "failed", "undone", "expired"
]
NoticeLevel: TypeAlias = Literal["info", "warning", "error"]
CallStatus: TypeAlias = Literal["waiting", "running", "asking", "ok", "error", "interrupted"]


def _shown(value: Any) -> str:
    fields = (f"{a.name}={getattr(value, a.name)!r}" for a in attrs.fields(type(value)))
    return f"{type(value).__name__}({', '.join(fields)})"


def known(kind: type[E], value: str, default: D) -> E | D:
    """A value as it was stored; the default for one that another version has written."""
    try:
        return kind(value)
    except ValueError:
        return default


def of(kind: type[C], *sources: object, **given: Any) -> C:
    """A value of a class from other objects: each field that is not ``given`` is that of the first
    source with an attribute of its name. Tuples become lists.
    """
    for name in {field.name for field in attrs.fields(kind)} - given.keys():
        for source in sources:
            # One look: a property may be computed.
            value = getattr(source, name, attrs.NOTHING)
            if value is not attrs.NOTHING:
                given[name] = list(value) if isinstance(value, tuple) else value
                break
    return kind(**given)


def camel(name: str) -> str:
    """``max_input_tokens`` on the wire is ``maxInputTokens``."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


# --- shared values -------------------------------------------------------------------------------


@define
class NoParams:
    """A request without parameters."""


@define
class Ok:
    """Done; nothing to report."""

    ok: bool = True
