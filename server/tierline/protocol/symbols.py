"""The symbol index, what retrieval found, and pins."""

from __future__ import annotations

from typing import Literal, TypeAlias

from attrs import field

from tierline.protocol.base import ContextMode, PinKind, define

SymbolsState: TypeAlias = Literal["off", "starting", "indexing", "ready", "failed"]


@define
class SymbolsLanguage:
    """A language of the index."""

    name: str
    files: int
    available: bool = True
    why: str = ""
    """Why its symbols are not read: the grammar is not installed for this platform."""


@define
class SkippedFiles:
    """Files that are not indexed, by reason."""

    reason: str
    files: int


@define
class SymbolsStatus:
    """Where the symbol index stands."""

    state: SymbolsState
    files: int = 0
    symbols: int = 0
    done: int = 0
    total: int = 0
    """Files of the scan that runs, or of the last one."""
    languages: list[SymbolsLanguage] = field(factory=list)
    skipped: list[SkippedFiles] = field(factory=list)
    seconds: float = 0.0
    """What the last whole scan took."""
    cpu_seconds: float = 0.0
    """Processor time that the index's process has used so far."""
    memory_bytes: int = 0
    """The most that the index's process has had resident."""
    why: str = ""
    """Why it is off or has failed, and what to do."""


@define
class ReindexParams:
    """Look at every file again; ``fresh`` also chooses anew what the module map shows."""

    fresh: bool = False


@define
class RetrievalParams:
    """A retrieval set by its id or by the turn that it was made for; the newest when both empty."""

    set_id: str = ""
    turn_id: str = ""


@define
class RetrievalCandidate:
    """A piece of code that was found for a prompt, in the request or not."""

    key: str
    """Key of the item (``card:src/a.py#Plan.entry``)."""
    path: str
    uri: str
    symbol: str
    kind: str
    line: int
    """First line, from 1."""
    end: int
    score: float
    """0 to 1, relative to the best."""
    why: str
    included: bool
    code: str = ""
    """Stable code of why it is out; empty if it is in."""
    reason: str = ""
    tokens: int = 0
    hop: bool = False
    """Reached through the reference graph, not by the prompt's words."""
    activation: float = 0.0
    pin: PinKind = PinKind.NONE


@define
class RetrievalInfo:
    """What was retrieved for one turn, with reasons; the breakdown of the line under a prompt."""

    set_id: str
    turn_id: str
    mode: ContextMode
    query: str = ""
    line: str = ""
    """The budget meter's line under the prompt."""
    cluster: int = 0
    """Number of the query cluster (phase) that the prompt belongs to."""
    task: str = ""
    candidates: list[RetrievalCandidate] = field(factory=list)
    map_tokens: int = 0
    """Tokens of the module map in this request."""
    card_tokens: int = 0
    changes: list[str] = field(factory=list)
    """Promotions and ended leases, in sentences."""
    note: str = ""


@define
class CodeParams:
    """A symbol whose body is wanted: ``symbol`` (``Plan.entry``), ``path`` or both."""

    symbol: str = ""
    path: str = ""
    max_lines: int = 200


@define
class CodeResult:
    """The body, as the model is given it."""

    found: bool
    text: str
    key: str = ""
    path: str = ""
    line: int = 0
    end: int = 0


@define
class PinItemParams:
    """A file by ``path``, or a symbol of it."""

    path: str
    symbol: str = ""


@define
class PinKeyParams:
    """A pin or a suggestion by the key of its item."""

    key: str


@define
class PinInfo:
    """Something that is held in the context, or that the model suggests to pin."""

    key: str
    path: str
    uri: str
    pin: PinKind
    symbol: str = ""
    line: int = 0
    end: int = 0
    tokens: int = 0
    scope: str = ""
    """What a lease is scoped to: ``turn:<n>`` or ``task:<id>``."""
    activation: float = 0.0
    why: str = ""


@define
class PinsResult:
    """What is held, and what is suggested. Suggestions hold nothing until they are accepted."""

    pins: list[PinInfo] = field(factory=list)
    suggested: list[PinInfo] = field(factory=list)
