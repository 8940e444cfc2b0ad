"""Pictures of every view in three themes, for people to look at, in a narrow and a wide sidebar.

Only with ``TIERLINE_GALLERY=folder``. In each state the webviews are also asked what is cut off or
sticks out, and axe what is hard to read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from e2e.gallery import NARROW, NORMAL, WIDE, Gallery, answered, hover, pane, quick, say
from e2e.views import PAGE, Settings, pictures, put_page, webview
from e2e.workbench import Workbench
from lsp.conftest import environment
from wire.agents import Use, calls, says
from wire.caching import CachingServer
from wire.scripts import a_end, a_start, a_texts
from wire.servers import Hold, Kind, Reply

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(pictures() is None, reason="TIERLINE_GALLERY names no folder"),
]
REPLY = (
    "## Two functions\n\n`fahrenheit` multiplies and adds, see [convert.py](convert.py):\n\n"
    "```python\ndef fahrenheit(celsius: float) -> float:\n"
    '    """Degrees Fahrenheit for degrees Celsius, rounded to nothing."""\n'
    "    return celsius * 9 / 5 + 32\n```\n\n"
    "| from | to | what it is |\n| --- | --- | --- |\n| 0 | 32 | water freezes |\n"
    "| 100 | 212 | water boils |\n\n- It rounds nothing.\n- *No* limits.\n\n"
)
REST = "`kelvin` refuses what lies below absolute zero.\n\n"
STATE = "### STATE\nGoal: right degrees\nContext: convert.py\nResolved: -\nTechnical Anchors: 32"
SECOND = '''

def rankine(celsius: float) -> float:
    """Degrees Rankine for degrees Celsius."""
    return (celsius + 273) * 9 / 5
'''


def edit(call: str, *pairs: tuple[str, str], path: str = "convert.py") -> Use:
    edits = [{"search": old, "replace": new} for old, new in pairs]
    return Use("propose_edit", {"path": path, "edits": edits}, call)


def script() -> list[Reply]:
    """A reply that stands still half-way, one for a link, an agent with a command and two edits."""
    kind: Kind = "anthropic"
    test = ["python", "-m", "pytest", "-q", "tests/test_convert.py", "--maxfail=1"]
    pins = {"items": ["tests/test_convert.py"], "why": "It says what must hold."}
    streamed: list[bytes | Hold] = [*a_texts(0, REPLY, "Both functions take any number; "), Hold()]
    offset = ("9 / 5 + 30", "9 / 5 + 32")
    return [
        Reply([a_start(), *streamed, *a_texts(0, REST + STATE), *a_end()]),
        says(kind, "The page says nothing about rounding.\n\n" + STATE),
        calls(
            kind,
            Use("search_code", {"query": "def fahrenheit"}, "find"),
            Use("suggest_pins", pins, "pins"),
            text="I look for the conversion and run the tests.",
        ),
        calls(kind, Use("run_command", {"argv": test}, "test1")),
        calls(kind, edit("edit1", ("9 / 5 + 30", "9 / 5 + 31")), text="The offset is wrong."),
        calls(
            kind,
            edit("edit2", offset, ("celsius + 273)", "celsius + 273.15)")),
            text="Right, it is 32; and absolute zero has decimals.",
        ),
        says(kind, "Mended in part: `fahrenheit` added 30 instead of 32.\n\n" + STATE),
        says(kind, "It answers.\n\n" + STATE),
    ]


@pytest.fixture
def model() -> Iterator[CachingServer]:
    with CachingServer(minimum=64, script=script()) as server:
        yield server


@pytest.fixture
def model_env(model: CachingServer, tmp_path: Path) -> dict[str, str]:
    return environment(model) | {
        "TIERLINE_DATA_DIR": str(tmp_path / "data"),
        "TIERLINE_PROVIDER_MODEL": "claude-sonnet-4-5",
    }


@pytest.fixture
def workspace(workspace: Path) -> Path:
    put_page(workspace)
    source = workspace / "convert.py"
    source.write_text(source.read_text("utf-8") + SECOND, encoding="utf-8")
    return workspace


@pytest.fixture
def gallery(vscode: Workbench, settings: Settings) -> Gallery:
    return Gallery(vscode, settings)


def test_every_view_in_three_themes(
    vscode: Workbench, model: CachingServer, gallery: Gallery
) -> None:
    page, shot = vscode.page, gallery
    chat = vscode.show_chat()
    expect(vscode.status).to_contain_text("/", timeout=60_000)
    pane(vscode, "Context", False)
    shot("empty", NARROW, NORMAL)
    pane(vscode, "Context", True)
    pane(vscode, "Memos", True)
    shot("nothing", NARROW, NORMAL)
    vscode.command("Tierline: Open the Walkthrough")
    expect(page.locator(".gettingStartedContainer .getting-started-step")).to_have_count(5)
    shot("walkthrough")
    page.keyboard.press("Control+w")

    for name in ("convert.py", "README.md"):
        page.keyboard.press("Control+Shift+E")
        vscode.context_menu(name, "Pin to Tierline" if name == "convert.py" else "Add to Tierline")
    vscode.show_chat()
    vscode.explorer_open("convert.py")
    vscode.show_chat()
    vscode.command("Tierline: Add Web Page to Context")
    expect(page.locator(".quick-input-title")).to_contain_text("web page", timeout=20_000)
    page.locator(".quick-input-widget input").first.fill(PAGE.url)
    shot("web-page")
    page.keyboard.press("Enter")

    pane(vscode, "Memos", False)
    pane(vscode, "Context", False)
    say(chat, "What does convert.py do, and which temperatures does it take?")
    expect(chat.get_by_text("Both functions take any number")).to_be_visible(timeout=30_000)
    shot("streaming", NARROW, NORMAL, WIDE)
    model.release()
    answered(chat)
    shot("budget-hover", ready=lambda: hover(vscode, vscode.status, "tokens"))
    page.mouse.move(600, 300)
    vscode.command("Tierline: Show Token Budget")
    expect(quick(vscode)).to_contain_text("Total", timeout=20_000)
    shot("budget")
    page.keyboard.press("Escape")

    say(chat, "What does https://docs.example.net/a/rather/long/path/to/rounding.html say?")
    expect(chat.get_by_test_id("consent")).to_be_visible(timeout=30_000)
    shot("consent-link", NARROW, NORMAL)
    chat.get_by_test_id("consent-deny").click()
    answered(chat)

    say(chat, "The Fahrenheit values are wrong. Mend it, and run the tests.")
    expect(chat.get_by_test_id("consent-command")).to_be_visible(timeout=60_000)
    shot("consent-command", NARROW, NORMAL)
    chat.get_by_test_id("consent-deny").click()
    edits = chat.get_by_test_id("edit")
    expect(edits.last).to_contain_text("+ 31", timeout=60_000)
    shot("edit-one", NARROW, NORMAL)
    chat.get_by_test_id("edit-reject").click()
    chat.get_by_test_id("edit-reason").fill("Water freezes at 32 degrees.")
    shot("edit-reason", NARROW, NORMAL)
    chat.get_by_test_id("edit-reason").press("Enter")
    expect(edits.last).to_contain_text("273.15", timeout=60_000)
    edits.last.get_by_role("checkbox").last.uncheck()
    shot("edit-parts", NARROW, NORMAL)
    chat.get_by_test_id("edit-preview").click()
    expect(page.locator(".monaco-diff-editor")).to_be_visible(timeout=30_000)
    shot("edit-preview")
    chat.get_by_test_id("edit-accept").click()
    expect(edits.last).to_have_attribute("data-state", "partly", timeout=30_000)
    answered(chat)
    for one in chat.get_by_test_id("call").all():
        one.locator("summary").click()
    edits.first.scroll_into_view_if_needed()
    shot("edits-done", NARROW, NORMAL, WIDE)

    pane(vscode, "Context", True)
    page.wait_for_timeout(500)
    shot("context-tree", NARROW, NORMAL)
    rows = page.locator("[aria-label='Context'] .monaco-list-row")
    row = rows.filter(has_text="convert.py").first
    shot("context-hover", ready=lambda: hover(vscode, row, "Why"))
    page.mouse.move(600, 300)
    chat.get_by_test_id("budget-line").last.click()
    expect(page.locator(".quick-input-title")).to_contain_text("CTX", timeout=20_000)
    shot("turn-line")
    page.keyboard.press("Escape")
    pane(vscode, "Context", False)

    memos(vscode, gallery)

    for number in range(5):
        say(chat, f"And number {number}?")
        answered(chat)
    box = chat.get_by_test_id("chat-input")
    box.press_sequentially("/con")
    expect(chat.locator("[role=listbox]")).to_be_visible()
    shot("commands", NARROW, NORMAL)
    box.fill("")
    box.press_sequentially("@con")
    expect(chat.locator("[role=listbox]")).to_be_visible()
    shot("mentions", NARROW, NORMAL)
    box.fill("")
    replies = chat.locator("[data-testid=message][data-role=assistant]")
    replies.first.scroll_into_view_if_needed()
    replies.first.hover()
    replies.first.get_by_label("Begin a branch here").click()
    expect(chat.get_by_test_id("branch-chip")).to_be_visible(timeout=20_000)
    say(chat, "Only on the branch")
    answered(chat)
    shot("branch", NARROW, NORMAL)
    chat.get_by_test_id("branch-chip").click()
    expect(quick(vscode)).to_contain_text("main", timeout=20_000)
    shot("branches")
    quick(vscode).locator(".monaco-list-row", has_text="main").first.click()
    expect(chat.get_by_test_id("branch-chip")).to_be_hidden(timeout=20_000)
    vscode.command("Tierline: Browse and Search Sessions")
    expect(quick(vscode)).to_contain_text("convert.py", timeout=20_000)
    shot("sessions")
    page.locator(".quick-input-widget input").first.fill("fahrenheit")
    page.wait_for_timeout(800)
    shot("sessions-search")
    page.keyboard.press("Escape")

    vscode.command("Tierline: Show Exact Context")
    expect(page.locator(".tab", has_text="Exact context")).to_be_visible(timeout=20_000)
    page.wait_for_timeout(800)
    shot("exact-context")
    vscode.command("Tierline: Show Prompt Cache")
    cache = webview(vscode, "cache")
    expect(cache.get_by_test_id("charts")).to_be_visible(timeout=30_000)
    shot("cache", NORMAL, WIDE)
    cache.get_by_test_id("charts").scroll_into_view_if_needed()
    shot("charts", NORMAL, WIDE)
    cache.locator("details summary", has_text="table").click()
    cache.evaluate("() => window.scrollTo(0, 100000)")
    shot("charts-table", NORMAL, WIDE)
    vscode.command("Preferences: Open Settings (UI)")
    expect(page.locator(".settings-editor")).to_be_visible(timeout=30_000)
    page.keyboard.type("@ext:tierline.tierline")
    expect(page.locator(".settings-editor")).to_contain_text("Context Mode", timeout=30_000)
    page.wait_for_timeout(1_000)
    shot("settings")
    # Where prompts go is set for the machine, which is the remote one here.
    page.locator(".settings-tabs-widget .action-label", has_text="Remote").click()
    expect(page.locator(".settings-editor")).to_contain_text("Base Url", timeout=30_000)
    shot("settings-machine")
    assert gallery.faults == [], "\n".join(gallery.faults)


def memos(bench: Workbench, shot: Gallery) -> None:
    page = bench.page
    port = "The integration database listens on port 5544, because 5432 is taken by the old one."
    for content, tags, scope in (
        (port, "database port", "This project"),
        ("I prefer short replies.", "style", "All my projects"),
    ):
        bench.command("Tierline: New Memo")
        box = page.locator(".quick-input-widget input").first
        for part in (content, tags):
            expect(page.locator(".quick-input-title")).to_contain_text(
                "New memo" if part == content else "Tags", timeout=20_000
            )
            box.fill(part)
            if part == content and scope == "This project":
                shot("memo-new")
            page.keyboard.press("Enter")
        page.locator(".quick-input-list .monaco-list-row", has_text=scope).first.click()
    pane(bench, "Memos", True)
    rows = page.locator("[aria-label='Memos'] .monaco-list-row[aria-level='2']")
    expect(rows).to_have_count(2, timeout=20_000)
    shot("memos", NARROW, NORMAL)
    bench.command("Tierline: Search Memos")
    page.locator(".quick-input-widget input").first.fill("port")
    page.wait_for_timeout(700)
    shot("memos-search")
    page.keyboard.press("Escape")
    rows.first.click()
    expect(page.locator(".tabs-container .tab", has_text="The integration")).to_be_visible(
        timeout=20_000
    )
    page.wait_for_timeout(500)
    shot("memo-edit")
    page.keyboard.press("Control+w")
    pane(bench, "Memos", False)
