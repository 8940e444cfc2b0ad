"""Stored plans: what was sent, why, and what changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from attrs import define

from tierline import protocol as p
from tierline.context.blocks import Image, Reasoning, Text, ToolResult, ToolUse
from tierline.context.plan import ContextPlan, explain
from tierline.context.plan_diff import diff
from tierline.context.prompt import Prompt
from tierline.context.retrieval.cards import CARD_PREFIX, card_key, parse_key
from tierline.context.text import clip
from tierline.errors import TierlineError
from tierline.session.conversation import Conversation
from tierline.session.conversation.views import sent_entries
from tierline.session.files.service import FileService
from tierline.session.files.urls import UrlService
from tierline.session.requests.composer import Composer
from tierline.store.plans import PlanStore, StoredPlan


@define(eq=False, repr=False, slots=False)
class PlanService:
    """Answers about plans of earlier requests; without an id, about the next request."""

    _composer: Composer
    _files: FileService
    _urls: UrlService
    store: PlanStore
    _conversation: Conversation
    _retrieved: Callable[[str], Sequence[tuple[str, str]]]

    async def get(self, params: p.PlanParams) -> p.PlanInfo:
        """A plan with all entries; the next request's without an id."""
        if not params.plan_id:
            composed = await self._composer.preview()
            return _info(composed.plan)
        stored = await self._find(params.plan_id)
        return _info(stored.plan, stored)

    async def listed(self, params: p.PlanListParams) -> p.PlanListResult:
        """Stored plans, newest first."""
        found = await asyncio.to_thread(self.store.summaries, max(1, params.limit))
        return p.PlanListResult(
            plans=[
                p.of(p.PlanInfo, plan, mode=p.known(p.ContextMode, plan.mode, p.ContextMode.OFF))
                for plan in found
            ]
        )

    async def explain(self, params: p.PlanExplainParams) -> p.PlanExplainResult:
        """Why an item is in or out, in a sentence: in the plan with this part of an id, else in the
        newest request that was sent, else in the next one. A bare path means the file, a symbol its
        card.
        """
        stored = await self._find(params.plan_id) if params.plan_id else await self._newest()
        plan = stored.plan if stored is not None else (await self._composer.preview()).plan
        key = self._key(params.key, plan)
        known = plan.entry(key) is not None
        if not known and stored is not None and (row := await self._candidate(params.key, stored)):
            return p.PlanExplainResult(row[0], False, row[1], plan.plan_id)
        if not known and not params.plan_id and stored is not None:
            following = (await self._composer.preview()).plan  # added since
            key = self._key(params.key, following)
            if following.entry(key) is not None:
                included = following.includes(key)
                said = explain(following, key)
                said = f"It was no candidate for the newest request. Of the next one: {said}"
                return p.PlanExplainResult(key, included, said, following.plan_id)
        if not known and (listed := self._files.info(params.key)) is not None:
            return p.PlanExplainResult(key, False, listed.reason, plan.plan_id)
        return p.PlanExplainResult(key, plan.includes(key), explain(plan, key), plan.plan_id)

    async def _newest(self) -> StoredPlan | None:
        """The newest request of this session that was sent."""
        session = self._conversation.session_id
        ids = await asyncio.to_thread(self.store.matching, "", session)
        return await asyncio.to_thread(self.store.get, ids[0]) if ids else None

    def _key(self, given: str, plan: ContextPlan) -> str:
        """The key of an item by a name that the user gave."""
        keys = [entry.key for entry in (*plan.included, *plan.excluded)]
        file = f"file:{self._files.key(given)}"
        found = [given, self._urls.key(given) or "", file, card_key(*parse_key(given))]
        found += [key for key in keys if key.startswith(CARD_PREFIX) and _names(key, given)]
        return next((key for key in found if key in keys), self._urls.key(given) or file)

    async def _candidate(self, given: str, stored: StoredPlan) -> tuple[str, str] | None:
        """A card that was retrieved for a prompt and left out: its key and the reason."""
        candidates = await asyncio.to_thread(self._retrieved, stored.turn_id)
        for key, reason in candidates:
            if key in (given, card_key(*parse_key(given))) or _names(key, given):
                return key, f"{key.removeprefix(CARD_PREFIX)} is not in: {reason}"
        return None

    async def diff(self, params: p.PlanDiffParams) -> p.PlanDiffResult:
        """What changed from plan ``a`` to plan ``b``."""
        a, b = await self._find(params.a), await self._find(params.b)
        difference = diff(a.plan, b.plan)
        return p.PlanDiffResult(lines=list(difference.lines), first_break=difference.first_break)

    async def sent(self, params: p.PlanSentParams) -> p.PlanSentResult:
        """The context that went with a prompt beside the conversation, and the text of one entry.

        Raises:
            TierlineError: ``not_found``: the request is no longer kept, or had no such entry.
        """
        plan_id, entries = await asyncio.to_thread(self.context_of_turn, params.turn_id)
        if not plan_id:
            raise TierlineError(
                "not_found",
                "What was sent with this prompt is not kept.",
                "The newest requests are kept; older ones make room.",
            )
        prompt = await asyncio.to_thread(self.store.load_prompt, plan_id)
        texts: dict[str, list[str]] = {}
        for block in (*prompt.system, *(b for m in prompt.messages for b in m.blocks)):
            texts.setdefault(block.key, []).append(_text(block.block))
        for one in entries:
            if one.kind in ("memo", "recalled"):  # their ids mean nothing to the user
                one.label = _words("\n".join(texts.get(one.key, ()))) or one.label
        text = "\n".join(texts.get(params.key, ()))
        if params.key and not text:
            raise TierlineError(
                "not_found", f"{params.key} was not sent with it.", "List what was."
            )
        return p.PlanSentResult(plan_id, entries, text)

    def context_of_turn(self, turn_id: str) -> tuple[str, list[p.SentEntry]]:
        """The plan of a turn's first request and its context; empty if it is not kept. Blocking."""
        ids = self.store.of_turn(turn_id)
        stored = self.store.get(ids[0]) if ids else None
        if stored is None:
            return "", []
        return stored.plan.plan_id, sent_entries(stored.plan)

    async def show(self, params: p.PlanParams) -> p.PromptTextResult:
        """The exact context as text for a person."""
        if params.plan_id:
            stored = await self._find(params.plan_id)
            prompt = await asyncio.to_thread(self.store.load_prompt, stored.plan.plan_id)
            return p.PromptTextResult(text=readable(prompt), plan_id=stored.plan.plan_id)
        composed = await self._composer.preview(params.prompt)
        return p.PromptTextResult(text=readable(composed.prompt), plan_id=composed.plan.plan_id)

    async def _find(self, part: str) -> StoredPlan:
        """The plan with this id, or with this part of an id."""
        ids = await asyncio.to_thread(self.store.matching, part)
        if len(ids) > 1:
            raise TierlineError(
                "invalid_params",
                f"{len(ids)} plans have {part} in their id.",
                f"Give more of it: {', '.join(ids[:3])}.",
            )
        stored = await asyncio.to_thread(self.store.get, ids[0]) if ids else None
        if stored is None:
            raise TierlineError(
                "not_found",
                f"There is no plan {part}.",
                "List the plans; old ones are dropped to save space.",
            )
        return stored


