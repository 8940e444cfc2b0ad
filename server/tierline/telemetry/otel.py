"""Optional export of turns as OpenTelemetry traces (setting ``telemetry.otel``, off by default).

Spans follow the semantic conventions for generative AI (OpenTelemetry, "GenAI agent and framework
spans"): ``invoke_agent`` for the turn, ``chat`` for each request, ``execute_tool`` for each call.
They carry names, times, token counts and outcomes; no prompt, reply, argument or result.
OpenTelemetry's own variables say where they go (``OTEL_EXPORTER_OTLP_ENDPOINT`` and the like).
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping
from typing import Any

log = logging.getLogger(__name__)

INSTALL = "pip install 'tierline[otel]'"
_OWN_NAMES = {"local": "tierline.local"}
"""For providers that the conventions have no name for."""
_FLUSH_MS = 2_000


class Traces:
    """Makes spans from a finished turn. Nothing is imported before the first export."""

    def __init__(self, exporter: Any = None) -> None:
        """``exporter`` replaces the OTLP exporter over HTTP."""
        self._exporter = exporter
        self._provider: Any = None
        self._failed = ""

    def export(self, turn: Mapping[str, Any], session_id: str) -> str:
        """Export a turn's spans; returns what to tell the user at the first failure. Blocking."""
        if self._failed:
            return ""
        try:
            tracer = self._tracer()
        except ImportError:
            self._failed = f"OpenTelemetry is not installed ({INSTALL}); nothing is exported."
            return self._failed
        try:
            _spans(tracer, turn, session_id)
        except Exception as error:
            log.warning("The turn was not exported", exc_info=True)
            self._failed = f"The export to OpenTelemetry failed ({error}); it is off until restart."
            return self._failed
        return ""

    def close(self) -> None:
        """Send what is waiting, for two seconds at most."""
        provider, self._provider = self._provider, None
        if provider is not None:
            with contextlib.suppress(Exception):
                provider.force_flush(_FLUSH_MS)
                provider.shutdown()

    def _tracer(self) -> Any:
        if self._provider is None:
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

            from tierline import __version__

            resource = Resource.create({"service.name": "tierline", "service.version": __version__})
            self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
            if self._exporter is not None:
                self._provider.add_span_processor(SimpleSpanProcessor(self._exporter))
            else:
                from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

                self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        return self._provider.get_tracer("tierline")


def _spans(tracer: Any, turn: Mapping[str, Any], session_id: str) -> None:
    from opentelemetry import trace

    began, seconds = float(turn["began"]), float(turn["seconds"])
    common = {"gen_ai.conversation.id": session_id}
    root = tracer.start_span(
        "invoke_agent tierline",
        start_time=_at(began),
        attributes={
            **common,
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "tierline",
            "tierline.turn.id": str(turn["group"]),
            "tierline.turn.outcome": str(turn["outcome"]),
        },
    )
    inside = trace.set_span_in_context(root)
    for request in turn["requests"]:
        start = float(request["began"])
        span = tracer.start_span(
            f"chat {request['model']}",
            context=inside,
            kind=trace.SpanKind.CLIENT,
            start_time=_at(start),
            attributes={**common, **_request(request)},
        )
        span.end(_at(start + float(request["seconds"])))
    for call in turn["calls"]:
        start = float(call.get("began", began))
        span = tracer.start_span(
            f"execute_tool {call['tool']}",
            context=inside,
            start_time=_at(start),
            attributes={
                **common,
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": str(call["tool"]),
                "gen_ai.tool.call.id": str(call["call"]),
                "gen_ai.tool.type": "function",
            },
        )
        if call["status"] != "ok":
            span.set_attribute("error.type", str(call["status"]))
            span.set_status(trace.StatusCode.ERROR)
        span.end(_at(start + float(call["milliseconds"]) / 1000))
    if turn["outcome"] == "error":
        root.set_attribute("error.type", str(turn.get("code", "error")))
        root.set_status(trace.StatusCode.ERROR)
    root.end(_at(began + seconds))


def _request(request: Mapping[str, Any]) -> dict[str, Any]:
    provider = str(request["provider"])
    cached = {"cache_read": request["read"], "cache_creation": request["written"]}
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _OWN_NAMES.get(provider, provider),
        "gen_ai.request.model": str(request["model"]),
        "gen_ai.usage.input_tokens": int(request["input"]),
        "gen_ai.usage.output_tokens": int(request["output"]),
        **{  # what the service did not say is left out
            f"gen_ai.usage.{name}.input_tokens": int(tokens)
            for name, tokens in cached.items()
            if tokens is not None
        },
        "gen_ai.response.finish_reasons": [str(request["stop"])],
        "tierline.plan.id": str(request["plan"]),
        "tierline.usage.estimated_input_tokens": int(request["estimate"]),
    }


def _at(seconds: float) -> int:
    """Nanoseconds of a time in seconds, exact to a microsecond."""
    return round(seconds * 1_000_000) * 1_000
