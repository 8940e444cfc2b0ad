"""What all protocol modules share: ``define``, wire names, the closed sets of values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs

from tierline.protocol import deferred

if TYPE_CHECKING:
    from attrs import define as define  # noqa: PLC0414  (exported)
else:

    def define(cls: type) -> type:
        """``attrs.define`` on first use, with one ``repr`` for all: both because ``initialize``
        has to be answered soon.
        """
        cls.__repr__ = _shown
        return deferred.define(cls, repr=False)


PinKind: TypeAlias = Literal["sticky", "leased", "ephemeral", "none"]
ContextMode: TypeAlias = Literal["off", "light", "heavy"]
FileState: TypeAlias = Literal["ok", "missing", "refused", "shed"]
Accuracy: TypeAlias = Literal["exact", "calibrated", "estimated"]
MessageStatus: TypeAlias = Literal["ok", "tool_call", "dropped", "interrupted", "error"]
TurnOutcome: TypeAlias = Literal["ok", "interrupted", "error"]
CacheOutcome: TypeAlias = Literal["hit", "partial", "miss", "first", "unknown", "uncached"]
EditState: TypeAlias = Literal[
    "open", "applied", "partly", "rejected", "failed", "undone", "expired"
]
NoticeLevel: TypeAlias = Literal["info", "warning", "error"]
CallStatus: TypeAlias = Literal["waiting", "running", "asking", "ok", "error", "interrupted"]


def _shown(value: Any) -> str:
    fields = (f"{a.name}={getattr(value, a.name)!r}" for a in attrs.fields(type(value)))
    return f"{type(value).__name__}({', '.join(fields)})"


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
