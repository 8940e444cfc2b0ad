"""A loopback provider that holds to the documented rules of its family and refuses what breaks one.

``with enforcing("deepseek", [Answer(uses=(Use("read_file", {...}),)), Answer("Done.")]) as server``
serves like ``wire_server``: the first prompt gets the first answer, the last one repeats; or the
answers are a function of the request's body and its number. Signatures are keyed hashes over what
they are bound to, so that a client can neither make nor mend one. ``refused`` holds every refusal;
a test that expects none asserts ``server.refused == []``.

Families: ``anthropic`` (Messages), ``openai``, ``deepseek``, ``kimi``, ``glm``, ``gemini``,
``plain`` and ``gateway`` (Chat Completions), ``responses``. What each enforces stands in its
``rules_*`` module, with the page that documents it.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias

from attrs import field, frozen

from wire.rules import Answer, Refused, Report, Rules
from wire.rules_anthropic import Messages
from wire.rules_completions import Completions
from wire.rules_responses import Responses
from wire.servers import Kind, Reply, Request, WireServer

__all__ = ["Answer", "EnforcingServer", "Family", "Refused", "enforcing"]

Family: TypeAlias = Literal[
    "anthropic", "openai", "deepseek", "kimi", "glm", "gemini", "plain", "gateway", "responses"
]
MODELS: dict[Family, str] = {
    "anthropic": "claude-sonnet-5-5",
    "openai": "gpt-5.6",
    "deepseek": "deepseek-v4-pro",
    "kimi": "kimi-k3",
    "glm": "glm-5.2",
    "gemini": "gemini-3.8-flash",
    "plain": "some-model",
    "gateway": "anthropic/claude-sonnet-5.5",
    "responses": "gpt-6",
}
Answers: TypeAlias = Iterable[Answer | Reply] | Callable[[Any, int], Answer | Reply]
"""A ``Reply`` is sent as it is: for faults that no rule knows."""


@frozen
class Taken:
    """A request that was in order."""

    body: Any
    report: Report
    at: float = field(default=0.0)


class EnforcingServer(WireServer):
    """See the module. ``skew`` seconds are added to its clock, so that a test can let time pass."""

    def __init__(
        self,
        family: Family,
        answers: Answers = (),
        *,
        minimum: int = 1024,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        kind: Kind = "anthropic" if family == "anthropic" else "openai"
        super().__init__(kind, (), tls=tls)
        self.family, self.model = family, MODELS[family]
        self.rules: Rules
        if family == "anthropic":
            self.rules = Messages(minimum)
        elif family == "responses":
            self.rules = Responses()
            self.path = "/v1/responses"
            self.count_path = "/v1/responses/input_tokens"
        else:
            self.rules = Completions(family)
        self.taken: list[Taken] = []
        """What was answered, in order."""
        self.refused: list[Refused] = []
        self.skew = 0.0
        given = answers if callable(answers) else tuple(answers) or (Answer(),)
        self._answers = given

    def _rules(self) -> None:
        """It refuses by itself, and a test says of each refusal what it is."""

    @property
    def reports(self) -> list[Report]:
        return [taken.report for taken in self.taken]

    def _next(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            self.asked.set()
            try:
                report = self.rules.check(request.body, request.headers)
            except Refused as refused:
                self.refused.append(refused)
                return self.rules.refusal(refused)
            now = time.time() + self.skew
            number = len(self.taken)
            self.taken.append(Taken(request.body, report, now))
            given = self._answers
            answer = (
                given(request.body, number + 1)
                if callable(given)
                else given[min(number, len(given) - 1)]
            )
            if isinstance(answer, Reply):
                return answer
            return self.rules.reply(request.body, answer, number + 1, now)

    def _count(self, request: Request) -> Reply:
        with self._lock:
            self.others.append(request)
            try:
                return self.rules.count(request.body, request.headers)
            except Refused as refused:
                self.refused.append(refused)
                return self.rules.refusal(refused)


def enforcing(family: Family, answers: Answers = (), **options: Any) -> EnforcingServer:
    """A server that starts on entry and stops on exit."""
    return EnforcingServer(family, answers, **options)
