"""Prompts, the context mode, and the provider and model that answer."""

from __future__ import annotations

from typing import Literal

from attrs import field

from tierline.protocol.base import ContextMode, define
from tierline.protocol.mentions import EditorContent, Problem
from tierline.protocol.values import ImageInput, ProviderInfo, QueuedPrompt


@define
class EditorPlace:
    """Where the user is in the active editor. Lines count from 1; 0 where that is not known."""

    uri: str
    first_line: int = 0
    last_line: int = 0
    """The selected lines if there is a selection, otherwise those on the screen."""
    cursor_line: int = 0


@define
class ChatSendParams:
    """A prompt. What it names with ``@`` is sent, too: files, symbols, problems, git's changes."""

    text: str
    images: list[ImageInput] = field(factory=list)
    active_uri: str = ""
    """The document that the user looks at; only its name is used, unless it is in the context."""
    selection: str = ""
    """Selected text, sent with the prompt."""
    editor: EditorPlace | None = None
    """What the user looks at, to be sent with the prompt: a small file whole, of a large one the
    part around the cursor. Null to send nothing."""
    mentions: Literal["ask", "text", "confirm"] = "ask"
    """What becomes of ``@`` mentions that name a folder, nothing, or what may not be sent. ``ask``:
    nothing is sent, and ``unclear_mention`` says which. ``text``: they stay plain text.
    ``confirm``: the user agreed, so folders are added and files of secrets are sent."""
    agreed: list[str] = field(factory=list)
    """Mentions as they are written, each of which the user has agreed to, with its size in view:
    these are not asked about."""
    given: list[EditorContent] = field(factory=list)
    """What the editor gives for the prompt's mentions, and what is sent without being named."""
    force: bool = False
    """Append the prompt again even if the same one was the last and got no reply."""
    steer: bool = False
    """While a turn runs: send the prompt with its next request, behind the results of its tools.
    If there is no further request, it is the next prompt as usual."""


@define
class AskParams:
    """Explain, fix, test or document the code at a place; the server's code actions use it."""

    what: Literal["explain", "fix", "tests", "document", "ask"]
    editor: EditorPlace
    selected: bool = False
    """The lines of ``editor`` are selected; otherwise the definition at the cursor is meant."""
    problems: list[Problem] = field(factory=list)
    """The problems to fix."""
    text: str = ""
    """The user's own words; required for ``ask``."""


@define
class ChatSendResult:
    """The turn goes on; its events carry this id."""

    turn_id: str
    message_id: str
    queued: bool = False
    """True if another turn or a compaction is running; this one starts after it."""
    notices: list[str] = field(factory=list)


@define
class ChatEditParams:
    """Change an earlier prompt and go on from there, on a new branch; what followed it stays on
    the branch before.
    """

    group_id: str
    """The turn of the prompt that is changed."""
    prompt: ChatSendParams
    """What is sent instead."""
    keep_images: bool = True
    """Send the earlier prompt's pictures again."""


@define
class QueueParams:
    """A prompt that waits, by its turn's id."""

    turn_id: str


@define
class QueueChangeParams:
    """Another text for a prompt that waits."""

    turn_id: str
    text: str


@define
class QueueMoveParams:
    """Another place for a prompt that waits; 0 is the next one."""

    turn_id: str
    to: int


@define
class QueueSteerParams:
    """Whether a prompt that waits is to reach the running turn at its next step."""

    turn_id: str
    steer: bool = True


@define
class QueueResult:
    """The prompts that wait, the next one first. One that was changed or moved has new ids."""

    prompts: list[QueuedPrompt]


@define
class ChatCancelParams:
    """Cancel one turn, or whatever runs when ``turn_id`` is empty."""

    turn_id: str = ""


@define
class ChatCancelResult:
    """Whether something was running and has been told to stop."""

    cancelled: bool
    turn_id: str = ""


@define
class ChatRetryParams:
    """Ask again: the group is removed from the history, and its prompt is sent again."""

    group_id: str = ""


@define
class ModeParams:
    """The context mode; empty cycles off, light, heavy."""

    mode: Literal["off", "light", "heavy", ""] = ""


@define
class ModeResult:
    """The mode now in force."""

    mode: ContextMode


@define
class EffortParams:
    """How much the model is to think, in this run; empty only asks, auto is the model's default."""

    effort: Literal["", "auto", "none", "minimal", "low", "medium", "high", "xhigh", "max"] = ""


@define
class EffortResult:
    """How much the model is to think."""

    effort: str
    """As it was chosen or set."""
    in_force: str
    """The effort that the request sets: the nearest that this model has. auto: none is set."""
    choices: list[str]
    """What can be chosen for this model; empty if it has no such setting."""


@define
class ProviderListResult:
    """All providers, the active one marked."""

    providers: list[ProviderInfo]
    presets: list[PresetInfo] = field(factory=list)
    """Further providers, to be set up with an address and a key."""


@define
class ProviderSelectParams:
    """Choose a provider and model for this session; empty name returns to the automatic choice."""

    name: str = ""
    model: str = ""
    base_url: str = ""
    consent: bool = False
    """The user agrees to use the server found on this machine."""


@define
class ProviderKeyParams:
    """A key from the editor's secret storage. Kept in memory only, never written, never logged."""

    provider: str
    """The name of a provider that takes a key."""
    key: str
    """Empty forgets the key."""


@define
class ModelsParams:
    """Whose models: a provider's name, or the address of a server found on this machine."""

    provider: str = ""
    base_url: str = ""


@define
class ModelCard:
    """One model. ``summary`` and ``details`` say the rest in words, a line each."""

    name: str
    known: bool
    """False if nobody described it: sizes are assumed."""
    max_input_tokens: int
    max_output_tokens: int
    summary: str
    details: str
    price_input: float | None = None
    """US dollars per million tokens; null if no price is known."""
    price_output: float | None = None
    price_cached: float | None = None
    caching: Literal["explicit", "automatic", "none"] = "none"
    pictures: bool | None = None
    """Null if nobody knows."""
    thinking: Literal["no", "can", "always", "unknown"] = "unknown"
    note: str = ""


@define
class ModelsResult:
    """The models of a provider. ``source`` says who named them."""

    provider: str
    title: str
    models: list[ModelCard]
    source: Literal["server", "table"]
    notice: str = ""
    """Why the server's own list is not here, if it is not."""


@define
class PresetInfo:
    """A provider that can be set up. What stands in braces in its address is to be filled in."""

    name: str
    title: str
    base_url: str
    key_prefix: str = ""
    own: bool = False
    """A server that users run themselves: the address may differ, and a key is rarely needed."""


@define
class KeyCheckParams:
    """A key that is to be tried before it is stored. It is forgotten afterwards."""

    provider: str
    key: str
    base_url: str = ""


@define
class KeyCheckResult:
    """Whether the key is good. ``message`` is one sentence and what to do."""

    outcome: Literal["ok", "refused", "unreachable", "unknown"]
    """unknown: the server was reached, but has no way to try a key without a prompt."""
    message: str
    models: list[str] = field(factory=list)
