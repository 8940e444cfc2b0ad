"""From a window's load to the sidebar's first paint, and the extension host's memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from benchmarks.editor_start import measure

pytestmark = pytest.mark.e2e


def test_the_sidebar_is_drawn_soon_and_the_host_stays_small(
    browser: Browser, installed: tuple[Path, Path], tmp_path: Path
) -> None:
    user_data, extensions = installed
    figures = measure(browser, user_data, extensions, tmp_path, rounds=2)
    print(json.dumps(figures))
    # A shared machine draws in software: these would notice a fault, not a slow day.
    assert 0 < figures["first_paint_ms"]["median"] < 15_000, figures
    assert figures["first_paint_ms"]["median"] <= figures["budget_ms"]["median"], figures
    grown = figures["extension_host_mb"] - figures["extension_host_without_tierline_mb"]
    assert grown < 80, figures
