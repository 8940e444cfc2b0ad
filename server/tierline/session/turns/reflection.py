"""Reflection: a turn's context, actions and outcome.

One event per turn in the log: plans, retrieval set, requests with estimate against actual, tool
trace, edits and their decisions, outcome. The index holds it like any event, so it is rebuilt with
it; ``tierline stats --turns`` shows it. Texts are not repeated here: they are in the messages.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import Any

from attrs import define, field

from tierline import protocol as p
from tierline.history import actions
from tierline.session.conversation import Conversation
from tierline.session.edits.service import EditService
from tierline.session.events import EventBus
from tierline.session.requests.composer import ComposedRequest
from tierline.session.state.preferences import Preferences
from tierline.session.state.turn import Turn
from tierline.telemetry import otel

log = logging.getLogger(__name__)


@define(eq=False, repr=False, slots=False)
class ReflectionService:
    """Writes one reflection per turn and reads them back."""

    _bus: EventBus
    _preferences: Preferences
    _conversation: Conversation
    _edits: EditService
    _traces: otel.Traces = field(factory=otel.Traces, init=False)

    async def record_turn(self, turn: Turn, outcome: p.TurnOutcome, code: str = "") -> None:
        """Record a turn that made at least one request. Never raises."""
        if not turn.rounds:
            return
        data = self._data(turn, outcome, code)
        problem = await self._conversation.reflect(actions.reflection(data))
        if problem:
            log.warning("The turn's reflection was not kept: %s", problem)
        if self._preferences.settings.telemetry.otel:
            session_id = self._conversation.session_id
            said = await asyncio.to_thread(self._traces.export, data, session_id)
            if said:
                self._bus.notice("warning", said, "telemetry")

    async def turns(self, params: p.TurnStatsParams) -> p.TurnStatsResult:
        """Reflections, newest first."""
        store = self._conversation.store
        session_id = "" if params.all else params.session_id or store.session_id
        rows = await asyncio.to_thread(store.index.events, "reflection", session_id, params.limit)
        return p.TurnStatsResult([read(data, session) for session, data in rows])

    def close(self) -> None:
        """Export the traces that are waiting."""
        self._traces.close()

    def _data(self, turn: Turn, outcome: str, code: str) -> dict[str, Any]:
        edits = [
            {"id": e.id, "path": e.path, "state": e.state, "accepted": list(e.accepted)}
            for e in self._edits.infos()
            if e.turn_id == turn.group_id
        ]
        line, sent = self._conversation.described(turn.group_id)
        return {
            "group": turn.group_id,
            "message": turn.newest_id or turn.message_id,
            "outcome": outcome,
            **({"code": code} if code else {}),
            "began": round(turn.began, 3),
            "seconds": round(time.time() - turn.began, 3),
            "line": line,
            "went": [[one.kind, one.count, one.label] for one in sent],
            "retrieval": turn.retrieval,
            "requests": list(turn.requests),
            "calls": list(turn.trace),
            "edits": edits,
        }


def request_data(composed: ComposedRequest, turn: Turn, usage: p.UsageInfo) -> dict[str, Any]:
    """One request of a turn: its plan, and expected against reported figures."""
    request = composed.request
    known = {"plan": composed.plan.plan_id, "estimate": composed.plan.tokens}
    return known | _request_data(request.provider, request.model, turn, usage)


def cut_data(found: p.CacheReport, turn: Turn, usage: p.UsageInfo) -> dict[str, Any]:
    """One request whose reply was cut off. Expected figures are not compared."""
    return {"plan": found.plan_id} | _request_data(found.provider, found.model, turn, usage)


def _request_data(provider: str, model: str, turn: Turn, usage: p.UsageInfo) -> dict[str, Any]:
    return {
        "provider": provider,
        "model": model,
        "began": round(turn.round.asked, 3),
        "seconds": round(time.time() - turn.round.asked, 3),
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "read": usage.cache_read_tokens,
        "written": usage.cache_write_tokens,
        "reported": not usage.estimated,
        "cost": round(usage.cost, 8),
        "saved": round(usage.saved, 8),
        "cache": turn.round.cache.outcome if turn.round.cache is not None else "",
        "stop": turn.round.stop.reason if turn.round.stop else "incomplete",
    }


def _known_sum(figures: list[Any]) -> int | None:
    """The sum of the known figures; None if there are none."""
    known = [int(_number(figure)) for figure in figures if figure is not None]
    return sum(known) if known else None


def read(data: Mapping[str, Any], session_id: str) -> p.TurnStats:
    """A reflection as it is shown. Records of other versions are read as far as possible."""
    requests = _objects(data.get("requests"))
    measured = [
        r for r in requests
        if r.get("reported") and _number(r.get("input")) and _number(r.get("estimate"))
    ]  # fmt: skip
    estimate = sum(_number(r.get("estimate")) for r in measured)
    actual = sum(_number(r.get("input")) for r in measured)
    calls = _objects(data.get("calls"))
    return p.TurnStats(
        session_id=session_id,
        turn_id=str(data.get("group", "")),
        began=float(_number(data.get("began"))),
        seconds=float(_number(data.get("seconds"))),
        outcome=str(data.get("outcome", "")),
        retrieval_set=str(data.get("retrieval", "")),
        plans=[str(r.get("plan", "")) for r in requests],
        input_tokens=sum(int(_number(r.get("input"))) for r in requests),
        output_tokens=sum(int(_number(r.get("output"))) for r in requests),
        read_tokens=_known_sum([r.get("read") for r in requests]),
        cost=sum(_number(r.get("cost")) for r in requests),
        saved=sum(_number(r.get("saved")) for r in requests),
        error_percent=round(100 * (estimate - actual) / actual, 1) if actual else None,
        calls=[
            p.CallStats(
                tool=str(c.get("tool", "")),
                status=str(c.get("status", "")),
                milliseconds=int(_number(c.get("milliseconds"))),
                characters=int(_number(c.get("characters"))),
            )
            for c in calls
        ],
        edits=[f"{e.get('path', '')}: {e.get('state', '')}" for e in _objects(data.get("edits"))],
    )


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [v for v in value if isinstance(v, Mapping)] if isinstance(value, list) else []


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0
