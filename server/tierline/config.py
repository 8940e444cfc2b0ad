"""One typed settings tree.

Precedence, weakest first: defaults, the user's file, the workspace's ``.tierline/config.toml``, the
editor's settings, the environment (``TIERLINE_<SECTION>_<NAME>``). Keys and other secrets are never
settings: they come from the environment or the editor's secret storage.
"""

from __future__ import annotations

import os
import tomllib
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import attrs
from attrs import field, frozen, validators

from tierline import disk
from tierline.folder import FOLDER
from tierline.network import Network
from tierline.providers import registry

_MAX_BYTES = 1_000_000
"""Of a settings file."""
_POSITIVE: Any = validators.gt(0)
_NOT_NEGATIVE: Any = validators.ge(0)


def _up_to(limit: float) -> Any:
    """Arguments of a field: above nought, at most this."""
    return {"validator": [_POSITIVE, validators.le(limit)], "metadata": {"most": limit}}


@frozen
class ProviderConfig:
    """Which language model answers. Never taken from the workspace's own file: a repository must
    not be able to send your prompts, or your key, to a server of its choice.
    """

    name: str = field(default="auto", metadata={"choices": ("auto", *registry.NAMES)})
    """auto: a key from the environment or the editor, else a server found on this machine that you
    agreed to, else the embedded model. editor: a model that the editor itself offers."""
    model: str = ""
    """Model name; empty for the provider's default."""
    base_url: str = ""
    """Address of an OpenAI-compatible (or Anthropic-compatible) server."""
    api: Literal["auto", "chat", "responses"] = "auto"
    """Which of OpenAI's interfaces is spoken: Chat Completions, which compatible servers know, or
    Responses. auto: Responses for OpenAI's own models that think or exist only there."""
    local_model_path: str = ""
    """A GGUF file for the embedded model; empty for the one that the package brings."""
    effort: Literal["auto", "none", "minimal", "low", "medium", "high", "xhigh", "max"] = "auto"
    """How much the model thinks before it answers, if it has such a setting; auto leaves it to the
    model. Thinking is paid for as output."""
    use_local_server: bool = False
    """Use an Ollama, LM Studio or llama.cpp server found on this machine without asking."""
    stall_seconds: float = field(default=60.0, validator=_POSITIVE)
    """Give up when nothing has arrived for this many seconds in the middle of a reply."""
    first_byte_seconds: float = field(default=300.0, validator=_POSITIVE)
    """Give up when no reply has begun after this many seconds; pings alone do not count."""
    max_retries: int = field(default=4, validator=_NOT_NEGATIVE)
    """Attempts after the first on overload, rate limit or a lost connection."""
    count_tokens: bool = True
    """If a reply reports no token counts, ask Anthropic or OpenAI's Responses for its request's
    count, in the background and without cost, until the estimates are calibrated."""


@frozen
class ContextConfig:
    """What may enter the prompt."""

    mode: Literal["off", "light", "heavy"] = "light"
    """How much context is retrieved automatically."""
    max_input_tokens: int = field(default=0, validator=_NOT_NEGATIVE)
    """Overrides the model's window, in tokens; 0 takes it from the model table."""
    max_output_tokens: int = field(default=0, validator=_NOT_NEGATIVE)
    """Longest reply, in tokens; 0 takes a quarter of the window or 8192, whichever is less."""
    default_window: int = field(default=32000, validator=_POSITIVE)
    """Window assumed for a model that the table does not know, in tokens."""
    shed_at_percent: float = field(default=90.0, **_up_to(100))
    """Files leave the request when its estimate exceeds this share of the window."""
    max_file_bytes: int = field(default=5_000_000, validator=_POSITIVE)
    """Larger files are refused; in bytes."""
    max_file_tokens: int = field(default=100_000, validator=_POSITIVE)
    """Longer files are cut, with a visible mark; in tokens."""
    pasted_links: Literal["ask", "never"] = "ask"
    """What happens with links in a prompt. ask: you are asked whether to read the pages; never:
    they stay plain text."""


