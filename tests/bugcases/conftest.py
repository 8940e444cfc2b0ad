"""Fixtures of the tests that run a real server."""

from __future__ import annotations

from lsp.conftest import model, start, workspace

__all__ = ["model", "start", "workspace"]
