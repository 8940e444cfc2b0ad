"""Questions to the user that a tool waits for: asked in the client, or with a plain LSP message."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Sequence
from typing import Literal, TypeAlias

from attrs import define, frozen

from tierline import protocol as p
from tierline.errors import TierlineError
from tierline.session.events import EventBus
from tierline.session.workbench import CONSENT, Workbench

ConsentAnswer: TypeAlias = Literal["once", "always", "deny", "withdrawn"]
ONCE, ALWAYS, DENY = "Run once", "Always run this", "Do not run"
READ, LEAVE = "Read", "Do not read"
GO_ON, GO_ON_ALWAYS, STOP = "Go on", "Go on, do not ask again", "Stop"


@frozen
class ConsentDecision:
    """The user's decision; ``reason`` is for the model."""

    answer: ConsentAnswer
    reason: str = ""

    @property
    def allowed(self) -> bool:
        """True if the action may be done now."""
        return self.answer in ("once", "always")


@define
class _Pending:
    info: p.ConsentInfo
    future: asyncio.Future[ConsentDecision]


class ConsentService:
    """Asks the user, and takes the first answer from any client."""

    def __init__(self, bus: EventBus, workbench: Workbench) -> None:
        self._bus = bus
        self._workbench = workbench
        self._pending: dict[str, _Pending] = {}

    def open(self) -> list[p.ConsentInfo]:
        """The questions that are still open."""
        return [pending.info for pending in self._pending.values()]

    async def answer(self, params: p.ConsentAnswerParams) -> p.Ok:
        """The user's answer.

        Raises:
            TierlineError: ``not_found``: the question is no longer asked.
        """
        pending = self._pending.get(params.id)
        if pending is None or pending.future.done():
            raise TierlineError(
                "not_found", "This question is no longer asked.", "Nothing needs to be done."
            )
        answer = params.answer
        if answer == "always" and not pending.info.can_remember:
            answer = "once"
        pending.future.set_result(ConsentDecision(answer, params.reason.strip()))
        return p.Ok()

    async def ask_user(
        self,
        kind: Literal["command", "url", "spending"],
        title: str,
        text: str,
        detail: str,
        *,
        turn_id: str = "",
        call_id: str = "",
        can_remember: bool = False,
    ) -> ConsentDecision:
        """Wait for the user, as long as it takes or until the turn is stopped. The arguments are
        those of ``ConsentInfo``.
        """
        identifier = uuid.uuid4().hex[:12]
        info = p.ConsentInfo(identifier, turn_id, call_id, kind, title, text, detail, can_remember)
        pending = _Pending(info, asyncio.get_running_loop().create_future())
        self._pending[info.id] = pending
        self._bus.publish(p.ConsentAsked(info))
        message = None
        if CONSENT not in self._workbench.features:
            message = asyncio.ensure_future(self._by_message(pending))
        decision = ConsentDecision("withdrawn")
        try:
            decision = await pending.future
            return decision
        finally:
            del self._pending[info.id]
            if message is not None:
                message.cancel()
            self._bus.publish(p.ConsentClosed(info.id, decision.answer))

    async def _by_message(self, pending: _Pending) -> None:
        """Plain LSP: a message with buttons. Closing it means no."""
        info = pending.info
        actions: Sequence[str] = [ONCE, *([ALWAYS] if info.can_remember else []), DENY]
        if info.kind == "url":
            actions = [READ, LEAVE]
        elif info.kind == "spending":
            actions = [GO_ON, GO_ON_ALWAYS, STOP]
        text = f"{info.title}\n{info.text}\n{info.detail}".strip()
        chosen = ""
        with contextlib.suppress(Exception):
            chosen = await self._workbench.ask(text, actions)
        if not pending.future.done():
            answers: dict[str, ConsentAnswer] = {
                ONCE: "once",
                READ: "once",
                GO_ON: "once",
                ALWAYS: "always",
                GO_ON_ALWAYS: "always",
            }
            pending.future.set_result(ConsentDecision(answers.get(chosen, "deny")))