@frozen
class CacheConfig:
    """Stability tiers and cache breakpoints."""

    policy: Literal["log_structured", "counter", "fixed"] = "log_structured"
    """How the order of the prompt is kept stable (docs/tiers.md)."""
    ttl: Literal["auto", "5m", "1h"] = "auto"
    """Time to live of cache writes; auto decides by the gaps between your prompts."""
    min_tokens: int = field(default=1024, validator=_NOT_NEGATIVE)
    """A tier holding less than this is merged with its neighbour; the model's minimum also counts.
    """
    keep_alive: bool = False
    """Send tiny requests to keep a warm cache warm while you are at the keyboard."""


@frozen
class CompactionConfig:
    """When history is summarised. Token counts."""

    enabled: bool = True
    """False: history is never summarised, only truncated when it must be."""
    compaction_trigger_percent: float = field(default=50.0, **_up_to(100))
    """History above this share of the model's window is compacted after the reply."""
    compaction_trigger_tokens: int = field(default=0, validator=_NOT_NEGATIVE)
    """The same as a number of tokens, whatever the model; 0 goes by the share."""
    verbatim_window_tokens: int = field(default=0, validator=_NOT_NEGATIVE)
    """The newest history of about this size is kept word for word; 0 takes a sixth of the trigger,
    at least 4,000."""
    summary_budget_tokens: int = field(default=0, validator=_NOT_NEGATIVE)
    """Longest summary; 0 takes about 2 % of the trigger, at least 500."""
    min_verbatim_exchanges: int = field(default=2, validator=_NOT_NEGATIVE)
    """At least this many exchanges are kept word for word."""
    detector: Literal["auto", "local", "model"] = "auto"
    """Who finds where the topic changed. local: a detector on this machine; auto: the model is also
    asked where that is unsure."""
    summariser: Literal["auto", "model", "extractive"] = "auto"
    """Who writes summaries. auto: your provider's model; with the embedded one, an extract is made
    without any model."""
    model: str = ""
    """Model of your provider that summarises, for example a cheaper one; empty for the chat's."""


@frozen
class SpendingConfig:
    """What may be spent before you are asked. Never taken from the workspace's own file: a
    repository must not be able to spend your money. Prices are the model table's, in US dollars.
    """

    session_cost: float = field(default=0.0, validator=_NOT_NEGATIVE)
    """Ask before a session costs more than this many US dollars; 0 never asks."""
    turn_cost: float = field(default=0.0, validator=_NOT_NEGATIVE)
    """Ask before the answer to one prompt costs more than this many US dollars; 0 never asks."""
    session_tokens: int = field(default=0, validator=_NOT_NEGATIVE)
    """Ask before a session takes more than this many tokens, sent and received; 0 never asks."""
    turn_tokens: int = field(default=0, validator=_NOT_NEGATIVE)
    """Ask before the answer to one prompt takes more than this many tokens; 0 never asks."""
    warn_cost: float = field(default=0.5, validator=_NOT_NEGATIVE)
    """Ask before a request of which the cache holds less than half and whose input costs more than
    this many US dollars; 0 never asks."""
    warn_change_cost: float = field(default=0.1, validator=_NOT_NEGATIVE)
    """Warn before a change (another model, effort, tools) that loses so much of the cache that the
    next request costs this many US dollars more; 0 never warns."""


@frozen
class NotifyConfig:
    """Notifications while you are elsewhere."""

    after_seconds: float = field(default=20.0, validator=_NOT_NEGATIVE)
    """Notify you of the end of a turn that took longer than this many seconds; 0: never."""
    system: bool = True
    """Use a notification of the operating system while the editor's window is in the background."""


