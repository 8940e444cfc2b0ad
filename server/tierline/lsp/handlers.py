"""Which session method answers which request. One line per method of ``protocol.py``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from tierline.session.session import Session

Handler: TypeAlias = "Callable[[Session, Any], Awaitable[Any]]"

HANDLERS: dict[str, Handler] = {
    "tierline/chat/send": lambda session, params: session.turns.send(params),
    "tierline/chat/cancel": lambda session, params: session.turns.cancel(params),
    "tierline/chat/retry": lambda session, params: session.turns.retry(params),
    "tierline/files/add": lambda session, params: session.files.add(params),
    "tierline/files/remove": lambda session, params: session.files.remove(params),
    "tierline/files/list": lambda session, params: session.files.listed(params),
    "tierline/files/clear": lambda session, params: session.files.clear(params),
    "tierline/files/pin": lambda session, params: session.files.pin(params),
    "tierline/files/unpin": lambda session, params: session.files.unpin(params),
    "tierline/budget/get": lambda session, params: session.budget(params),
    "tierline/state/get": lambda session, params: session.state(params),
    "tierline/mode/set": lambda session, params: session.set_mode(params),
    "tierline/provider/list": lambda session, params: session.models.listed(params),
    "tierline/provider/select": lambda session, params: session.models.select(params),
    "tierline/provider/setKey": lambda session, params: session.models.set_key(params),
    "tierline/plan/get": lambda session, params: session.plans.get(params),
    "tierline/plan/list": lambda session, params: session.plans.listed(params),
    "tierline/plan/explain": lambda session, params: session.plans.explain(params),
    "tierline/plan/diff": lambda session, params: session.plans.diff(params),
    "tierline/plan/show": lambda session, params: session.plans.show(params),
    "tierline/history/newSession": lambda session, params: session.history.new(params),
    "tierline/history/listSessions": lambda session, params: session.history.sessions(params),
    "tierline/history/loadSession": lambda session, params: session.history.load(params),
    "tierline/history/getSession": lambda session, params: session.history.read(params),
    "tierline/history/deleteSession": lambda session, params: session.history.delete(params),
    "tierline/history/renameSession": lambda session, params: session.history.rename(params),
    "tierline/history/search": lambda session, params: session.history.search(params),
    "tierline/history/status": lambda session, params: session.history.status(params),
    "tierline/history/list": lambda session, params: session.history.turns(params),
    "tierline/history/undo": lambda session, params: session.history.undo(params),
    "tierline/history/remove": lambda session, params: session.history.remove(params),
    "tierline/history/drop": lambda session, params: session.history.drop(params),
    "tierline/history/restore": lambda session, params: session.history.restore(params),
    "tierline/history/window": lambda session, params: session.history.window(params),
    "tierline/history/strategy": lambda session, params: session.history.strategy(params),
    "tierline/history/show": lambda session, params: session.history.show(params),
    "tierline/history/query": lambda session, params: session.history.query(params),
    "tierline/branch/compare": lambda session, params: session.history.compare(params),
    "tierline/chat/command": lambda session, params: session.command(params),
    "tierline/chat/commands": lambda session, params: session.commands(params),
    "tierline/history/anchor": lambda session, params: session.anchor.get(params),
    "tierline/history/rebuild": lambda session, params: session.anchor.rebuild(params),
    "tierline/scratchpad/get": lambda session, params: session.scratchpad.get(params),
    "tierline/scratchpad/set": lambda session, params: session.scratchpad.set(params),
    "tierline/scratchpad/append": lambda session, params: session.scratchpad.append(params),
    "tierline/branch/fork": lambda session, params: session.history.fork(params),
    "tierline/branch/switch": lambda session, params: session.history.switch(params),
    "tierline/branch/list": lambda session, params: session.history.branches(params),
    "tierline/cache/explain": lambda session, params: session.cache.explain(params),
    "tierline/cache/tiers": lambda session, params: session.cache.tiers(params),
    "tierline/stats/get": lambda session, params: session.cache.stats(params),
    "tierline/memory/stats": lambda session, params: session.memory.stats(params),
    "tierline/memory/compress": lambda session, params: session.memory.compress(params),
    "tierline/memo/list": lambda session, params: session.memos.listed(params),
    "tierline/memo/save": lambda session, params: session.memos.save(params),
    "tierline/memo/edit": lambda session, params: session.memos.edit(params),
    "tierline/memo/delete": lambda session, params: session.memos.delete(params),
    "tierline/memo/search": lambda session, params: session.memos.search(params),
}
