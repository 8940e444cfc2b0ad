"""The chat's page as it is packaged, in a browser without VS Code around it: states that are rare
in a real editor, in sizes, themes and languages, within seconds.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from tierline import protocol as p
from tierline.lsp.codec import make_converter

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "vscode-client"
COLOURS = json.loads((Path(__file__).parent / "themes.json").read_text(encoding="utf-8"))
"""Theme → the body's class and the variables that VS Code gives to a webview with it."""
READY = {"type": "connection", "connection": {"kind": "ready", "text": "", "advice": ""}}
_HOST = """
const kept = {};
window.posted = [];
window.acquireVsCodeApi = () => ({
  postMessage(it) { window.posted.push(it); },
  getState: () => kept.it,
  setState(it) { kept.it = it; },
});
"""
_STYLE = """
@layer host {
  body { margin: 0; padding: 0 20px; font: var(--vscode-font-size) var(--vscode-font-family);
         color: var(--vscode-editor-foreground); }
  a, a code { color: var(--vscode-textLink-foreground); }
  code { color: var(--vscode-textPreformat-foreground); padding: 1px 3px; }
}
"""
"""What VS Code's own sheet gives to a page before ours."""
_CONVERTER = make_converter()


def open_page(tab: Page, folder: Path, language: str = "en") -> Page:
    """Load the page into ``tab``, empty."""
    dist = (CLIENT / "dist").as_uri()
    spoken = ""
    if language != "en":
        bundle = CLIENT / "l10n" / f"bundle.l10n.{language}.json"
        texts = {"id": language, "bundle": json.loads(bundle.read_text(encoding="utf-8"))}
        spoken = f'<meta name="l10n" content="{escape(json.dumps(texts))}">'
    html = folder / f"chat-{language}.html"
    html.write_text(
        f'<!DOCTYPE html><html lang="{language}"><head><meta charset="utf-8">'
        f"<style>{_STYLE}</style>"
        f'<link rel="stylesheet" href="{dist}/codicon.css">'
        f'<link rel="stylesheet" href="{dist}/webview.css">{spoken}<title>Chat</title></head>'
        f'<body><div id="root"></div><script>{_HOST}</script>'
        f'<script src="{dist}/webview.js"></script></body></html>',
        encoding="utf-8",
    )
    tab.set_viewport_size({"width": 320, "height": 800})
    tab.goto(html.as_uri())
    return tab


def use_colours(page: Page, theme: str) -> None:
    """As VS Code does when the theme changes."""
    page.evaluate(
        """({body, variables}) => {
          document.body.className = body;
          const root = document.documentElement.style;
          root.cssText = '';
          for (const [name, value] of Object.entries(variables)) root.setProperty(name, value);
        }""",
        COLOURS[theme],
    )


def tell(page: Page, *messages: dict[str, Any]) -> None:
    """What the extension host would say; drawn when this returns."""
    page.evaluate(
        """async (messages) => {
          for (const one of messages) window.postMessage(one, '*');
          const frame = () => new Promise((done) => requestAnimationFrame(() => done()));
          await new Promise((done) => setTimeout(done));
          await frame();
          await frame();
        }""",
        messages,
    )


def complete(page: Page, typed: str, items: list[dict[str, Any]]) -> None:
    """Type what opens a list, and answer with what it offers."""
    page.get_by_test_id("chat-input").fill(typed)
    ticket = page.evaluate("() => posted.findLast(({type}) => type === 'complete').ticket")
    tell(page, {"type": "completions", "ticket": ticket, "items": items})


def state(value: p.State) -> dict[str, Any]:
    """The message that carries a state."""
    return {"type": "state", "state": _CONVERTER.unstructure(value)}
