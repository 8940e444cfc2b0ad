"""Token counting: strings, blocks, messages and lists of them.

Pure: the encoder is passed in, with its vocabulary loaded (``tierline.tokenizers``).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeAlias

from attrs import define, field, frozen

from tierline.context.accuracy import Accuracy
from tierline.context.blocks import Image, Reasoning, Text, ToolResult, ToolUse
from tierline.context.calibration import Calibration
from tierline.context.chunks import MAX_CHUNK, chunks
from tierline.context.images import image_tokens
from tierline.context.models import ModelFacts
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage, ToolSpec
from tierline.context.text import well_formed
from tierline.errors import ENDS

CHARS_PER_TOKEN = 4
"""The estimate without an encoder. Characters beyond ASCII count by their bytes in UTF-8: a
Chinese character is about one token, not a quarter."""
FALLBACK_MARGIN = 0.35
"""Error allowed for when tokens are estimated by length alone."""

MESSAGE_OVERHEAD = 4
"""Tokens for a message's role and frame (OpenAI's cookbook gives 3 to 4)."""
CALL_OVERHEAD = 12
"""Tokens for the frame of a tool call or result and the id that pairs them."""
TOOL_OVERHEAD = 8
"""Tokens for the frame of one tool's definition."""
REQUEST_OVERHEAD = 3
"""Tokens that prime the reply, once per request."""


class Encoder(Protocol):
    """Counts the tokens of a text. If it raises, the text's length is used instead."""

    @property
    def name(self) -> str:
        """Name of the encoding."""
        ...

    @property
    def additive(self) -> bool:
        """True if counts add up at the places that ``chunks`` cuts at."""
        ...

    def __call__(self, text: str) -> int:
        """Number of tokens."""
        ...


_MAX_RUN_LENGTH = 131_072

Countable: TypeAlias = Any
"""``str``, a block, ``PromptBlock``, ``PromptMessage``, ``ToolSpec``, ``Prompt``, any object with
``role`` and ``content``, such a message as a mapping, None, or an iterable of these."""


@define
class CountCache:
    """Counts by content. One cache may serve several counters; keys carry the encoding.

    Two layers: recent strings themselves (at most ``max_characters`` in all; an unchanged string is
    found without hashing it again) and digests of chunks (at most ``max_entries``, each about 150
    bytes of memory).
    """

    max_entries: int = 32_768
    max_characters: int = 4_000_000
    _digests: OrderedDict[tuple[str, bytes], int] = field(factory=OrderedDict, init=False)
    _recent: OrderedDict[tuple[str, str], int] = field(factory=OrderedDict, init=False)
    _characters: int = field(default=0, init=False)

    def recent(self, encoding: str, text: str) -> int | None:
        """The cached count of a string, if there is one."""
        key = (encoding, text)
        found = self._recent.get(key)
        if found is not None:
            self._recent.move_to_end(key)
        return found

    def keep(self, encoding: str, text: str, tokens: int) -> None:
        """Cache a string's count; the least recently used make room."""
        if len(text) > self.max_characters // 2 or (encoding, text) in self._recent:
            return
        self._recent[encoding, text] = tokens
        self._characters += len(text)
        while self._characters > self.max_characters or len(self._recent) > self.max_entries:
            (_, dropped), _ = self._recent.popitem(last=False)
            self._characters -= len(dropped)

    def digest(self, key: tuple[str, bytes]) -> int | None:
        """The cached count of a digest, if there is one."""
        found = self._digests.get(key)
        if found is not None:
            self._digests.move_to_end(key)
        return found

    def keep_digest(self, key: tuple[str, bytes], tokens: int) -> None:
        """Cache the count of a digest."""
        self._digests[key] = tokens
        if len(self._digests) > self.max_entries:
            self._digests.popitem(last=False)


@frozen
class Measure:
    """A size before calibration: tokens of text, which a ratio applies to, and fixed tokens."""

    text: int = 0
    fixed: int = 0


_Size: TypeAlias = tuple[int, int]


