"""Turns by meaning, where local embeddings are installed: for ranked selection and for recall."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tierline.config import MemoryConfig
from tierline.context.text import clip, sha256
from tierline.embeddings.embedder import Embedder, find_model
from tierline.history.groups import Group, groups
from tierline.history.messages import Message
from tierline.history.parser import text_of
from tierline.history.selection import Rank, search_words

_CHARACTERS = 900
"""Characters of a turn that are embedded: the prompt and the beginning of the reply."""


class SemanticRanking:
    """Ranks turns by embeddings. Without a model it ranks none."""

    def __init__(self, settings: MemoryConfig, cache: Path | None) -> None:
        model = find_model(settings.embedding_model) if settings.embeddings == "auto" else None
        self.embedder = Embedder(model, cache)

    @property
    def available(self) -> bool:
        """Whether there is a model."""
        return self.embedder.available

    def preload(self, messages: Sequence[Message]) -> None:
        """Embed new turns in the background."""
        if self.available:
            self.embedder.preload(
                {sha256(t): t for t in map(group_text, groups(messages)[:-1]) if t}
            )

    def rank(self, query: str, messages: Sequence[Message], *, seconds: float = 0.5) -> list[str]:
        """Ids of turns close in meaning to the query, the closest first. Empty for fillers."""
        if not self.available or not search_words(query):
            return []
        texts: dict[str, str] = {}
        ids: dict[str, str] = {}
        for group in groups(messages)[:-1]:  # the last one is the prompt itself
            if text := group_text(group):
                key = sha256(text)
                texts[key], ids[key] = text, group.id
        return [ids[key] for key in self.embedder.rank(query, texts, seconds=seconds)]

    def over(self, messages: Sequence[Message]) -> Rank | None:
        """The ranking for :func:`tierline.history.selection.select`; None without a model."""
        if not self.available:
            return None
        return lambda query: self.rank(query, messages)

    def close(self) -> None:
        """Stop the worker."""
        self.embedder.close()


def group_text(group: Group) -> str:
    """The text of a turn that is embedded."""
    said = [text_of(m.content) for m in group.messages if m.role in ("user", "assistant")]
    return clip("\n".join(part.strip() for part in said if part.strip()), _CHARACTERS)
