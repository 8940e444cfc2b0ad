"""A small project with a structure, for tests of the symbol index, and helpers around it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lsp.editor import Editor
from tierline import protocol as p
from wire.servers import WireServer

ON = {"env": {"TIERLINE_SYMBOLS_ENABLED": "true"}}


def make_project(root: Path) -> Path:
    """A project with a structure: a parser that everything uses, its users, and distractions."""
    files = {
        "src/parser/tokens.py": '''"""Tokens of the query language."""

class TokenStream:
    """Reads tokens one at a time."""

    def next_token(self) -> str:
        """The next token, or an empty text at the end."""
        return ""

def tokenize_query(text: str) -> TokenStream:
    """Split a query into tokens."""
    return TokenStream()
''',
        "src/parser/grammar.py": '''from src.parser.tokens import TokenStream, tokenize_query

def parse_query(text: str) -> list[str]:
    """Parse a query."""
    stream = tokenize_query(text)
    return [stream.next_token()]
''',
        "src/web/views.py": '''from src.parser.grammar import parse_query

def search_view(request: dict[str, str]) -> list[str]:
    """Answer a search request."""
    return parse_query(request["q"])
''',
        "src/web/pages.py": '''def render_footer(year: int) -> str:
    """The page footer with the copyright."""
    return f"(c) {year}"
''',
        "src/store/cache.py": '''class PageCache:
    """Keeps rendered pages."""

    def evict_oldest(self) -> None:
        """Drop the page that was used longest ago."""
''',
        "docs/guide.md": "# Guide\n\n## Searching\n\nUse the search box.\n",
        "secret.env": "TOKEN=1\n",
        "ignored/made.py": "def made_up_thing() -> None: ...\n",
        ".gitignore": "ignored/\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (root / ".git").mkdir()
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    return root


async def ready(editor: Editor) -> p.SymbolsStatus:
    """Wait until the index is."""
    await editor.until(
        lambda: any(e.status.state == "ready" for e in editor.bodies(p.SymbolsChanged)), 30
    )
    status: p.SymbolsStatus = await editor.ask("symbols/status")
    return status


def sent(model: WireServer) -> str:
    return json.dumps(model.bodies[-1]["messages"])


def records(root: Path) -> list[dict[str, Any]]:
    """Everything in a workspace's history log."""
    raw = (root / ".tierline" / "history.jsonl").read_bytes()
    return [json.loads(line) for line in raw.split(b"\n") if line]


def messages(root: Path) -> list[dict[str, Any]]:
    """The messages among them."""
    return [record for record in records(root) if record["type"] == "message"]