class TokenCounter:
    """Counts for one model.

    Counts are whole tokens without any safety margin; ``margin`` is what enforcement adds.
    """

    def __init__(
        self,
        model: ModelFacts,
        encoder: Encoder | None,
        *,
        cache: CountCache | None = None,
        calibration: Calibration | None = None,
        warn: Callable[[str], None] | None = None,
    ) -> None:
        self.model = model
        self.calibration = calibration or Calibration()
        self._encoder = encoder
        self._cache = cache if cache is not None else CountCache()
        self._warn = warn
        self._failed = False

    # --- accuracy ----------------------------------------------------------------------------

    @property
    def accuracy(self) -> Accuracy:
        """Whether counts are exact, calibrated or estimated."""
        if self._native:
            return Accuracy.EXACT
        return Accuracy.CALIBRATED if self.calibration.calibrated else Accuracy.ESTIMATED

    @property
    def margin(self) -> float:
        """Error to allow for as a fraction of the count (0.1 = 10 %); 0 for exact counts."""
        if self._native:
            return 0.0
        if self.calibration.calibrated:
            return self.calibration.margin
        return self.model.margin if self._usable else max(self.model.margin, FALLBACK_MARGIN)

    @property
    def learns(self) -> bool:
        """False if the model's own vocabulary is used: its counts need no calibration."""
        return not self._native

    @property
    def ratio(self) -> float:
        """The factor on raw counts of text."""
        if self._native:
            return 1.0
        return self.calibration.ratio if self.calibration.calibrated else self.model.ratio

    def learn(self, prompt: Countable, reported_input_tokens: int | None) -> bool:
        """Calibrate by a request's own usage report. Returns True if anything changed.

        Exact counters and requests without a report change nothing.
        """
        if self._native or not reported_input_tokens:
            return False
        size = self.measure(prompt)
        before = self.calibration
        self.calibration = before.observe(size.text, reported_input_tokens - size.fixed)
        return self.calibration != before

    def observe(self, estimated: int, reported: int) -> bool:
        """Calibrate by an estimate of this counter and the provider's figure for the same request.

        Less precise than ``learn``, because pictures and frames are scaled as well.
        """
        if self._native or reported <= 0:
            return False
        before = self.calibration
        self.calibration = before.observe(estimated / self.ratio, reported)
        return self.calibration != before

    @property
    def _usable(self) -> bool:
        return self._encoder is not None and not self._failed

    @property
    def _native(self) -> bool:
        return (
            self._usable
            and self.model.native_encoding
            and self._encoder is not None
            and self._encoder.name == self.model.encoding
        )

    # --- counting --------------------------------------------------------------------------------

    def count(self, value: Countable, *, digest: str = "") -> int:
        """Tokens of anything that can be part of a request. Never raises on content.

        ``digest`` is a hash of a text that the caller already has; the text is then looked up by it
        and not hashed again.
        """
        if digest and isinstance(value, str):
            text, fixed = self._text(value, digest), 0
        else:
            text, fixed = self._size(value)
        ratio = self.ratio
        return fixed + (text if ratio == 1.0 else math.ceil(text * ratio))

    def measure(self, value: Countable) -> Measure:
        """The size of a value before the ratio is applied."""
        return Measure(*self._size(value))

    def _size(self, value: Countable) -> _Size:
        """Tokens of text and fixed tokens. Thousands of values are sized for every request."""
        sizer = _SIZERS.get(type(value))
        return sizer(self, value) if sizer is not None else self._other(value)

    def _all(self, values: Iterable[Countable], fixed: int = 0) -> _Size:
        text = 0
        for value in values:
            size = self._size(value)
            text += size[0]
            fixed += size[1]
        return text, fixed

    def _message(self, message: PromptMessage) -> _Size:
        """Plain messages are counted once: a conversation sends the same objects every time."""
        if not (message.plain and self._usable):
            return self._all(message.blocks, MESSAGE_OVERHEAD)
        assert self._encoder is not None
        size: _Size | None = message.memo.get(self._encoder.name)
        if size is None:
            size = self._all(message.blocks, MESSAGE_OVERHEAD)
            if self._usable:
                message.memo[self._encoder.name] = size
        return size

    def _call(self, use: ToolUse) -> _Size:
        return self._text(use.name) + self._json(use.input), CALL_OVERHEAD

    def _tool(self, tool: ToolSpec) -> _Size:
        text = self._text(tool.name) + self._text(tool.description)
        return text + self._json(tool.input_schema), TOOL_OVERHEAD

    def _prompt(self, prompt: Prompt) -> _Size:
        fixed = REQUEST_OVERHEAD + (self.model.tools_overhead_tokens if prompt.tools else 0)
        return self._all((*prompt.tools, *prompt.system, *prompt.messages), fixed)

    def _other(self, value: Countable) -> _Size:
        """Values of other types: subclasses, mappings, messages of other layers, iterables."""
        for kind, sizer in _SIZERS.items():
            if isinstance(value, kind):
                return sizer(self, value)
        if isinstance(value, Mapping) and "role" in value:
            return self._all((value.get("content"),), MESSAGE_OVERHEAD)
        if isinstance(value, Mapping):
            text = value.get("text")
            return self._text(text) if isinstance(text, str) else self._json(value), 0
        if hasattr(value, "role") and hasattr(value, "content"):
            return self._all((value.content,), MESSAGE_OVERHEAD)
        if isinstance(value, Iterable):
            return self._all(value)
        return self._text(str(value)), 0

    def _json(self, value: Any) -> int:
        if value in ({}, None):
            return 1
        return self._text(json.dumps(value, ensure_ascii=False, default=str))

    # --- text ------------------------------------------------------------------------------------

    def _text(self, text: str, digest: str = "") -> int:
        if not text:
            return 0
        if not self._usable:
            return by_length(text)
        assert self._encoder is not None
        name = self._encoder.name
        key = (name, digest.encode()) if digest else None
        found = self._cache.digest(key) if key else self._cache.recent(name, text)
        if found is not None:
            return found
        tokens = self._encode(self._encoder, text)
        if tokens is None:
            return by_length(text)
        if key:
            self._cache.keep_digest(key, tokens)
        else:
            self._cache.keep(name, text, tokens)
        return tokens

    def _encode(self, encoder: Encoder, text: str) -> int | None:
        try:
            sound = well_formed(text)
            if len(sound) <= MAX_CHUNK or not encoder.additive:
                return self._chunk(encoder, sound)
            return sum(self._chunk(encoder, part) for part in _bounded(chunks(sound)))
        except ENDS:
            raise
        except BaseException as error:
            # Whatever the encoder raises, the turn continues with an estimate. A panic in native
            # code is a ``BaseException``.
            if not self._failed and self._warn is not None:
                self._warn(
                    f"Tokens are estimated at {CHARS_PER_TOKEN} characters each: the encoding "
                    f"{encoder.name} failed ({type(error).__name__}: {error})."
                )
            self._failed = True
            return None

    def _chunk(self, encoder: Encoder, part: str) -> int:
        key = (encoder.name, hashlib.blake2b(part.encode(), digest_size=16).digest())
        found = self._cache.digest(key)
        if found is None:
            found = encoder(part)
            self._cache.keep_digest(key, found)
        return found


