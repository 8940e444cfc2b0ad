"""VS Code's settings and the server's: names, defaults, values and limits must not drift apart."""

from __future__ import annotations

import json
import typing
from pathlib import Path
from typing import Any

import attrs
import pytest

from manifest import SHOWN, manifest
from tierline import config

CLIENT = Path(__file__).resolve().parents[3] / "vscode-client"
LEFT_OUT = {
    "network.proxy_strict_ssl": "VS Code has its own http.proxyStrictSSL, which is passed on",
    "context.max_file_bytes": "a limit against accidents; the one in tokens is what people feel",
    "cache.min_tokens": "for experiments with the tiers",
    "memory.permanent_tokens": "budgets of levels belong together, in a file",
    "memory.session_tokens": "as above",
    "memory.working_tokens": "as above",
    "memory.total_tokens": "as above",
    "memory.session_minutes": "as above",
    "memory.working_minutes": "as above",
    "memory.trigger_percent": "as above",
    "memory.embedding_model": "a path into the server's environment",
    "tools.command_output_chars": "a limit against accidents",
    "tools.workspace_trusted": "VS Code says it, not the user",
    "telemetry.otel": "needs an extra and OpenTelemetry's own variables",
    "symbols.wait_seconds": "a limit against accidents",
    "history.snapshot_mb": "a limit of the disk",
}
"""Server settings that VS Code does not show, and why; a file or the environment sets them."""


def mapped() -> dict[str, str]:
    """Server setting -> VS Code setting."""
    return {setting: f"tierline.{ours}" for ours, setting in SHOWN.items()}


def declared() -> dict[str, dict[str, Any]]:
    groups = json.loads((CLIENT / "package.json").read_text("utf-8"))["contributes"]
    return {k: v for group in groups["configuration"] for k, v in group["properties"].items()}


def fields() -> dict[str, tuple[type, attrs.Attribute[Any]]]:
    return {
        f"{section}.{one.name}": (cls, one)
        for section, cls in config.SECTIONS.items()
        for one in attrs.fields(cls)
    }


def test_every_setting_is_shown_or_left_out_for_a_reason() -> None:
    known, shown = set(fields()), set(mapped())
    assert shown - known == set(), "settings that the server does not know"
    assert known - shown == set(LEFT_OUT), "declare it in package.json, or say why not"
    assert not shown & set(LEFT_OUT)


def test_a_setting_without_texts_is_asked_for_by_name() -> None:
    with pytest.raises(LookupError, match=r"tierline\.provider:"):
        manifest('{"contributes": {"configuration": []}}')


def test_defaults_and_values_are_the_same() -> None:
    properties = declared()
    for name, ours in mapped().items():
        cls, one = fields()[name]
        schema = properties[ours]
        assert schema["default"] == one.default, ours
        hint = typing.get_type_hints(cls)[one.name]
        allowed = config.choices(cls, one.name)
        assert tuple(schema.get("enum", ())) == allowed, ours
        if not allowed:
            types = {bool: "boolean", int: "integer", float: "number", str: "string"}
            assert schema["type"] == types[hint], ours


def test_what_the_client_lets_through_the_server_takes() -> None:
    properties = declared()
    for name, ours in mapped().items():
        section, _, short = name.partition(".")
        schema = properties[ours]
        values = [*schema.get("enum", ()), schema["default"]]
        values += [schema[one] for one in ("minimum", "maximum") if one in schema]
        for value in values:
            _, problems = config.load(
                None, {section: {short: value}}, {}, user_file=Path("does-not-exist.toml")
            )
            assert problems == [], (ours, value)


def test_what_may_not_come_from_a_workspace_is_the_users_alone() -> None:
    properties = declared()
    free = {"tierline.provider", "tierline.model", "tierline.localModelPath"}
    for name, ours in mapped().items():
        if name.partition(".")[0] in config.PROTECTED and ours not in free:
            assert properties[ours]["scope"] == "machine", ours
