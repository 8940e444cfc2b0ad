"""A VS Code that says it is German, for the client's texts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def german(user_data: Path, folder: Path) -> Iterator[None]:
    """An empty language pack: VS Code speaks English on, and only Tierline's texts are German."""
    texts = folder / "main.i18n.json"
    texts.write_text(json.dumps({"version": "1.0.0", "contents": {}}), encoding="utf-8")
    pack = {
        "hash": "test",
        "label": "Deutsch",
        "extensions": [{"extensionIdentifier": {"id": "acme.german"}, "version": "1.0.0"}],
        "translations": {"vscode": str(texts)},
    }
    known = user_data / "languagepacks.json"
    known.write_text(json.dumps({"de": pack}), encoding="utf-8")
    try:
        yield
    finally:
        known.unlink()
