"""Stored plans: what was sent, why, and what changed."""

from __future__ import annotations

import asyncio

from tierline import protocol as p
from tierline.context.blocks import Image, Reasoning, Text, ToolResult, ToolUse
from tierline.context.plan import ContextPlan, explain
from tierline.context.plan_diff import diff
from tierline.context.prompt import Prompt
from tierline.errors import TierlineError
from tierline.session.files.service import FileService
from tierline.session.files.urls import UrlService
from tierline.session.requests.composer import Composer
from tierline.store.plans import PlanStore, StoredPlan


class PlanService:
    """Answers about plans of earlier requests; without an id, about the next request."""

    def __init__(
        self, composer: Composer, files: FileService, urls: UrlService, store: PlanStore
    ) -> None:
        self._composer = composer
        self._files = files
        self._urls = urls
        self.store = store

    async def get(self, params: p.PlanParams) -> p.PlanInfo:
        """A plan with all entries; the next request's without an id."""
        if not params.plan_id:
            composed = await self._composer.preview()
            return _info(composed.plan, "", "", "", "")
        return _stored_info(await self._find(params.plan_id))

    async def listed(self, params: p.PlanListParams) -> p.PlanListResult:
        """Newest first."""
        found = await asyncio.to_thread(self.store.summaries, max(1, params.limit))
        return p.PlanListResult(
            plans=[
                p.PlanInfo(
                    plan_id=plan.plan_id,
                    session_id=plan.session_id,
                    turn_id=plan.turn_id,
                    created=plan.created,
                    model=plan.model,
                    mode=p.known(p.ContextMode, plan.mode, p.ContextMode.OFF),
                    total_tokens=plan.total_tokens,
                    request_sha256=plan.request_sha256,
                )
                for plan in found
            ]
        )

    async def explain(self, params: p.PlanExplainParams) -> p.PlanExplainResult:
        """Why an item is in or out, in a sentence. A bare path means the file."""
        if params.plan_id:
            plan = (await self._find(params.plan_id)).plan
        else:
            plan = (await self._composer.preview()).plan
        keys = [entry.key for entry in (*plan.included, *plan.excluded)]
        key = params.key if params.key in keys else f"file:{self._files.key(params.key)}"
        key = self._urls.key(params.key) or key
        if key not in keys and (listed := self._files.info(params.key)) is not None:
            return p.PlanExplainResult(key, False, listed.reason, plan.plan_id)
        return p.PlanExplainResult(
            key=key,
            included=any(entry.key == key for entry in plan.included),
            sentence=explain(plan, key),
            plan_id=plan.plan_id,
        )

    async def diff(self, params: p.PlanDiffParams) -> p.PlanDiffResult:
        """What changed from plan ``a`` to plan ``b``."""
        a, b = await self._find(params.a), await self._find(params.b)
        difference = diff(a.plan, b.plan)
        return p.PlanDiffResult(lines=list(difference.lines), first_break=difference.first_break)

    async def show(self, params: p.PlanParams) -> p.PromptTextResult:
        """The exact context as text for a person."""
        if params.plan_id:
            stored = await self._find(params.plan_id)
            prompt = await asyncio.to_thread(self.store.load_prompt, stored.plan.plan_id)
            return p.PromptTextResult(text=readable(prompt), plan_id=params.plan_id)
        composed = await self._composer.preview(params.prompt)
        return p.PromptTextResult(text=readable(composed.prompt), plan_id=composed.plan.plan_id)

    async def _find(self, plan_id: str) -> StoredPlan:
        stored = await asyncio.to_thread(self.store.get, plan_id)
        if stored is None:
            raise TierlineError(
                "not_found",
                f"There is no plan {plan_id}.",
                "List the plans; old ones are dropped to save space.",
            )
        return stored


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


def _stored_info(stored: StoredPlan) -> p.PlanInfo:
    return _info(
        stored.plan,
        stored.session_id,
        stored.turn_id,
        stored.created,
        stored.request_sha256,
    )


def _info(
    plan: ContextPlan, session_id: str, turn_id: str, created: str, sha256: str
) -> p.PlanInfo:
    listed = [
        p.PlanEntryInfo(
            key=entry.key,
            section=str(entry.section),
            tier=entry.tier,
            tokens=entry.tokens,
            included=included,
            code=str(entry.code),
            reason=entry.reason,
        )
        for included, group in ((True, plan.included), (False, plan.excluded))
        for entry in group
    ]
    return p.PlanInfo(
        plan_id=plan.plan_id,
        session_id=session_id,
        turn_id=turn_id,
        created=created,
        model=plan.model,
        mode=plan.mode,
        total_tokens=sum(entry.tokens for entry in plan.included),
        request_sha256=sha256,
        entries=listed,
    )
