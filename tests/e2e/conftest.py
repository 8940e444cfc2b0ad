"""A real VS Code in a real browser with the packaged extension, shared by all tests of a run."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Playwright, sync_playwright

from e2e.extensions import bring
from e2e.views import Settings, changing_settings
from e2e.workbench import Workbench

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import workbench as server  # noqa: E402

CHROMIUM = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    with server.installing():
        server.need(server.BROWSER)
    found = shutil.which("chromium")
    launched = playwright.chromium.launch(executable_path=found, args=CHROMIUM)
    yield launched
    launched.close()


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """User data and extensions folders with the packaged extension in them."""
    vsix = ROOT / "dist" / "tierline.vsix"
    if not vsix.exists():
        pytest.fail("dist/tierline.vsix is missing: run `make package`")
    with server.installing():
        server.code_server()
    base = tmp_path_factory.mktemp("vscode")
    user_data, extensions = base / "user-data", base / "extensions"
    settings = user_data / "User" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps(server.SETTINGS), encoding="utf-8")
    extensions.mkdir()
    server.install_extension(vsix, user_data, extensions)
    return user_data, extensions


@pytest.fixture(scope="session")
def settings_extension(
    installed: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Installed once: it does nothing in the window of a test that gives it no file."""
    bring("settings", installed, tmp_path_factory.mktemp("settings-extension"))


@pytest.fixture
def settings(
    installed: tuple[Path, Path], settings_extension: None, tmp_path: Path
) -> Iterator[Settings]:
    """The user's settings, which a test may change while the window is open."""
    with changing_settings(installed, tmp_path) as changing:
        yield changing


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A fresh copy of the sample project."""
    return Path(shutil.copytree(ROOT / "examples" / "temperature", tmp_path / "temperature"))


@pytest.fixture
def model_env() -> dict[str, str]:
    """Which model answers: the embedded one. Tests that need certain replies name another."""
    return {}


@pytest.fixture
def locale() -> str:
    """VS Code's display language."""
    return "en"


@pytest.fixture
def vscode(
    browser: Browser,
    installed: tuple[Path, Path],
    workspace: Path,
    model_env: dict[str, str],
    locale: str,
    request: pytest.FixtureRequest,
) -> Iterator[Workbench]:
    """The workbench, open on the sample project. On failure its picture and logs are kept."""
    results = ROOT / "tests" / "e2e" / "results" / request.node.name
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True)
    user_data, extensions = installed
    clean = dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY"), "")
    env = {**clean, "TIERLINE_PYTHON": sys.executable, "TIERLINE_LOG": "INFO", **model_env}
    with server.serve(
        workspace, user_data, extensions, log=results / "code-server.log", env=env, locale=locale
    ) as url:
        page = browser.new_page(viewport={"width": 1280, "height": 800}, device_scale_factor=2)
        page.on("console", lambda message: _note(results / "console.log", message.text))
        bench = Workbench(page, url, workspace)
        bench.open()
        yield bench
        failed = getattr(request.node, "failed_call", True)
        if failed:
            page.screenshot(path=results / "failure.png")
            for log in user_data.glob("logs/**/*ierline*.log"):
                shutil.copy(log, results / log.name)
        page.close()
    if not failed and not os.environ.get("TIERLINE_KEEP_RESULTS"):
        shutil.rmtree(results, ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    if report.when == "call":  # type: ignore[attr-defined]
        item.failed_call = report.failed  # type: ignore[attr-defined]
    return report


def _note(file: Path, text: str) -> None:
    with file.open("a", encoding="utf-8") as stream:
        stream.write(text + "\n")
