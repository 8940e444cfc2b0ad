"""A workspace with its snapshots and its conversation, without a server."""

from __future__ import annotations

from pathlib import Path

from tierline import protocol as p
from tierline.context.blocks import Text
from tierline.session.conversation import Conversation
from tierline.session.events import EventBus
from tierline.session.history.back import BackService
from tierline.session.snapshots.content import FileContent
from tierline.session.snapshots.service import SnapshotService
from tierline.session.state.preferences import Preferences
from tierline.session.state.turn import TurnQueue
from tierline.session.workbench import Workbench
from tierline.store.sessions import HistoryStore
from tierline.workspace.buffers import Buffers
from tierline.workspace.loader import Loader
from tierline.workspace.paths import Roots


class World:
    """Made anew from the same folder, it is the next start of the server."""

    def __init__(self, root: Path, preferences: Preferences | None = None) -> None:
        self.root = root
        self.said: list[str] = []
        preferences = preferences or Preferences()
        self.bus = EventBus(self._hear)
        self.loader = Loader(Roots.from_uris([("w", root.as_uri())]), Buffers(dict, dict))
        self.conversation = Conversation(HistoryStore(root), preferences)
        self.snapshots = SnapshotService(
            self.bus, preferences, self.loader, Workbench(), root / ".tierline"
        )
        self.back = BackService(
            self.bus,
            preferences,
            TurnQueue(),
            self.conversation,
            self.loader,
            self.snapshots,
            Workbench(),
        )

    def _hear(self, event: p.Event) -> None:
        if isinstance(event.body, p.Notice):
            self.said.append(event.body.text)

    async def prompt(self, text: str) -> str:
        """A turn begins."""
        message, problem = await self.conversation.add_user((Text(text),), files=())
        assert problem == ""
        await self.snapshots.prompt(message.group_id)
        return message.group_id

    async def tool(self, group: str, name: str, data: bytes | None) -> None:
        """The model changes a file."""
        after = FileContent(data)
        change = await self.snapshots.changing(group, name, after)
        self.user(name, data)
        await self.snapshots.changed(change, name, after)

    def user(self, name: str, data: bytes | None) -> None:
        """The user does."""
        path = self.root / name
        if data is None:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(data)

    def files(self) -> dict[str, bytes]:
        """What the workspace holds."""
        found = sorted(path for path in self.root.iterdir() if path.is_file())
        return {path.name: path.read_bytes() for path in found}

    async def go(self, **params: object) -> p.BackResult:
        """Go somewhere."""
        return await self.back.go(p.BackParams(**params))  # type: ignore[arg-type]

    async def start(self) -> None:
        """What a server does when it begins."""
        await self.conversation.restore_newest()
        await self.back.recover()

    def close(self) -> None:
        """End in order."""
        self.conversation.store.close()
