"""VS Code's settings from the server's: which are shown, their names, and their schemas.

``config.py`` has type, default, values and bounds; the extension's ``package.json`` has texts,
groups, order and scope. ``python tools/generate.py`` writes the rest.
"""

from __future__ import annotations

import json
import typing
from typing import Any

import attrs

from tierline import config
from tierline.protocol import camel

SHOWN = {
    "provider": "provider.name",
    "model": "provider.model",
    "effort": "provider.effort",
    "baseUrl": "provider.base_url",
    "api": "provider.api",
    "localModelPath": "provider.local_model_path",
    "useLocalServer": "provider.use_local_server",
    "firstByteSeconds": "provider.first_byte_seconds",
    "stallSeconds": "provider.stall_seconds",
    "maxRetries": "provider.max_retries",
    "countTokens": "provider.count_tokens",
    "proxy": "network.proxy",
    "noProxy": "network.no_proxy",
    "caFile": "network.ca_file",
    "clientCertificate": "network.client_certificate",
    "clientKey": "network.client_key",
    "contextMode": "context.mode",
    "maxInputTokens": "context.max_input_tokens",
    "maxOutputTokens": "context.max_output_tokens",
    "defaultWindow": "context.default_window",
    "shedAtPercent": "context.shed_at_percent",
    "maxFileTokens": "context.max_file_tokens",
    "pastedLinks": "context.pasted_links",
    "stabilityPolicy": "cache.policy",
    "cacheTtl": "cache.ttl",
    "cacheKeepAlive": "cache.keep_alive",
    "tools": "tools.enabled",
    "edits": "tools.edits",
    "saveEdits": "tools.save_edits",
    "commands": "tools.commands",
    "mcpServers": "tools.mcp_servers",
    "mcpOff": "tools.mcp_off",
    "mcpAllow": "tools.mcp_allow",
    "commandSeconds": "tools.command_seconds",
    "maxRounds": "tools.max_rounds",
    "compaction": "compaction.enabled",
    "compactionTriggerPercent": "compaction.compaction_trigger_percent",
    "compactionTriggerTokens": "compaction.compaction_trigger_tokens",
    "verbatimWindowTokens": "compaction.verbatim_window_tokens",
    "summaryBudgetTokens": "compaction.summary_budget_tokens",
    "minVerbatimExchanges": "compaction.min_verbatim_exchanges",
    "topicDetector": "compaction.detector",
    "summariser": "compaction.summariser",
    "compactionModel": "compaction.model",
    "historyStrategy": "history.strategy",
    "historyWindow": "history.window",
    "stateAnchor": "history.state_anchor",
    "restoreSession": "history.restore",
    "newSessionFiles": "history.new_session_files",
    "sessionCostLimit": "spending.session_cost",
    "turnCostLimit": "spending.turn_cost",
    "sessionTokenLimit": "spending.session_tokens",
    "turnTokenLimit": "spending.turn_tokens",
    "warnCost": "spending.warn_cost",
    "warnChangeCost": "spending.warn_change_cost",
    "notifyAfterSeconds": "notify.after_seconds",
    "notifySystem": "notify.system",
    "embeddings": "memory.embeddings",
    "injectMemos": "memory.inject_memos",
    "redactPersisted": "privacy.redact_persisted",
    "symbolIndex": "symbols.enabled",
    "codeLenses": "symbols.lenses",
}
"""VS Code's name (after ``tierline.``) and the server's. Other settings can be set only in files
and the environment.
"""

_TYPES = {bool: "boolean", int: "integer", float: "number"}


def schema(setting: str) -> dict[str, Any]:
    """The JSON Schema of a setting: type, values, default and bounds."""
    section, _, name = setting.partition(".")
    cls = config.SECTIONS[section]
    item = next(one for one in attrs.fields(cls) if one.name == name)
    kind = _TYPES.get(typing.get_type_hints(cls)[name], "string")
    found: dict[str, Any] = {"type": kind}
    if values := config.choices(cls, name):
        found["enum"] = list(values)
    whole = isinstance(item.default, float) and item.default.is_integer()
    found["default"] = int(item.default) if whole else item.default
    if kind in ("integer", "number"):
        found["minimum"] = 0 if _takes(cls, name, 0) else 1
        if "most" in item.metadata:
            found["maximum"] = item.metadata["most"]
    return found


def _takes(cls: type, name: str, value: float) -> bool:
    try:
        cls(**{name: value})
    except ValueError:
        return False
    return True


def manifest(text: str) -> str:
    """``package.json`` with the server's current settings.

    Raises:
        LookupError: a shown setting is not declared in ``package.json``, where its texts belong.
    """
    whole = json.loads(text)
    groups = [group["properties"] for group in whole["contributes"]["configuration"]]
    for ours, setting in SHOWN.items():
        found = next((g for g in groups if f"tierline.{ours}" in g), None)
        if found is None:
            raise LookupError(
                f"package.json declares no tierline.{ours}: give it a group and texts."
            )
        old = found[f"tierline.{ours}"]
        new = schema(setting)
        told = {
            k: v
            for k, v in old.items()
            if k not in ("type", "enum", "default", "minimum", "maximum")
        }
        found[f"tierline.{ours}"] = {k: new.pop(k) for k in old if k in new} | new | told
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def typescript() -> str:
    """The client's table of the settings that it passes on."""
    out = [
        "// Generated from server/tierline/config.py by `make docs-gen`. Do not edit.",
        "",
        "/** Editor setting → section and name in the server's settings tree. */",
        "export const SERVER_SETTINGS: Readonly<Record<string, readonly [string, string]>> = {",
    ]
    for ours, setting in SHOWN.items():
        section, _, name = setting.partition(".")
        out.append(f"  {ours}: ['{section}', '{camel(name)}'],")
    return "\n".join([*out, "};", ""])