@frozen
class HistoryConfig:
    """How the conversation is kept and selected."""

    strategy: Literal["full", "window", "ranked", "levels"] = "full"
    """full: all turns; window: the newest ones; ranked: the most relevant ones; levels: the
    newest turns in full, older ones as summaries, more when a prompt asks for it."""
    window: int = field(default=0, validator=_NOT_NEGATIVE)
    """Turns in the window or the ranked selection; 0 for all."""
    state_anchor: Literal["auto", "on", "off"] = "auto"
    """Ask the model to keep a STATE block; auto: only with windows of 16,000 tokens and more."""
    restore: bool = True
    """Open the newest session at start, with its files and pins."""
    new_session_files: Literal["ask", "keep", "drop"] = "ask"
    """Whether listed files and pages stay when a new session begins; ask: say their cost first."""
    snapshot_mb: int = field(default=200, validator=_NOT_NEGATIVE)
    """Megabytes of what files said before Tierline changed them, for going back; the oldest is
    forgotten first. 0 keeps none."""


@frozen
class MemoryConfig:
    """Memory levels, memos, embeddings. Budgets are token counts; a smaller window shrinks them in
    proportion.
    """

    permanent_tokens: int = field(default=2_000, validator=_POSITIVE)
    """Standing rules and what was marked as important."""
    session_tokens: int = field(default=4_000, validator=_POSITIVE)
    """Summaries of finished tasks."""
    working_tokens: int = field(default=8_000, validator=_POSITIVE)
    """The newest turns in full, and what the present task has compressed."""
    total_tokens: int = field(default=16_000, validator=_POSITIVE)
    """All levels; tool output has what the others leave."""
    session_minutes: float = field(default=30.0, validator=_NOT_NEGATIVE)
    """Summaries older than this may be compressed further."""
    working_minutes: float = field(default=5.0, validator=_NOT_NEGATIVE)
    """Turns older than this may be compressed."""
    trigger_percent: float = field(default=80.0, **_up_to(100))
    """Compression begins above this share of a budget."""
    embeddings: Literal["auto", "off"] = "auto"
    """Rank by meaning as well, with a model on this machine, if one is installed; nothing is sent
    anywhere."""
    embedding_model: str = ""
    """Folder of a BERT sentence model (config.json, vocab.txt, model.safetensors); empty for the
    one of an installed package."""
    inject_memos: bool = True
    """Send up to five memos that fit a prompt with it; context mode off sends none either way."""


@frozen
class SymbolsConfig:
    """The symbol index, from which the module map and retrieval are made."""

    enabled: bool = True
    """False: no index, no module map, nothing is retrieved automatically."""
    lenses: bool = True
    """Code lenses on files and symbols that are in the context."""
    wait_seconds: float = field(default=1.5, validator=_NOT_NEGATIVE)
    """How many seconds a prompt waits for an index that is being built."""


@frozen
class PrivacyConfig:
    """What is written down."""

    redact_persisted: bool = True
    """Replace credentials with placeholders before anything is written to disk."""


@frozen
class ToolsConfig:
    """What the model may do by itself (docs/tools.md). Never taken from the workspace's own file: a
    repository must not be able to give itself leave to act.
    """

    enabled: Literal["auto", "on", "off"] = "auto"
    """Offer tools to the model; auto: to every model but the embedded one, which is too small to
    use them well."""
    max_rounds: int = field(default=25, **_up_to(500))
    """Requests that one prompt may lead to; then the turn ends, and you may let it go on."""
    edits: Literal["ask", "apply"] = "ask"
    """Proposed edits wait for you to accept them, or are applied at once (undo works as usual)."""
    save_edits: bool = True
    """Save a file after an edit was applied to it, unless it had unsaved changes before."""
    commands: Literal["ask", "off"] = "ask"
    """ask: you agree to each command line before it runs; off: the model is offered no commands."""
    mcp_servers: Literal["ask", "off"] = "ask"
    """ask: you agree to each MCP server that the workspace names before it starts, and to each of
    its tools; off: none are started, not even those that the editor passes on."""
    mcp_off: str = ""
    """Servers and tools of servers that are not used: names or patterns, with commas between them
    (``jira, github/delete_*``). A server that is named here is not started."""
    mcp_allow: str = ""
    """Tools of MCP servers that are called without a question: names or patterns, with commas
    between them (``weather, github/get_*``)."""
    command_seconds: float = field(default=120.0, validator=_POSITIVE)
    """A command that runs longer than this many seconds is stopped."""
    command_output_chars: int = field(default=400_000, validator=_POSITIVE)
    """How many characters of a command's output are kept, from its beginning and its end."""
    workspace_trusted: bool = True
    """False: no command is run, no edit is applied, and the workspace's own file is not read. VS
    Code sets it from its workspace trust."""


