"""A limit, prompts that wait, and a word to the running answer, in a real VS Code."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import FrameLocator, Locator, expect

from e2e.views import picture
from e2e.workbench import Workbench
from lsp.conftest import environment
from wire.agents import Use, calls, says
from wire.scripts import o_reply
from wire.servers import Hold, Reply, WireServer, wire_server

pytestmark = pytest.mark.e2e
CALL = list(calls("openai", Use("list_files", {}, "c1")).body)
REPLIES = [
    Reply([CALL[0], Hold(), *CALL[1:]]),
    says("openai", "Only b.py, then."),
    *(o_reply(f"Reply number {n}.") for n in range(1, 6)),
]


@pytest.fixture
def model() -> Iterator[WireServer]:
    """Its first reply stands still before it calls a tool."""
    with wire_server("openai", REPLIES) as server:
        yield server


@pytest.fixture
def model_env(model: WireServer) -> dict[str, str]:
    """Every prompt passes the limit until the user lifts it."""
    return environment(model) | {"TIERLINE_SPENDING_SESSION_TOKENS": "1"}


def prompts(chat: FrameLocator) -> Locator:
    return chat.locator("[data-testid=message][data-role=user] .prompt-text")


def test_a_limit_is_lifted_then_prompts_wait_and_one_reaches_the_turn(
    vscode: Workbench, model: WireServer
) -> None:
    chat = vscode.show_chat()
    box = chat.get_by_test_id("chat-input")
    box.fill("What is here?")
    box.press("Enter")
    question = chat.get_by_test_id("consent")
    expect(question).to_contain_text("for this session would be passed", timeout=60_000)
    picture(vscode, "limit")
    chat.get_by_test_id("consent-always").click()
    assert model.waiting.wait(30)

    box.fill("Later: the tests.")
    box.press("Enter")
    box.fill("Only b.py, please.")
    box.press("Control+Enter")
    waiting = chat.get_by_test_id("waiting")
    expect(waiting).to_have_count(2)
    expect(waiting.nth(1)).to_contain_text("with the next request")
    box.fill("And c.py.")
    box.press("Enter")
    expect(waiting).to_have_count(3)
    picture(vscode, "waiting")
    waiting.nth(2).get_by_test_id("waiting-up").click()
    expect(waiting.nth(1)).to_contain_text("And c.py.")
    waiting.nth(1).get_by_test_id("waiting-remove").click()
    expect(waiting).to_have_count(2)
    model.release()
    expect(prompts(chat)).to_have_text(
        ["What is here?", "Only b.py, please.", "Later: the tests."], timeout=30_000
    )
    expect(chat.get_by_test_id("queue")).to_have_count(0)
