"""Every state of the chat in the narrowest and lowest view, in three themes and two languages:
nothing sticks out or is cut, the input is in view, and axe finds nothing serious.

The page is the packaged one; VS Code is not around it, so that this is quick. A view of 260 by 300
pixels is also one of 520 by 600 at 200 %.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page

from e2e.page import READY, complete, open_page, state, tell, use_colours
from e2e.views import CUT, RESULTS, THEMES, violations
from tierline import protocol as p
from tierline.context.accuracy import Accuracy
from tierline.context.fileentry import FileState
from tierline.context.items import Pin
from tierline.context.mode import ContextMode

pytestmark = pytest.mark.e2e
SIZES = ((220, 300), (260, 300), (320, 800))
AT = "2026-01-01T00:00:00Z"
FILE = "file:///w/a.py"
LONG = "src/a/rather/long/path/of/folders/that/goes/on/conversion_of_temperatures.py"
REPLY = f"""## What it does with `ABSOLUTE_ZERO_IN_DEGREES_CELSIUS_AS_FLOAT`

- [x] read {LONG}:12
- [ ] write the tests, also for https://example.org/{"long/" * 20}

| from | to | what it is called where it is measured |
| ---: | ---: | --- |
| 0 | 32 | water freezes |

```python
def fahrenheit(celsius: float, *, rounded_to_so_many_digits_behind_the_point: int = 2) -> float:
    return celsius * 9 / 5 + 32
```

```bash
python -m pytest -q
```

> Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenverordnungsentwurf{"x" * 60}
"""
USED = p.UsageInfo(123_456, 2_345, 120_000, 3_000, cost=1.2345, requests=12)


def budget() -> p.Budget:
    sections = [p.BudgetSection("Files", 123_456, "12 files")]
    return p.Budget("claude-sonnet-4-5", "anthropic", 190_456, 200_000, 8_192, 9_544, 95.2,
                    sections, Accuracy.ESTIMATED, 20.0, "table")  # fmt: skip


def provider(**changes: Any) -> p.ProviderInfo:
    model = "a-provider/with-a-rather-long-name-of-a-model-2026-11-29"
    found = p.ProviderInfo("anthropic", True, model, "a key", title="Anthropic", active=True)
    for name, value in changes.items():
        setattr(found, name, value)
    return found


def one(identity: str, text: str, **more: Any) -> p.ChatMessage:
    role: Literal["user", "assistant"] = "user" if identity.startswith("u") else "assistant"
    return p.ChatMessage(
        identity, f"g-{identity[1:]}", role, text, more.pop("status", "ok"), AT, **more
    )


def conversation(**changes: Any) -> p.State:
    """All that a conversation can show at once."""
    sent = [p.SentGroup("card", 12), p.SentGroup("page", 1, "https://docs.example.org/temperature")]
    calls = [
        p.ToolCallInfo("c1", "m1", "propose_edit", LONG, "asking", "waits for you"),
        p.ToolCallInfo(
            "c2", "m1", "run_command", "python -m pytest -q --maxfail=1", "error", "exit 1"
        ),
    ]
    hunks = [
        p.EditHunk(0, 3, "    return celsius * 9 / 5 + 30\n", "    return celsius * 9 / 5 + 32\n"),
        p.EditHunk(1, 90, "", "x = 1\n"),
    ]
    edits = [
        p.EditInfo("e1", "g-1", "m1", "c1", LONG, "file:///w/a.py", "open", False, 2, 1, hunks),
        p.EditInfo("e2", "g-1", "m1", "c2", LONG, "file:///w/a.py", "applied", False, 2, 1, hunks,
                   [0, 1], review="open"),
    ]  # fmt: skip
    made = p.State(
        seq=10,
        session_id="s1",
        branch="what-if-it-were-in-kelvin-from-the-start",
        messages=[
            one("u1", f"What does `{LONG}` do?\n\nAnd why?", sent=sent, attached=[
                p.Attachment("file", LONG, LONG, f"file:///w/{LONG}")
            ], context_line="+12 cards, 1 page, 2 files · 123.4k tokens · CTX light"),
            one("m1", REPLY, calls=calls, usage=USED, last=USED, tokens=123_456, embedded=True,
                state="Goal: right degrees", thinking="So and so.", thinking_seconds=12.0),
            one("u2", "Two?", status="dropped"),
            one("m2", "Half of it", status="interrupted", note="Stopped before it was complete."),
        ],
        files=[
            p.FileInfo(LONG, f"file:///w/{LONG}", 12_345, Pin.STICKY, FileState.OK),
            p.FileInfo("b.py", "file:///w/b.py", 12, Pin.NONE, FileState.SHED, "It is full."),
            p.FileInfo("c.py", "file:///w/c.py", 0, Pin.NONE, FileState.MISSING, "There is none."),
        ],
        budget=budget(),
        mode=ContextMode.LIGHT,
        provider=provider(),
        consents=[
            p.ConsentInfo("q1", "t1", "c2", "command", "Run this command?",
                          "python -m pytest -q -p no:cacheprovider tests", "In w.", True),
            p.ConsentInfo("q2", "t1", "", "spending", "This request costs about $1.23. Send it?",
                          "98,765 of 123,456 tokens are read anew.", "Or take files out.", True),
        ],
        queue=[
            p.QueuedPrompt("g-3", "u3", "And then write the tests for all of it", steer=True),
            p.QueuedPrompt("g-4", "u4", "And the documentation"),
        ],
        edits=edits,
        compacting=True,
    )  # fmt: skip
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def bare(**changes: Any) -> p.State:
    nothing: dict[str, Any] = {
        name: [] for name in ("messages", "files", "consents", "queue", "edits")
    }
    return conversation(**nothing, branch="main", compacting=False, **changes)


SERVER = {
    "name": "LM Studio",
    "baseUrl": "http://127.0.0.1:1234",
    "model": "qwen3-coder-30b",
    "more": 3,
}
WAYS = {"type": "ways", "ways": {"servers": [SERVER], "editor": ["gpt-5-mini"], "embedded": False}}
PLACE = {"type": "place", "place": {"trusted": False, "virtual": True, "roots": []}}
ACTIVE = {
    "type": "active",
    "active": {"label": f"{LONG}:10-14", "path": LONG, "selected": True, "on": True},
}
MENTIONED = {"type": "mentioned", "given": [], "mentions": [
    {"text": f"@{LONG}", "kind": "file", "label": LONG, "detail": "It is large.",
     "tokens": 12_345, "state": "ok"},
    {"text": "@none.py", "kind": "file", "label": "none.py", "detail": "There is none.",
     "tokens": None, "state": "unknown"},
]}  # fmt: skip
HINT = {
    "type": "hint",
    "level": "warning",
    "text": "The limit of 200,000 tokens was nearly reached.",
}
FAILED = {"type": "connection", "connection": {
    "kind": "failed", "text": "The server ended 3 times within a minute (exit code 1).",
    "advice": "The log says more. If it was set up by Tierline, set it up anew.",
}}  # fmt: skip
STATES: dict[str, list[dict[str, Any]]] = {
    "first-page": [READY, state(bare(provider=provider(origin="embedded"))), WAYS],
    "empty": [READY, state(bare())],
    "conversation": [READY, state(conversation()), ACTIVE, MENTIONED, HINT],
    "restricted": [READY, state(bare()), PLACE],
    "failed": [FAILED],
}
COMMANDS: list[dict[str, Any]] = [
    {
        "path": "/compact [words for the summary]",
        "detail": "Summarise what is older, or say why not.",
    },
    {"path": "/export [markdown|html|json]", "detail": "Take the conversation along."},
]
FOUND: list[dict[str, Any]] = [
    {"path": f"@{LONG}", "detail": "src/a/rather", "kind": "file", "label": LONG, "tokens": 12_345},
    {"path": "@problems", "detail": "Problems of the open file", "kind": "problems"},
]
LISTS: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "commands": ("/co", COMMANDS),
    "mentions": ("@con", FOUND),
}
"""Lists that open at what is typed."""
WHOLE = """() => {
  const box = document.querySelector('.composer').getBoundingClientRect();
  return box.height > 40 && box.top >= 0 && box.bottom <= innerHeight + 1;
}"""


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page()
    yield opened
    opened.close()


@pytest.fixture(params=["en", "de"])
def page(request: pytest.FixtureRequest, tab: Page, tmp_path: Path) -> Page:
    return open_page(tab, tmp_path, request.param)


@pytest.mark.parametrize("name", [*STATES, *LISTS])
def test_nothing_sticks_out_and_all_can_be_read(page: Page, name: str) -> None:
    faults: list[str] = []
    use_colours(page, "light")
    tell(page, *STATES.get(name, STATES["conversation"]))
    if name in LISTS:
        complete(page, *LISTS[name])
    language = page.evaluate("() => document.documentElement.lang")
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        tell(page)
        where = f"{width}x{height}"
        faults += [f"{where}: {fault}" for fault in page.evaluate(CUT)]
        if not page.evaluate(WHOLE):
            faults.append(f"{where}: the input is not in view, whole")
        if faults or os.environ.get("TIERLINE_KEEP_RESULTS"):
            RESULTS.mkdir(exist_ok=True)
            page.screenshot(path=RESULTS / f"layout-{name}-{language}-{where}.png")
    for theme in THEMES if language == "en" else ():
        use_colours(page, theme)
        faults += [f"{theme}: {fault}" for fault in violations(page.main_frame)]
    assert faults == [], "\n".join(faults)