@frozen
class TelemetryConfig:
    """What is reported to others: nothing by default. Never taken from the workspace's own
    file.
    """

    otel: bool = False
    """Export each turn as an OpenTelemetry trace, without any text; its own variables say where to.
    Needs the extra ``tierline[otel]``."""


@frozen
class Settings:
    """All settings."""

    provider: ProviderConfig = field(factory=ProviderConfig)
    network: Network = field(factory=Network)
    context: ContextConfig = field(factory=ContextConfig)
    cache: CacheConfig = field(factory=CacheConfig)
    compaction: CompactionConfig = field(factory=CompactionConfig)
    history: HistoryConfig = field(factory=HistoryConfig)
    memory: MemoryConfig = field(factory=MemoryConfig)
    privacy: PrivacyConfig = field(factory=PrivacyConfig)
    spending: SpendingConfig = field(factory=SpendingConfig)
    notify: NotifyConfig = field(factory=NotifyConfig)
    tools: ToolsConfig = field(factory=ToolsConfig)
    telemetry: TelemetryConfig = field(factory=TelemetryConfig)
    symbols: SymbolsConfig = field(factory=SymbolsConfig)


SECTIONS: dict[str, type] = typing.get_type_hints(Settings)
PROTECTED = {
    "provider": "a workspace may not choose where prompts go",
    "network": "a workspace may not choose whom your requests pass",
    "tools": "a workspace may not give itself leave to act",
    "spending": "a workspace may not spend your money",
    "telemetry": "a workspace may not have you reported on",
}
"""Sections that the workspace's own file cannot set, and why."""


@frozen
class SettingProblem:
    """A setting that could not be used: which, from where, and what to do. The rest counts."""

    where: str
    message: str


def load(
    workspace: Path | None,
    editor: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
    user_file: Path | None = None,
) -> tuple[Settings, list[SettingProblem]]:
    """Read and merge every source. A bad value is reported and skipped, never fatal.

    ``editor`` may be nested (``{"provider": {"name": …}}``), camelCase or snake_case.
    """
    problems: list[SettingProblem] = []
    merged: dict[str, dict[str, Any]] = {name: {} for name in SECTIONS}
    own = workspace / FOLDER / "config.toml" if workspace is not None else None
    files = [user_file if user_file is not None else default_user_file()]
    if own is not None and trusted(editor):
        files.append(own)
    elif own is not None and os.path.lexists(own):
        why = "The file is not read: the workspace is not trusted."
        problems.append(SettingProblem(str(own), why))
    layers = list(_read(files, own, problems))
    layers.append(("editor settings", editor or {}))
    layers.append(("environment", _from_environment(os.environ if env is None else env)))
    untrusted = str(own) if own is not None else ""
    for where, values in layers:
        for section, name, value in _flatten(values, where, problems):
            if where == untrusted and section in PROTECTED:
                problems.append(
                    SettingProblem(
                        where,
                        f"{section}.{name} is ignored here: {PROTECTED[section]}. "
                        "Set it in your own configuration file or in the editor.",
                    )
                )
                continue
            try:
                converted = _convert(SECTIONS[section], name, value)
                SECTIONS[section](**{**merged[section], name: converted})
            except (ValueError, TypeError) as error:
                problems.append(
                    SettingProblem(where, f"{section}.{name} = {value!r} is ignored: {error}")
                )
            else:
                merged[section][name] = converted
    sections = {name: SECTIONS[name](**values) for name, values in merged.items()}
    return Settings(**sections), problems


