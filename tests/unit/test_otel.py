"""Turns as OpenTelemetry spans: the conventions' names, the right nesting, and no text."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tierline.telemetry.otel import Traces

TURN: dict[str, Any] = {
    "group": "g1",
    "outcome": "ok",
    "began": 1_700_000_000.0,
    "seconds": 4.0,
    "retrieval": "r1",
    "requests": [
        {
            "plan": "p1",
            "provider": "anthropic",
            "model": "m",
            "began": 1_700_000_000.5,
            "seconds": 1.0,
            "estimate": 90,
            "input": 100,
            "output": 10,
            "read": 60,
            "written": 5,
            "reported": True,
            "stop": "tool_use",
        }
    ],
    "calls": [
        {
            "tool": "read_file",
            "status": "error",
            "milliseconds": 250,
            "characters": 12,
            "call": "c1",
            "message": "m1",
            "began": 1_700_000_002.0,
        }
    ],
    "edits": [],
}


def test_a_turn_is_a_trace_of_spans_with_the_conventions_names() -> None:
    exporter = InMemorySpanExporter()
    traces = Traces(exporter)
    assert traces.export(TURN, "sess_1") == ""
    spans = {span.name: span for span in exporter.get_finished_spans()}
    turn, chat, tool = (
        spans[name] for name in ("invoke_agent tierline", "chat m", "execute_tool read_file")
    )
    assert chat.parent is not None and tool.parent is not None
    assert {chat.parent.span_id, tool.parent.span_id} == {turn.context.span_id}
    assert chat.attributes is not None and tool.attributes is not None
    assert chat.attributes["gen_ai.operation.name"] == "chat"
    assert chat.attributes["gen_ai.usage.input_tokens"] == 100
    assert chat.attributes["gen_ai.usage.cache_read.input_tokens"] == 60
    assert chat.attributes["gen_ai.conversation.id"] == "sess_1"
    assert tool.attributes["gen_ai.tool.call.id"] == "c1"
    assert tool.attributes["error.type"] == "error"
    assert (turn.end_time or 0) - (turn.start_time or 0) == 4_000_000_000
    assert (tool.end_time or 0) - (tool.start_time or 0) == 250_000_000
    known = {"p1", "g1", "r1", "sess_1", "m", "c1"}
    for span in spans.values():
        for name, value in (span.attributes or {}).items():
            assert name.startswith(("gen_ai.", "tierline.", "error.")), name
            assert not isinstance(value, str) or len(value) < 20 or value in known
    traces.close()


def test_a_missing_package_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    traces = Traces()
    assert "tierline[otel]" in traces.export(TURN, "s")
    assert traces.export(TURN, "s") == ""
