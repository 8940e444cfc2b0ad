"""How long VS Code takes until the sidebar is drawn, and what its extension host takes.

A real VS Code (code-server) in headless Chromium with the packaged extension, its sidebar open.
Each round loads the window anew, as a reload or a new window does. Times count from the beginning
of the window's navigation: until the sidebar's first paint, until its input can be typed into,
until the server has answered with the budget. What the sidebar itself takes is counted from the
beginning of its own page: before that VS Code loads itself and starts the extension host. Memory
is what is resident of the extension host, with the extension after the last round, and in a VS Code
without it.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 5
PAINT = """() => {
  const entry = performance.getEntriesByType('paint').at(-1);
  return entry === undefined ? null : [performance.timeOrigin, entry.startTime];
}"""


def main() -> dict[str, Any]:
    """Start everything, measure, return the figures.

    Raises:
        SystemExit: the extension has not been packaged, or VS Code cannot be had.
    """
    sys.path.insert(0, str(ROOT / "tools"))
    from playwright.sync_api import sync_playwright

    import workbench as server
    from e2e.conftest import CHROMIUM

    vsix = ROOT / "dist" / "tierline.vsix"
    if not vsix.exists():
        raise SystemExit("dist/tierline.vsix is missing: run `make package`")
    server.need(server.BROWSER)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        base = Path(name)
        user_data, extensions = base / "user-data", base / "extensions"
        (user_data / "User").mkdir(parents=True)
        (user_data / "User" / "settings.json").write_text(json.dumps(server.SETTINGS))
        extensions.mkdir()
        server.install_extension(vsix, user_data, extensions)
        found = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=found, args=CHROMIUM)
        try:
            return measure(browser, user_data, extensions, base)
        finally:
            browser.close()


def measure(
    browser: Any, user_data: Path, extensions: Path, base: Path, rounds: int = ROUNDS
) -> dict[str, Any]:
    """The figures, in ms and MB. ``base`` is a folder for what is made on the way."""
    import workbench as server
    from e2e.workbench import Workbench

    workspace = Path(shutil.copytree(ROOT / "examples" / "temperature", base / "measured"))
    env = {"TIERLINE_PYTHON": sys.executable, "ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": ""}
    log = base / "measured.log"
    seen: list[dict[str, float]] = []
    with server.serve(user_data, extensions, log=log, env=env) as served:
        url = server.opening(served, workspace)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        bench = Workbench(page, url, workspace)
        bench.open()
        bench.show_chat()
        _until(page, lambda: "/" in bench.status.inner_text())
        page.wait_for_timeout(7_000)  # in a browser VS Code writes its layout every five seconds
        for _ in range(rounds):
            page.reload()
            seen.append(_round(bench))
            page.wait_for_timeout(1_500)
        _until(page, lambda: bool(_hosts(extensions)))
        memory = host_mb(extensions)
        page.close()
    bare = base / "no-extensions"
    bare.mkdir()
    with server.serve(user_data, bare, log=log) as served:
        url = server.opening(served, workspace)
        page = browser.new_page()
        Workbench(page, url, workspace).open_bare()
        _until(page, lambda: bool(_hosts(bare)))
        page.wait_for_timeout(8_000)  # VS Code's own extensions start
        without = host_mb(bare)
        page.close()
    return {
        **{
            name: {
                "median": round(statistics.median(one[name] for one in seen)),
                "worst": round(max(one[name] for one in seen)),
            }
            for name in seen[0]
        },
        "extension_host_mb": round(memory),
        "extension_host_without_tierline_mb": round(without),
    }


def _round(bench: Any) -> dict[str, float]:
    began = bench.page.evaluate("performance.timeOrigin")
    since: dict[str, float] = {}

    def drawn() -> bool:
        for frame in bench.page.frames:
            if "fake.html" in frame.url and frame.locator("main.app").count():
                if (painted := frame.evaluate(PAINT)) is None:
                    return False
                since["first_paint_ms"] = sum(painted) - began
                since["of_that_the_sidebar_itself_ms"] = painted[1]
                return True
        return False

    _until(bench.page, drawn)
    bench.chat.get_by_test_id("chat-input").wait_for(state="visible", timeout=60_000)
    since["input_ms"] = time.time() * 1000 - began
    _until(bench.page, lambda: bench.status.count() > 0 and "/" in bench.status.inner_text())
    since["budget_ms"] = time.time() * 1000 - began
    return since


def _until(page: Any, condition: Any, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        page.wait_for_timeout(20)  # also lets Playwright hear of new frames
    raise TimeoutError(f"not within {seconds:g} s")


def host_mb(extensions: Path) -> float:
    """What is resident of the extension host that loads from ``extensions``, in MB.

    Raises:
        LookupError: none runs below this process.
    """
    sizes = _hosts(extensions)
    if not sizes:
        raise LookupError("no extension host runs")
    return max(sizes)


def _hosts(extensions: Path) -> list[float]:
    shown = subprocess.run(
        ["ps", "-ww", "-eo", "pid,ppid,rss,args"], capture_output=True, text=True, check=True
    ).stdout
    rows: dict[int, tuple[int, int, str]] = {}
    for line in shown.splitlines()[1:]:
        number, parent, kilobytes, arguments = line.split(None, 3)
        rows[int(number)] = (int(parent), int(kilobytes), arguments)
    ours = {pid for pid, (_, _, text) in rows.items() if str(extensions) in text}
    sizes = []
    for pid, (_, size, text) in rows.items():
        above = pid
        while above in rows and above not in ours:
            above = rows[above][0]
        if "--type=extensionHost" in text and above in ours:
            sizes.append(size / 1024)
    return sizes


if __name__ == "__main__":
    print(json.dumps(main(), indent=1))
