"""Actions on a store's current session; each returns the groups that it concerned."""

from __future__ import annotations

from typing import Any

from tierline.history import actions
from tierline.store.sessions import HistoryStore


def _groups(store: HistoryStore, action: actions.Action) -> tuple[str, ...]:
    return tuple(store.record(action).data["groups"])


def undo(store: HistoryStore, **values: Any) -> tuple[str, ...]:
    return _groups(store, actions.undo(store.timeline(), **values))


def remove(store: HistoryStore, group_id: str) -> tuple[str, ...]:
    return _groups(store, actions.remove(store.timeline(), group_id))


def drop(store: HistoryStore, group_id: str) -> tuple[str, ...]:
    return _groups(store, actions.drop(store.timeline(), group_id))


def restore(store: HistoryStore, group_id: str = "") -> tuple[str, ...]:
    return _groups(store, actions.restore(store.timeline(), group_id))
