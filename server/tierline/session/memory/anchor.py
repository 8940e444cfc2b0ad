"""The Global Anchor: the STATE block that the model keeps, and how it gets into the context.

The block is taken from each reply (``Conversation.add_assistant``), is an item of every later
request, and can be derived anew from the conversation (``rebuild``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from attrs import define

from tierline import protocol as p
from tierline.context.items import Item, Section
from tierline.context.text import clip
from tierline.errors import TierlineError
from tierline.history import actions
from tierline.history.groups import is_prompt
from tierline.history.isolation import isolate
from tierline.history.messages import Message
from tierline.history.parser import full_text
from tierline.history.scratchpad import section
from tierline.history.selection import select
from tierline.history.state import anchor, extract, fields, guidelines, rebuild_request
from tierline.history.timeline import Timeline
from tierline.history.truncation import truncate
from tierline.session.conversation import Conversation
from tierline.session.events import EventBus
from tierline.session.model_questions import ModelQuestions
from tierline.session.models import ModelService
from tierline.session.state.preferences import Preferences
from tierline.session.state.turn import TurnQueue
from tierline.session.texts import redact

AUTO_MINIMUM = 16_000
"""Smallest window, in tokens, in which ``auto`` asks for the block: small models write it badly and
have no room for it."""
GUIDELINES_KEY = "system:history"
STATE_KEY = "state:anchor"
SCRATCHPAD_KEY = "state:scratchpad"
REBUILD_TOKENS = 600
"""Longest answer to ``rebuild``."""
_CHARACTERS_PER_TOKEN = 3
"""A low estimate, so that a text cut by it fits."""


@define(eq=False, repr=False, slots=False)
class Anchor:
    """The session's STATE: whether it is kept, what it is, and deriving it anew."""

    _bus: EventBus
    _preferences: Preferences
    _queue: TurnQueue
    _conversation: Conversation
    _models: ModelService
    _asker: ModelQuestions

    def __attrs_post_init__(self) -> None:
        self._conversation.keeps_state = lambda: self.enabled

    @property
    def enabled(self) -> bool:
        """Whether the model is asked for the block (setting ``history.state_anchor``)."""
        choice = self._preferences.settings.history.state_anchor
        if choice != "auto":
            return choice == "on"
        return self._models.facts().max_input_tokens >= AUTO_MINIMUM

    async def get(self, _params: p.NoParams) -> p.AnchorResult:
        """The block in force."""
        return self._result()

    async def rebuild(self, _params: p.NoParams) -> p.AnchorResult:
        """Ask the model for the block that fits the window as it is now, and put it in force.

        Raises:
            TierlineError: ``not_found`` without a conversation, ``conflict`` during a reply,
                ``no_state`` if the answer has no block, or the provider's own error. The old block
                stays in force.
        """
        self._queue.require_quiet()
        window = self._window()
        if not window:
            raise TierlineError(
                "not_found",
                "There is no conversation to derive STATE from.",
                "Send a prompt first.",
            )
        room = self._models.facts().max_input_tokens - REBUILD_TOKENS - 500
        text = "\n\n".join(_line(message) for message in window)
        if len(text) > (most := max(room, 500) * _CHARACTERS_PER_TOKEN):
            text = text[-most:]
        reply = await self._asker.ask(rebuild_request(text), max_output_tokens=REBUILD_TOKENS)
        state = extract(reply).state or (reply.strip() if fields(reply) else "")
        if not state:
            raise TierlineError(
                "no_state",
                "The model's answer has no STATE block; the one in force stays.",
                "Try again, or choose another model.",
            )
        state, _ = redact(clip(state, REBUILD_TOKENS * 8))
        problem = await self._conversation.act(actions.state(state, window[-1].group_id))
        if problem:
            raise TierlineError("storage", problem, "Nothing was changed.")
        self._bus.publish(p.NotesChanged("anchor"))
        self._bus.context_changed()
        return self._result()

    def _result(self) -> p.AnchorResult:
        now = self._conversation.timeline()
        return p.AnchorResult(
            text=anchor(now.state), fields=fields(now.state), enabled=self.enabled
        )

    def _window(self) -> tuple[Message, ...]:
        """The conversation as the next request would have it."""
        hidden = set(self._queue.groups)
        messages = [m for m in self._conversation.context() if m.group_id not in hidden]
        chosen = select(
            isolate(messages, self._models.strategy),
            strategy="window" if self._conversation.window else "full",
            size=self._conversation.window,
            query="",
            search=None,
        )
        return tuple(truncate(chosen, group_id=""))


def note_items(
    now: Timeline,
    *,
    enabled: bool,
    tools: Collection[str],
    volatile: bool,
    count: Callable[[object], int],
) -> list[Item]:
    """History guidelines, Global Anchor and scratchpad as items of a request.

    ``tools``: names of what the model can call. ``volatile`` puts the two notes in the tail, for
    policies that would rewrite the conversation whenever one of them changes; the log-structured
    policy appends a change like that of a file, when that is cheaper.
    """
    items: list[Item] = []
    if words := guidelines(state=enabled, tools=tools):
        items.append(
            Item.of_text(
                GUIDELINES_KEY,
                Section.SYSTEM,
                words,
                count(words),
                priority=100,
                required=True,
                origin="history guidelines",
            )
        )
    notes = (
        (STATE_KEY, anchor(now.state) if enabled else "", "STATE of the newest reply"),
        (SCRATCHPAD_KEY, section(now.scratchpad), "scratchpad of this session"),
    )
    items += [
        Item.of_text(
            key, Section.STATE, text, count(text), priority=90, volatile=volatile, origin=origin
        )
        for key, text, origin in notes
        if text
    ]
    return items


def _line(message: Message) -> str:
    who = "USER" if is_prompt(message) else "ASSISTANT" if message.role == "assistant" else "TOOL"
    return f"{who}: {full_text(message.content)}"
