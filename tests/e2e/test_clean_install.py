"""The VSIX in a fresh VS Code with no Python set: it makes its own environment, and chat works.

Downloads some 200 MB from the package index, so it runs only when asked: ``make clean-install``.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

import workbench as server
from e2e.workbench import Workbench

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.skipif(
        "TIERLINE_CLEAN_INSTALL" not in os.environ, reason="downloads 200 MB: make clean-install"
    ),
]
ROOT = Path(__file__).resolve().parents[2]
FOREIGN = ("TIERLINE_PYTHON", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PIP_TARGET")
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")


def test_a_fresh_editor_sets_up_its_server_and_answers(
    browser: Browser, workspace: Path, tmp_path: Path
) -> None:
    user_data, extensions = tmp_path / "user-data", tmp_path / "extensions"
    settings = user_data / "User" / "settings.json"
    settings.parent.mkdir(parents=True)
    wanted = {k: v for k, v in server.SETTINGS.items() if k != "workbench.startupEditor"}
    settings.write_text(json.dumps(wanted), encoding="utf-8")
    extensions.mkdir()
    server.install_extension(ROOT / "dist" / "tierline.vsix", user_data, extensions)
    folders = os.environ["PATH"].split(os.pathsep)
    here = Path(sys.prefix).resolve()
    path = os.pathsep.join(one for one in folders if here not in Path(one).resolve().parents)
    assert shutil.which("python3", path=path), "a Python of the system"
    env = {**dict.fromkeys((*FOREIGN, *KEYS), ""), "PATH": path}
    results = ROOT / "tests" / "e2e" / "results" / "clean-install"
    results.mkdir(parents=True, exist_ok=True)
    with server.serve(
        workspace, user_data, extensions, log=results / "code-server.log", env=env
    ) as url:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        bench = Workbench(page, url, workspace)
        bench.open()
        expect(page.get_by_text("Get Started with Tierline").first).to_be_visible(timeout=60_000)
        began = time.monotonic()
        chat = bench.show_chat()
        expect(chat.get_by_test_id("connection")).to_contain_text("Setting up", timeout=60_000)
        page.screenshot(path=results / "setting-up.png")
        expect(bench.status).to_contain_text("/", timeout=540_000)
        ready = time.monotonic() - began
        box = chat.get_by_test_id("chat-input")
        box.fill("Say hello.")
        box.press("Enter")
        reply = chat.locator("[data-testid=message][data-role=assistant]").last
        expect(reply).to_have_attribute("data-status", "ok", timeout=180_000)
        assert reply.inner_text().strip()
        page.screenshot(path=results / "answered.png")
        print(f"set up in {ready:.0f} s")
        page.close()
    made = list(user_data.glob("User/globalStorage/tierline.tierline/server/pyvenv.cfg"))
    assert len(made) == 1, "the environment is the extension's own"
    marker = json.loads((made[0].parent / "tierline-environment.json").read_text("utf-8"))
    assert marker["source"].startswith("tierline-"), "from the wheel in the package"
    shutil.rmtree(results, ignore_errors=True)