def _bounded(parts: Iterable[str]) -> Iterator[str]:
    """The parts, cut so that the encoder can process them: it panics on a run of about 700,000
    spaces, and its time grows with the square of a run's length. A cut changes the count by a token
    or two.
    """
    for part in parts:
        yield from (part[at : at + _MAX_RUN_LENGTH] for at in range(0, len(part), _MAX_RUN_LENGTH))


_SIZERS: dict[type, Callable[[TokenCounter, Any], _Size]] = {
    str: lambda counter, text: (counter._text(text), 0),
    type(None): lambda _counter, _none: (0, 0),
    Text: lambda counter, block: (counter._text(block.text), 0),
    Image: lambda counter, image: (0, image_tokens(image, counter.model.image_rule)),
    ToolUse: TokenCounter._call,
    ToolResult: lambda counter, result: counter._all(result.content, CALL_OVERHEAD),
    Reasoning: lambda counter, block: (counter._json(block.data), 0),
    PromptBlock: lambda counter, entry: counter._size(entry.block),
    PromptMessage: TokenCounter._message,
    ToolSpec: TokenCounter._tool,
    Prompt: TokenCounter._prompt,
}


def by_length(text: str) -> int:
    """The estimate without an encoder: 4 characters per token, rounded up."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return -(-size // CHARS_PER_TOKEN)
