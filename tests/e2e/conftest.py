"""A real VS Code in a real browser with the packaged extension, shared by all tests of a run.

A worker's tests share one VS Code server, since starting one takes two seconds of processor time.
Each test has its own extension host and server of Tierline, and an emptied browser profile.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, sync_playwright

from e2e.extensions import bring
from e2e.views import Settings, changing_settings
from e2e.workbench import Workbench

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import workbench as server  # noqa: E402

FEATURES_OFF = (
    # It compiles scripts anew instead of taking them from the code cache (Chromium 156).
    "BackgroundResourceFetch",
    # What Playwright turns off; our list stands in the place of its own.
    "AvoidCorsURLLoaderRestartOnRedirect", "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades",
    "LensOverlay", "MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints",
    "PaintHolding", "PreconnectToSearch", "ThirdPartyStoragePartitioning",
)  # fmt: skip
CHROMIUM = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--disable-features={','.join(FEATURES_OFF)}",
]
BUILTIN = (
    "configuration-editing", "emmet", "extension-editing", "git", "git-base",
    "github-authentication", "json", "json-language-features", "markdown-basics",
    "markdown-language-features", "merge-conflict", "npm", "python", "search-result",
    "shellscript", "theme-defaults", "theme-modern-icons", "theme-seti",
    "typescript-language-features",
)  # fmt: skip
"""VS Code's own extensions that a window loads: what tests need, and what VS Code asks for when it
starts. All hundred cost two seconds more.
"""
SCALE = 2 if os.environ.get("TIERLINE_PICTURES") or os.environ.get("TIERLINE_GALLERY") else 1
"""Fine pixels cost time to draw; pictures that are kept have them."""
FORGOTTEN = "cookies,file_systems,indexeddb,local_storage,service_workers,cache_storage"
"""What a window must not find of the one before."""
OpenWindow = Callable[..., Workbench]


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="session")
def profile(
    playwright: Playwright, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrowserContext]:
    """A browser profile that keeps VS Code's scripts compiled: two seconds a window."""
    with server.installing():
        server.need(server.BROWSER)
    context = playwright.chromium.launch_persistent_context(
        tmp_path_factory.mktemp("profile"),
        executable_path=shutil.which("chromium"), args=CHROMIUM,
        viewport={"width": 1280, "height": 800}, device_scale_factor=SCALE,
        # Compressing what goes over loopback costs more than it saves.
        extra_http_headers={"Accept-Encoding": "identity"},
    )  # fmt: skip
    yield context
    context.close()


@pytest.fixture(scope="session")
def browser(profile: BrowserContext) -> Browser:
    """For pages that have no need of VS Code."""
    assert profile.browser is not None
    return profile.browser


def fresh_page(profile: BrowserContext, url: str) -> Page:
    """A page in a profile that remembers nothing of ``url``'s origin but what scripts it loaded."""
    page = profile.new_page()
    session = profile.new_cdp_session(page)
    session.send(
        "Storage.clearDataForOrigin", {"origin": url.rstrip("/"), "storageTypes": FORGOTTEN}
    )
    session.detach()
    return page


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
    bring("settings", (user_data, extensions), base)
    builtin = base / "builtin"
    builtin.mkdir()
    for name in BUILTIN:
        (builtin / name).symlink_to(server.builtin_extensions() / name)
    python = base / "python"
    python.write_text(f'#!/bin/sh\n. {base}/environment\nexec "$TIERLINE_PYTHON" "$@"\n', "utf-8")
    python.chmod(0o755)
    return user_data, extensions


@contextmanager
def serving(installed: tuple[Path, Path], **options: Any) -> Iterator[str]:
    """A VS Code server that starts Tierline's with what ``set_environment`` said last."""
    base = installed[0].parent
    env = {
        "TIERLINE_PYTHON": str(base / "python"),
        "TIERLINE_TEST_SETTINGS": str(base / "settings-wanted.json"),
    }
    log, builtin = base / "code-server.log", base / "builtin"
    with server.serve(*installed, log=log, env=env, builtin=builtin, **options) as url:
        yield url


def set_environment(installed: tuple[Path, Path], env: Mapping[str, str]) -> None:
    """What servers of Tierline are started with from now on."""
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in env.items()]
    (installed[0].parent / "environment").write_text("".join(lines), encoding="utf-8")


@pytest.fixture(scope="session")
def shared_server(installed: tuple[Path, Path]) -> Iterator[str]:
    """The VS Code server of all windows that need nothing special."""
    with serving(installed) as url:
        yield url


@pytest.fixture
def settings(installed: tuple[Path, Path]) -> Iterator[Settings]:
    """The user's settings, which a test may change while the window is open."""
    with changing_settings(installed) as changing:
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
def open_window(
    profile: BrowserContext,
    installed: tuple[Path, Path],
    shared_server: str,
    settings: Settings,
    model_env: dict[str, str],
    locale: str,
    request: pytest.FixtureRequest,
) -> Iterator[OpenWindow]:
    """Opens VS Code on a workspace. On failure its picture and logs are kept.

    ``apart``: with a VS Code server of its own, which has seen no other extensions before.
    """
    results = ROOT / "tests" / "e2e" / "results" / request.node.name
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True)
    usual = {
        "ANTHROPIC_API_KEY": "",
        "OPENAI_API_KEY": "",
        "TIERLINE_PYTHON": sys.executable,
        "TIERLINE_LOG": "INFO",
    }
    pages: list[Page] = []
    with ExitStack() as stack:

        def start(
            workspace: Path, *, trusting: bool = True, apart: bool = False, **env: str
        ) -> Workbench:
            set_environment(installed, usual | model_env | env)
            url = shared_server
            if apart or not trusting or locale != "en":
                url = stack.enter_context(serving(installed, locale=locale, trusting=trusting))
            page = fresh_page(profile, url)
            pages.append(page)
            page.on("console", lambda message: _note(results / "console.log", message.text))
            return Workbench(page, server.opening(url, workspace), workspace)

        yield start
        failed = getattr(request.node, "failed_call", True)
        for page in pages:
            if failed:
                page.screenshot(path=results / "failure.png")
            page.close()
    if failed:
        logs = [*installed[0].glob("logs/**/*ierline*.log"), *installed[0].parent.glob("*.log")]
        for log in sorted(logs, key=lambda log: log.stat().st_mtime):  # the newest stays
            shutil.copy(log, results / log.name)
    elif not os.environ.get("TIERLINE_KEEP_RESULTS"):
        shutil.rmtree(results, ignore_errors=True)


@pytest.fixture
def vscode(open_window: OpenWindow, workspace: Path) -> Workbench:
    """The workbench, open on the sample project."""
    bench = open_window(workspace)
    bench.open()
    return bench


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    if report.when == "call":  # type: ignore[attr-defined]
        item.failed_call = report.failed  # type: ignore[attr-defined]
    return report


def _note(file: Path, text: str) -> None:
    with file.open("a", encoding="utf-8") as stream:
        stream.write(text + "\n")
