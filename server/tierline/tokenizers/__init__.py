"""Encoders with the vocabulary that ships in the package; never the network."""

from __future__ import annotations

import hashlib
import importlib
import importlib.resources
import logging
import types
from binascii import a2b_base64
from threading import Lock
from typing import Any

from attrs import frozen

from tierline.context.counting import Encoder
from tierline.context.text import well_formed
from tierline.errors import ENDS

log = logging.getLogger(__name__)


class VocabularyError(Exception):
    """A vocabulary file is absent from the package or does not have the hash that
    tiktoken expects.
    """


def encoder(name: str) -> Encoder | None:
    """The encoder of an encoding whose vocabulary ships with Tierline (``tools/vocabulary.py``).

    The first call for a name reads and checks the vocabulary, which takes about half a second: call
    it in a thread. None if it cannot be used: a warning is logged once, and later calls answer at
    once until ``forget``, so that nothing is retried per keystroke.
    """
    with _lock:
        if name not in _loaded:
            try:
                _loaded[name] = _load(name)
            except ENDS:
                raise
            except BaseException as error:
                # Any failure, a panic in native code too, must not fail the turn: the caller
                # estimates.
                _loaded[name] = None
                log.warning(
                    "Tokens are estimated at 4 characters each, because the vocabulary %s cannot "
                    "be used: %s Reinstall Tierline; in a checkout run tools/vocabulary.py.",
                    name,
                    error,
                )
        return _loaded[name]


def ready(name: str) -> bool:
    """True if ``encoder(name)`` answers at once."""
    return name in _loaded


def forget() -> None:
    """Let the next call for an encoder that failed try again, without a restart."""
    with _lock:
        for name in [name for name, loaded in _loaded.items() if loaded is None]:
            del _loaded[name]


_loaded: dict[str, Encoder | None] = {}
_lock = Lock()


@frozen
class _Tiktoken:
    name: str
    core: Any
    additive: bool

    def __call__(self, text: str) -> int:
        # "ordinary": text that looks like a special token is text.
        return len(self.core.encode_ordinary(well_formed(text)))


class _Release:
    """The number of a special token. tiktoken reads it after all ranks; reading it frees our table
    of ranks, since the encoder has its own copy by then and makes two more.
    """

    def __init__(self, number: int, ranks: dict[bytes, int]) -> None:
        self._number = number
        self._ranks = ranks

    def __index__(self) -> int:
        self._ranks.clear()
        return self._number


_ADDITIVE = frozenset({"cl100k_base", "o200k_base"})


def _load(name: str) -> Encoder:
    public = importlib.import_module("tiktoken_ext.openai_public")
    constructor = public.ENCODING_CONSTRUCTORS[name]
    # tiktoken's constructor knows the pattern, the special tokens and the hash of the vocabulary,
    # but downloads it. A copy of it with our loader gives the same facts and reads our file.
    offline = types.FunctionType(
        constructor.__code__, {**constructor.__globals__, "load_tiktoken_bpe": _ranks}
    )
    facts: dict[str, Any] = offline()
    return _Tiktoken(name, _core(facts), additive=name in _ADDITIVE)


def _core(facts: dict[str, Any]) -> Any:
    """Tiktoken's encoder without its Python object, which would keep a second vocabulary."""
    ranks, special = facts["mergeable_ranks"], facts["special_tokens"]
    token, rank = next(reversed(ranks.items()))
    releasing = {text: _Release(number, ranks) for text, number in special.items()}
    make = importlib.import_module("tiktoken._tiktoken").CoreBPE
    core = make(ranks, releasing, facts["pat_str"])
    try:
        whole = core.decode_single_token_bytes(rank) == token
    except KeyError:
        whole = False
    if not whole:
        raise VocabularyError("tiktoken did not take all of it.")
    return core


def _ranks(url: str, expected_hash: str) -> dict[bytes, int]:
    """Read the file that ships in place of ``url``, in tiktoken's own format: one token per line,
    base64, a space, its rank.
    """
    name = url.rsplit("/", 1)[-1]
    file = importlib.resources.files("tierline").joinpath("data", "vocabulary", name)
    ranks: dict[bytes, int] = {}
    digest = hashlib.sha256()
    try:
        # Line by line: the whole content and a list of its lines would be 15 MB for a moment, and a
        # process rarely gives back what it once had.
        with file.open("rb") as lines:
            for line in lines:
                digest.update(line)
                token, _, rank = line.partition(b" ")
                if rank:
                    ranks[a2b_base64(token)] = int(rank)
    except OSError as error:
        raise VocabularyError(f"{name} is not in the package ({error.strerror}).") from error
    except ValueError as error:
        raise VocabularyError(f"{name} is damaged ({error}).") from error
    if digest.hexdigest() != expected_hash:
        raise VocabularyError(f"{name} does not have the hash that tiktoken expects.")
    return ranks