def _read(
    files: Sequence[Path], own: Path | None, problems: list[SettingProblem]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What the files say, by their names. ``own`` is the workspace's: no link is followed to it."""
    for path in files:
        try:
            place = path if path == own else disk.resolved(path)  # links in dotfiles are the user's
            yield str(path), tomllib.loads(disk.read_text(place, _MAX_BYTES))
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            why = disk.explain(error)
            problems.append(
                SettingProblem(str(path), f"The file was not read: {why}. Mend or move it.")
            )


def trusted(editor: Mapping[str, Any] | None) -> bool:
    """What the editor says of the workspace; other editors have no such notion."""
    tools = (editor or {}).get("tools")
    if not isinstance(tools, Mapping):
        return True
    return tools.get("workspaceTrusted", tools.get("workspace_trusted", True)) is not False


def default_user_file() -> Path:
    """The user's own settings file, in the platform's configuration folder."""
    import platformdirs

    return Path(platformdirs.user_config_dir("tierline", appauthor=False)) / "config.toml"


def _from_environment(env: Mapping[str, str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for section, cls in SECTIONS.items():
        for item in attrs.fields(cls):
            value = env.get(f"TIERLINE_{section}_{item.name}".upper())
            if value:
                found.setdefault(section, {})[item.name] = value
    return found


def _flatten(
    values: Mapping[str, Any], where: str, problems: list[SettingProblem]
) -> typing.Iterator[tuple[str, str, Any]]:
    for raw_section, content in values.items():
        section = _snake(raw_section)
        if section not in SECTIONS or not isinstance(content, Mapping):
            problems.append(
                SettingProblem(
                    where, f"There is no section [{raw_section}]; see docs/configuration.md."
                )
            )
            continue
        known = {item.name for item in attrs.fields(SECTIONS[section])}
        for raw_name, value in content.items():
            name = _snake(raw_name)
            if name in known:
                yield section, name, value
            else:
                problems.append(
                    SettingProblem(
                        where, f"There is no setting {raw_section}.{raw_name}; it is ignored."
                    )
                )


def _convert(cls: type, name: str, value: Any) -> Any:
    hint = typing.get_type_hints(cls)[name]
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        raise TypeError("union settings are not supported")
    if hint is bool:
        if isinstance(value, str) and value.lower() in ("1", "true", "yes", "on"):
            return True
        if isinstance(value, str) and value.lower() in ("0", "false", "no", "off"):
            return False
        if not isinstance(value, bool):
            raise ValueError("use true or false")
        return value
    if hint in (int, float) and (
        isinstance(value, bool) or not isinstance(value, int | float | str)
    ):
        raise ValueError("use a number")
    if hint is int:
        if isinstance(value, float) and not value.is_integer():
            raise ValueError("use a whole number")
        return int(value)
    if hint is float:
        return float(value)
    if not isinstance(value, str):
        raise ValueError("use text")
    allowed = choices(cls, name)
    if allowed and value not in allowed:
        raise ValueError(f"use one of {', '.join(allowed)}")
    return value


def choices(cls: type, name: str) -> tuple[str, ...]:
    """The texts that a setting takes; empty if it takes any."""
    hint = typing.get_type_hints(cls)[name]
    if typing.get_origin(hint) is typing.Literal:
        return typing.get_args(hint)
    field_ = next(one for one in attrs.fields(cls) if one.name == name)
    return tuple(field_.metadata.get("choices", ()))


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
