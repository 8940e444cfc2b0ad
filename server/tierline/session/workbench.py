"""The session's port to the editor: applying changes, asking the user, saving."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from tierline import protocol as p
from tierline.context.edits.positions import TextChange, Units
from tierline.tools.running import CommandEnd

CONSENT = "consent"
"""Client feature: shows consent requests itself and answers with ``tierline/consent/answer``."""
EDITS = "edits"
"""Client feature: shows proposed edits itself and answers with ``tierline/edit/…``."""
ASK = "ask"
"""Client feature: asks the user for the question of its command ``tierline.ask``."""
SAVE = "save"
"""Client feature: saves documents when asked with ``tierline/editor/save``."""

NOTIFY = "notify"
"""Client feature: tells the user itself when a long turn has ended."""
QUESTIONS = "questions"
"""The client says that it shows messages with actions (LSP, ``window.showMessage``)."""


@frozen
class FileChange:
    """A change of one document. ``version`` is the editor's, None if it is not open there."""

    uri: str
    changes: tuple[TextChange, ...]
    version: int | None = None
    create: bool = False
    """The file does not exist yet."""
    base: str = ""
    """SHA-256 of the text that the changes are for (``context.text.sha256``)."""


@frozen
class TerminalCommand:
    """A command that the user agreed to. A string is a line for the shell."""

    command: Sequence[str] | str
    folder: str
    seconds: float
    """Time after which it is stopped."""
    most_characters: int
    """Characters of output that are kept."""
    call: str
    """The call of the model that it belongs to."""


@frozen
class Annotation:
    """The texts that the editor shows about a change: its label and a description."""

    label: str
    description: str = ""


@frozen
class ApplyResult:
    """Whether the editor took the change; ``reason`` says why not."""

    ok: bool
    reason: str = ""


class Workbench:
    """The client's side. Every method may be cancelled. This class is a port without a client:
    nothing is applied, every question is answered with no.
    """

    features: frozenset[str] = frozenset()
    """What the client does itself: some of ``ask``, ``consent``, ``edits``, ``save``,
    ``notify``.
    """
    provides: frozenset[str] = frozenset()
    """Kinds of content that the client can send for a mention (``protocol.GivenKind``)."""

    @property
    def units(self) -> Units:
        """The unit of characters in positions."""
        return "utf-16"

    async def apply(self, change: FileChange, annotation: Annotation) -> ApplyResult:  # noqa: ARG002
        """Apply a change as one undo step."""
        return ApplyResult(False, "no editor is connected that could apply it")

    async def ask(self, text: str, actions: Sequence[str]) -> str:  # noqa: ARG002
        """Ask the user with a message; the action chosen, empty if the message was closed."""
        return ""

    async def save(self, uris: Sequence[str]) -> list[str]:  # noqa: ARG002
        """Save documents. Returns those that are saved now."""
        return []

    async def tell(self, text: str) -> None:
        """Show the user an unobtrusive message."""

    async def reveal(self, uri: str, line: int) -> None:
        """Show a document at a line (from 1), if the client can be asked to."""

    async def refresh(self, uris: Sequence[str]) -> None:
        """Update the texts of documents, for clients that send them only on request."""

    async def run(self, _command: TerminalCommand, /) -> CommandEnd | None:
        """Run a command in the client's terminal; None if it has none."""
        return None

    async def provide(self, _wanted: p.EditorProvideParams, /) -> p.EditorContent | None:
        """Content from the editor for a mention; None if it does not provide it."""
        return None
