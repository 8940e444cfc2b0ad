"""Full-text search over one conversation's groups, for the ``ranked`` strategy.

An FTS5 table of groups, ranked by BM25. The table lives in memory and
holds one session only, so that a word's rarity is that within the conversation; groups are added
one by one.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from tierline.context.text import well_formed
from tierline.disk import sqlite
from tierline.history.groups import Group, content_hash, groups
from tierline.history.messages import Message
from tierline.history.parser import full_text
from tierline.history.selection import Search
from tierline.store.words import index_text, match_any

SHARE_OF_BEST = 0.4
"""Groups that score less than this share of the best one are left out: they share only common words
with the prompt, and recency would push them up.
"""
MAX_QUERY_LENGTH = 64
"""Words of a prompt that are searched for; more slow the ranking down and change little."""


class GroupSearch:
    """Ranks groups by BM25. One instance per session; thread-safe."""

    def __init__(self, share_of_best: float = SHARE_OF_BEST) -> None:
        self.share_of_best = share_of_best
        self._db = sqlite.in_memory(threads=True)
        self._db.execute(
            "CREATE VIRTUAL TABLE group_search USING fts5 (group_id UNINDEXED, content,"
            " tokenize='porter unicode61 remove_diacritics 2')"
        )
        self._known: dict[str, str] = {}
        self._lock = threading.Lock()

    def over(self, messages: Sequence[Message]) -> Search:
        """The search function for :func:`tierline.history.selection.select`."""
        turns = groups(messages)
        return lambda words: self.rank(turns, words)

    def rank(self, turns: Sequence[Group], words: Sequence[str]) -> list[str]:
        """Ids of the groups that contain any of the words, best first."""
        expression = match_any([well_formed(w) for w in words][:MAX_QUERY_LENGTH])
        if not expression:
            return []
        with self._lock:
            self._update(turns)
            rows = self._db.execute(
                "SELECT group_id, bm25(group_search) FROM group_search WHERE group_search MATCH ?"
                " ORDER BY 2, rowid DESC",
                (expression,),
            ).fetchall()
        if not rows:
            return []
        least = rows[0][1] * self.share_of_best
        return [group for group, score in rows if score <= least]

    def close(self) -> None:
        """Free the table."""
        self._db.close()

    def _update(self, turns: Sequence[Group]) -> None:
        wanted = {well_formed(t.id): (content_hash(t.messages), t) for t in turns}
        for group in [g for g, h in self._known.items() if g not in wanted or wanted[g][0] != h]:
            self._db.execute("DELETE FROM group_search WHERE group_id = ?", (group,))
            del self._known[group]
        for group, (digest, turn) in wanted.items():
            if group not in self._known:
                text = "\n".join(well_formed(full_text(m.content)) for m in turn.messages)
                row = (group, index_text(text))
                self._db.execute("INSERT INTO group_search (group_id, content) VALUES (?, ?)", row)
                self._known[group] = digest