def _words(text: str) -> str:
    """The first line of the fenced text, or of one without a fence."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    fences = (n for n, line in enumerate(lines[:-1], 1) if line.startswith(("```", "~~~")))
    return clip(lines[next(fences, 0)], 80) if lines else ""


def _names(key: str, given: str) -> bool:
    """Whether a name fits a card: its symbol, the symbol's last part, or a part of the path."""
    path, symbol = parse_key(key)
    where, _, name = given.removeprefix(CARD_PREFIX).rpartition("#")
    if symbol and name and (symbol == name or symbol.endswith(f".{name}")):
        return not where or path == where or path.endswith(f"/{where}")
    return not symbol and path == given


def readable(prompt: Prompt) -> str:
    """A prompt for a person: every block under its key, cache breakpoints marked."""
    lines = [f"# Exact context for {prompt.model}", ""]
    if prompt.tools:
        names = ", ".join(tool.name for tool in prompt.tools)
        lines += ["## tools", "", names, *_mark(prompt.tools_mark), ""]
    for block in prompt.system:
        lines += [f"## system · {block.key}", "", _text(block.block), *_mark(block.mark), ""]
    for message in prompt.messages:
        for block in message.blocks:
            head = f"## {message.role} · {block.key}"
            lines += [head, "", _text(block.block), *_mark(block.mark), ""]
    return "\n".join(lines)


def _mark(ttl: str | None) -> list[str]:
    return ["", f"———— cache breakpoint ({ttl}) ————"] if ttl else []


def _text(block: object) -> str:
    match block:
        case Text(text=text):
            return text
        case Image():
            return f"[picture {block.media_type}, {block.width or '?'} × {block.height or '?'}]"
        case ToolUse():
            return f"[call {block.name} {dict(block.input)}]"
        case ToolResult():
            return "\n".join(_text(part) for part in block.content) or "[no output]"
        case Reasoning():
            return "[the model's thinking, sent back to the same provider]"
    return str(block)


def _info(plan: ContextPlan, stored: StoredPlan | None = None) -> p.PlanInfo:
    listed = [
        p.of(
            p.PlanEntryInfo,
            entry,
            section=str(entry.section),
            included=included,
            code=str(entry.code),
        )
        for included, group in ((True, plan.included), (False, plan.excluded))
        for entry in group
    ]
    unsent = {"session_id": "", "turn_id": "", "created": "", "request_sha256": ""}
    total = sum(entry.tokens for entry in plan.included)
    given = unsent if stored is None else {}
    return p.of(p.PlanInfo, plan, stored, total_tokens=total, entries=listed, **given)
