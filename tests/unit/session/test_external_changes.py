"""What somebody else writes to the open conversation is told to the clients, once and whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tierline import protocol as p
from tierline.history import actions
from tierline.history.messages import Status
from tierline.session.conversation import Conversation
from tierline.session.events import EventBus
from tierline.session.history import external_changes
from tierline.session.history.external_changes import ExternalChangesService
from tierline.session.state.preferences import Preferences
from tierline.session.state.turn import TurnQueue
from tierline.store.sessions import HistoryStore


class Windows:
    """One that follows, and the store of another on the same session."""

    def __init__(self, root: Path, settings: Preferences) -> None:
        self.events: list[Any] = []
        self.bus = EventBus(lambda event: self.events.append(event.body))
        self.queue = TurnQueue()
        self.here = HistoryStore(root)
        self.say(self.here, "user", "Zero")
        self.say(self.here, "assistant", "Reply")
        self.there = HistoryStore(root)
        self.there.load_session(self.here.session_id)
        self.following = ExternalChangesService(
            self.bus, self.queue, Conversation(self.here, settings)
        )
        self.following._told = self.following._now()

    def say(self, store: HistoryStore, role: Any, text: str, status: Status = Status.OK) -> str:
        return store.append(store.make(role, text, status=status)).id

    def open_here_what_was_said_elsewhere(self) -> None:
        self.there.new_session()
        self.say(self.there, "user", "Elsewhere")
        self.say(self.there, "assistant", "Reply")
        self.here.load_session(self.there.session_id)

    async def told(self) -> list[str]:
        """What the clients are told by a look at the log."""
        self.events.clear()
        await self.following.look()
        return [body.kind for body in self.events]


@pytest.fixture
def windows(tmp_path: Path) -> Windows:
    from tierline.config import Settings

    return Windows(tmp_path, Preferences(Settings(), p.ContextMode("light")))


async def test_what_was_written_here_is_no_news(windows: Windows) -> None:
    windows.say(windows.here, "user", "One")
    windows.say(windows.here, "assistant", "Reply")
    assert await windows.told() == []


async def test_a_turn_of_another_window_is_told_once(windows: Windows) -> None:
    windows.say(windows.there, "user", "One")
    windows.say(windows.there, "assistant", "Reply")
    assert await windows.told() == ["stateChanged"]
    assert await windows.told() == []
    windows.there.record(actions.rename("Pears"))
    assert await windows.told() == ["stateChanged"]


async def test_another_session_of_the_same_log_is_no_news(windows: Windows) -> None:
    windows.there.new_session()
    windows.say(windows.there, "user", "Elsewhere")
    assert await windows.told() == []


async def test_a_session_that_is_opened_here_is_no_news(windows: Windows) -> None:
    windows.open_here_what_was_said_elsewhere()
    assert await windows.told() == []


async def test_what_comes_right_behind_the_opening_is_told(windows: Windows) -> None:
    windows.open_here_what_was_said_elsewhere()
    windows.there.record(actions.rename("Pears"))
    assert await windows.told() == ["stateChanged"]


async def test_nothing_is_told_while_a_turn_runs_here(windows: Windows) -> None:
    windows.say(windows.there, "user", "One")
    windows.say(windows.there, "assistant", "Reply")
    windows.queue.waiting.append(object())  # type: ignore[arg-type]
    assert await windows.told() == []
    windows.queue.waiting.clear()
    assert await windows.told() == ["stateChanged"]


async def test_a_turn_that_goes_on_elsewhere_is_told_at_its_end(
    windows: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows.here.drafts, "others_running", lambda: True)
    monkeypatch.setattr(external_changes, "PATIENCE_LOOKS", 2)
    windows.say(windows.there, "user", "One")
    assert await windows.told() == []
    windows.say(windows.there, "assistant", "Calls", Status.TOOL_CALL)
    assert await windows.told() == [], "something new: the wait begins anew"
    assert await windows.told() == []
    windows.say(windows.there, "assistant", "Reply")
    assert await windows.told() == ["stateChanged"]
    windows.say(windows.there, "user", "Two")
    assert await windows.told() == []
    assert await windows.told() == []
    assert await windows.told() == ["stateChanged"], "no reply may ever come"


async def test_a_prompt_without_a_reply_of_a_process_that_is_gone_is_told(windows: Windows) -> None:
    windows.say(windows.there, "user", "One")
    assert await windows.told() == ["stateChanged"]


async def test_that_the_session_was_deleted_elsewhere_is_said_once(windows: Windows) -> None:
    current = windows.here.session_id
    windows.there.delete_session(current)
    assert await windows.told() == ["stateChanged", "notice"]
    assert "deleted in another window" in windows.events[-1].text
    HistoryStore(windows.here.folder.parent).record(actions.rename("Pears"), session_id=current)
    assert await windows.told() == ["stateChanged"]
    windows.say(windows.here, "user", "It comes back")
    assert current in [one.session_id for one in windows.there.list_sessions()]
