"""What the enforcing server knows of every family: what a model says, and what a refusal is."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any, Protocol

from attrs import field, frozen

from wire.agents import Use
from wire.servers import Reply

MAX_MARKS = 4
"""Places in one request that may be marked for the cache, at every service that knows marks."""
SECRET = b"a key that only the enforcing server has"


@frozen
class Answer:
    """What a model says in one reply, in no provider's format."""

    text: str = "Yes."
    thinking: str = "Let me think about that."
    uses: tuple[Use, ...] = ()
    redacted: bool = False
    """The thinking comes as one opaque block."""
    twice: bool = False
    """It thinks once more between its text and its calls."""


class Refused(Exception):  # noqa: N818 - it is not our error, it is the service's answer
    """The service refuses the request, with its own words."""

    def __init__(self, message: str, status: int = 400, *, param: str = "", code: str = "") -> None:
        super().__init__(message)
        self.message, self.status, self.param, self.code = message, status, param, code


@frozen
class Report:
    """What the service found in one request that it took."""

    reasoning: int = 0
    """Blocks of its own reasoning that came back and were valid."""
    foreign: int = 0
    """Blocks that another model made."""
    usage: Mapping[str, float] = field(factory=dict)


class Rules(Protocol):
    """The rules of one family. ``headers`` are lower case, ``now`` seconds since the epoch."""

    def check(self, body: Any, headers: Mapping[str, str]) -> Report:
        """Raises Refused for a body that the service would not take."""
        ...

    def reply(self, body: Any, answer: Answer, number: int, now: float) -> Reply:
        """The answer to a body that was checked, as the service streams it."""
        ...

    def count(self, body: Any, headers: Mapping[str, str]) -> Reply:
        """The input's tokens, where the service counts them."""
        ...

    def refusal(self, refused: Refused) -> Reply:
        """A refusal in the service's shape."""
        ...


def canonical(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def digest(*values: Any) -> str:
    """A hash of JSON values, keyed, so that nobody else can make one."""
    whole = "\n".join(canonical(value) for value in values).encode("utf-8", "surrogatepass")
    return hmac.new(SECRET, whole, hashlib.sha256).hexdigest()


def sealed(**facts: Any) -> str:
    """Facts in an opaque text that only ``opened`` can read and nobody can change."""
    text = canonical({**facts, "mac": digest(facts)})
    return base64.b64encode(text.encode()).decode()


def opened(text: Any) -> dict[str, Any] | None:
    """What was sealed; None for a text that was changed or that this server did not make."""
    try:
        facts = json.loads(base64.b64decode(text, validate=True))
        mac = facts.pop("mac")
    except (ValueError, TypeError, AttributeError, KeyError):
        return None
    return facts if mac == digest(facts) else None
