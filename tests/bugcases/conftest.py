"""Fixtures of the tests that run a real server."""

from __future__ import annotations

from lsp.conftest import model, open_editor, start, workspace

__all__ = ["model", "open_editor", "start", "workspace"]
