"""A Neovim with the documented configuration that stays open, driven from outside as by a user."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import workbench
from editors.driving import program

CONFIG = Path(__file__).resolve().parents[2] / "docs" / "editors" / "tierline.lua"
HELPERS = """
seen = {}
vim.notify = function(text) table.insert(seen, text) end
function ask(name, parameters)
  local answer
  tierline.command(name, parameters, function(result) answer = result end)
  vim.wait(20000, function() return answer ~= nil end, 10)
  return answer
end
function run(line) vim.cmd(line) return true end
function told() return vim.api.nvim_buf_get_lines(tierline.buffer, 0, -1, false) end
"""


class Neovim:
    """One Neovim. ``lua`` is an expression of Lua in it; what it gives comes back."""

    def __init__(self, command: list[str], socket: Path) -> None:
        self._command = command
        self._socket = socket

    def lua(self, expression: str) -> Any:
        written = expression.replace("'", "''")
        answer = self._socket.with_suffix(".json")  # on a terminal it would be cut into lines
        remote = f"writefile([json_encode(luaeval('{written}'))], '{answer}')"
        done = subprocess.run(
            [*self._command, "--server", str(self._socket), "--remote-expr", remote],
            capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(answer.read_text(encoding="utf-8"))

    def run(self, line: str) -> None:
        """A command as it is typed behind the colon."""
        self.lua(f"run({json.dumps(line)})")

    def ask(self, name: str, parameters: Mapping[str, Any] | None = None) -> Any:
        """A command of the server, with what it answers."""
        given = f", vim.json.decode({json.dumps(json.dumps(parameters))})" if parameters else ""
        return self.lua(f"ask({json.dumps(name)}{given})")

    def until(self, found: Callable[[], Any], seconds: float = 30) -> Any:
        end = time.monotonic() + seconds
        while not (value := found()):
            assert time.monotonic() < end, self.lua("seen")
            time.sleep(0.05)
        return value


@contextmanager
def neovim(workspace: Path, file: str, env: Mapping[str, str], folder: Path) -> Iterator[Neovim]:
    """Open ``file`` of ``workspace``; ``folder`` takes the script and the socket."""
    binary = program("TIERLINE_NVIM", "nvim", workbench.NEOVIM)
    server = ", ".join(json.dumps(part) for part in (sys.executable, "-m", "tierline", "serve"))
    script, socket = folder / "together.lua", folder / "nvim.sock"
    begin = (
        f"tierline = dofile({json.dumps(str(CONFIG))})\n{HELPERS}\nvim.cmd('edit {file}')\n"
        f"tierline.setup({{ cmd = {{ {server} }}, root = vim.fn.getcwd() }})\n"
    )
    script.write_text(begin, encoding="utf-8")
    homes = {f"XDG_{name}_HOME": str(folder / f"nvim-{name}") for name in ("DATA", "STATE")}
    process = subprocess.Popen(
        [binary, "--headless", "-u", "NONE", "-i", "NONE", "--listen", str(socket),
         f"+luafile {script}"],
        cwd=workspace, env={**os.environ, **homes, **env}, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    opened = Neovim([binary], socket)
    try:
        opened.until(socket.exists)
        opened.until(
            lambda: opened.lua("(vim.lsp.get_client_by_id(tierline.client) or {}).initialized")
        )
        yield opened
        opened.lua("run('call timer_start(1, {-> execute(\"qall!\")})')")  # after its answer
        process.wait(20)
    finally:
        process.kill()
        process.wait()
