"""Commands about what is sent: its size, its order, its cache, its files, its model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from tierline import protocol as p
from tierline.context.effort import EFFORTS
from tierline.context.tiers.base import TIER_WORDS
from tierline.errors import TierlineError
from tierline.session.slash.moments import incomplete

if TYPE_CHECKING:
    from tierline.session.session import Session


async def budget(session: Session, rest: str) -> p.CommandResult:
    """The size of the next request by section."""
    if rest:
        raise incomplete("/context, /context show or /context window <N>; /help lists all")
    found = await session.budget(p.NoParams())
    lines = [
        f"{found.used:,} of {found.max_input_tokens:,} tokens ({found.percent:.0f} %), "
        f"{found.model}, {found.accuracy}.",
        "",
        *(
            f"- {section.name}: {section.tokens:,}"
            + (f" · {section.detail}" * bool(section.detail))
            for section in found.sections
            if section.tokens
        ),
    ]
    return p.CommandResult("Budget", "\n".join(lines))


async def tiers(session: Session, _rest: str) -> p.CommandResult:
    """The next request from its most stable bytes to its least."""
    found = await session.cache.tiers(p.CacheTiersParams("next"))
    rows = [
        f"| {tier.name} | {TIER_WORDS.get(tier.tier, '')} | {len(tier.items)} | "
        f"{tier.tokens:,} | {tier.cached_tokens:,} |"
        for tier in found.tiers
        if tier.items
    ]
    head = ["| tier | | pieces | tokens | cached |", "| --- | --- | ---: | ---: | ---: |"]
    total = f"{found.cached_tokens:,} of {found.tokens:,} tokens are cached, {found.policy} policy."
    return p.CommandResult("Tiers", "\n".join([total, "", *head, *rows]))


async def cache(session: Session, _rest: str) -> p.CommandResult:
    """Why the last request hit or missed the cache."""
    found = await session.cache.explain(p.CacheExplainParams())
    lines = [found.sentence]
    if (miss := found.last_miss) is not None and miss != found.report:
        lines += ["", f"The last miss: {miss.sentence}"]
    return p.CommandResult("Cache", "\n".join(lines))


async def why(session: Session, rest: str) -> p.CommandResult:
    """Why a file or another item was in or out of the newest request."""
    if not rest:
        raise incomplete("/why <file>")
    found = await session.plans.explain(p.PlanExplainParams(rest))
    return p.CommandResult("Why", found.sentence)


async def files(session: Session, _rest: str) -> p.CommandResult:
    """The files in the context, the largest first."""
    found = await session.files.listed(p.NoParams())
    return p.CommandResult("Files", _listed(found.files))


async def add(session: Session, rest: str) -> p.CommandResult:
    """Put a file or a folder into the context."""
    return await _changed(session.files.add, rest, "/add <file or folder>")


async def remove(session: Session, rest: str) -> p.CommandResult:
    """Take a file out of the context."""
    return await _changed(session.files.remove, rest, "/remove <file>")


async def pin(session: Session, rest: str) -> p.CommandResult:
    """Pin a file."""
    return await _changed(session.files.pin, rest, "/pin <file>")


async def unpin(session: Session, rest: str) -> p.CommandResult:
    """Unpin a file."""
    return await _changed(session.files.unpin, rest, "/unpin <file>")


async def cost(session: Session, _rest: str) -> p.CommandResult:
    """What this conversation has cost."""
    found = (await session.cache.stats(p.StatsParams())).total
    if not found.requests:
        return p.CommandResult("Cost", "Nothing was sent yet.")
    money = "The model's prices are not known."
    if found.priced:
        part = "" if found.priced == found.requests else f" ({found.priced} with known prices)"
        money = f"${found.cost:.4f}{part}; the cache saved ${found.saved:.4f}."
    tokens = f"{found.input_tokens:,} tokens in, {found.output_tokens:,} out"
    rate = f", {found.hit_rate:.0%} read from the cache" if found.reported else ""
    return p.CommandResult("Cost", f"{found.requests} requests, {tokens}{rate}. {money}")


async def model(session: Session, rest: str) -> p.CommandResult:
    """The available models, or the choice of another one."""
    listed = (await session.models.listed(p.NoParams())).providers
    if not rest:
        lines = [
            f"- {'**' if info.active else ''}{info.name}{'**' if info.active else ''}: "
            + (", ".join(info.models or [info.model]) if info.available else info.why)
            for info in listed
        ]
        return p.CommandResult("Models", "\n".join(["Write /model <name> to choose.", "", *lines]))
    provider, _, name = rest.rpartition(" ")
    owner = next((info.name for info in listed if rest in (*info.models, info.model)), "")
    if not provider and not owner and any(info.name == rest for info in listed):
        provider, name = rest, ""
    change = p.ChangeForecastParams("model", provider=provider or owner, model=name)
    if not await session.changes.agreed(change):
        return p.CommandResult("Model", f"{session.models.info().model} goes on answering.")
    chosen = await session.models.select(p.ProviderSelectParams(provider or owner, name))
    return p.CommandResult("Model", f"{chosen.model} answers from now on. {chosen.why}".strip())


async def effort(session: Session, rest: str) -> p.CommandResult:
    """The effort in force, or the choice of another one."""
    params = p.EffortParams()
    if rest:
        wanted = next((effort for effort in EFFORTS if effort == rest.lower()), None)
        if wanted is None:
            raise incomplete(f"/effort <{'|'.join(EFFORTS)}>")
        params = p.EffortParams(wanted)
        if not await session.changes.agreed(p.ChangeForecastParams("effort", effort=wanted)):
            return p.CommandResult("Effort", "Nothing was changed.")
    found = await session.models.effort(params)
    model = session.models.facts().name
    if not found.choices:
        return p.CommandResult("Effort", f"{model} cannot be told how much to think.")
    told = "is not told how much" if found.in_force == "auto" else f"thinks: {found.in_force}"
    choices = ", ".join(found.choices)
    return p.CommandResult("Effort", f"{model} {told}. It can be told: {choices}.")


async def compact(session: Session, rest: str) -> p.CommandResult:
    """Compact the history now."""
    found = await session.compaction.run(p.CompactionParams(rest))
    if not found.messages:
        return p.CommandResult("Compaction", f"Nothing was compacted. {found.reason}".strip())
    return p.CommandResult(
        "Compaction",
        f"{found.messages} messages became a summary: {found.tokens_before:,} tokens are "
        f"{found.tokens_after:,} now.",
    )


async def _changed(
    change: Callable[[p.FileParams], Awaitable[p.FilesResult]], path: str, usage: str
) -> p.CommandResult:
    """Change the list of files, and report files that are refused."""
    if not path:
        raise incomplete(usage)
    found = await change(p.FileParams(path=path))
    if refused := [f"- {file.path}: {file.reason}" for file in found.refused]:
        raise TierlineError(
            "not_sendable",
            "\n".join(["Not added:", *refused]),
            "Name another file, or add it from the editor, where it can be confirmed.",
        )
    return p.CommandResult("Files", "\n".join([_listed(found.files), *found.notices]))


def _listed(found: list[p.FileInfo]) -> str:
    if not found:
        return "No files are in the context."
    lines = []
    for file in sorted(found, key=lambda f: -f.tokens):
        pinned = f" · pinned ({file.pin})" if file.pin != "none" else ""
        reason = f" · {file.reason}" if file.reason else ""
        lines.append(f"- {file.path}: {file.tokens:,} tokens{pinned}{reason}")
    return "\n".join(lines)


async def compacted(session: Session, _rest: str) -> p.CommandResult:
    """The summary of the newest compaction, and the messages that it replaced."""
    found = await session.compaction.show(p.CompactionUndoParams())
    head = (
        f"{len(found.messages)} messages ({found.tokens:,} tokens) are no longer sent. "
        "They stay in the conversation; the compaction can be taken back."
    )
    lines = ["# What left the context", "", head, "", "## What stands for them", ""]
    lines += [found.summary or "(Nothing: the topic had changed.)", "", "## What left", ""]
    for message in found.messages:
        lines += [f"**{message.role}**: {message.text.strip() or '(calls of tools)'}", ""]
    return p.CommandResult("What left the context", "\n".join(lines) + "\n", document=True)
