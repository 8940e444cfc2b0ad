"""Neovim's own LSP client with the documented configuration, and no code of ours in between."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import workbench
from lsp.conftest import environment
from wire.scripts import o_reply
from wire.servers import wire_server

pytestmark = pytest.mark.e2e
CONFIG = Path(__file__).resolve().parents[2] / "docs" / "editors" / "tierline.lua"

DRIVE = r"""
local tierline = dofile(CONFIG)
local function wait(what, condition)
  if not vim.wait(20000, condition, 20) then
    io.stderr:write('timed out: ' .. what .. '\n')
    vim.cmd('cquit 1')
  end
end
local seen = { messages = {} }
vim.notify = function(text) table.insert(seen.messages, text) end
vim.cmd('edit src/a.py')
tierline.setup({ cmd = SERVER, root = vim.fn.getcwd() })
wait('start', function()
  local client = vim.lsp.get_client_by_id(tierline.client)
  return client and client.initialized
end)
vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'UNSAVED_NAME = 41' })
vim.cmd('TierlineAdd')
vim.cmd('TierlinePin')
tierline.command('files.list', nil, function(result) seen.files = result.files end)
wait('files', function() return seen.files ~= nil end)
vim.cmd('TierlineChat What is in the file?')
wait('reply', function() return tierline.finished ~= nil end)
seen.outcome, seen.reply = tierline.finished, tierline.reply
seen.buffer = vim.api.nvim_buf_get_lines(tierline.buffer, 0, -1, false)
vim.cmd('TierlineBudget')
wait('budget', function() return tierline.budget ~= nil end)
seen.budget = tierline.budget
vim.cmd('TierlineUndo')
wait('undo', function()
  return vim.tbl_contains(seen.messages, 'Tierline: the last turn is taken back')
end)
tierline.command('state.get', nil, function(result) seen.after = result.messages end)
wait('state', function() return seen.after ~= nil end)
local out = io.open('seen.json', 'w')
out:write(vim.fn.json_encode(seen))
out:close()
vim.lsp.stop_client(tierline.client)
vim.cmd('qall!')
"""


def test_attach_add_pin_chat_budget_and_undo(tmp_path: Path) -> None:
    workbench.need(workbench.NEOVIM)
    nvim = shutil.which("nvim")
    assert nvim is not None
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("ON_DISK = 1\n", encoding="utf-8")
    command = ", ".join(json.dumps(part) for part in (sys.executable, "-m", "tierline", "serve"))
    script = tmp_path / "drive.lua"
    names = f"CONFIG = {json.dumps(str(CONFIG))}\nSERVER = {{ {command} }}\n"
    script.write_text(names + DRIVE, encoding="utf-8")
    with wire_server("openai", [o_reply("It holds ", "a name.\n", "Done.")]) as model:
        env = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
            "XDG_CONFIG_HOME": str(tmp_path),
            **environment(model),
        }
        done = subprocess.run(
            [nvim, "--headless", "-u", "NONE", "-i", "NONE", "+luafile drive.lua"],
            cwd=tmp_path, env=env, capture_output=True, text=True, timeout=90, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        sent = json.dumps(model.bodies[0])
    seen = json.loads((tmp_path / "seen.json").read_text(encoding="utf-8"))
    assert "UNSAVED_NAME = 41" in sent, "the buffer is sent, not the disk"
    assert "ON_DISK" not in sent
    assert [(f["path"], f["pin"]) for f in seen["files"]] == [("src/a.py", "sticky")]
    assert (seen["outcome"], seen["reply"]) == ("ok", "It holds a name.\nDone.")
    assert seen["buffer"][-2:] == ["It holds a name.", "Done."]
    assert "> What is in the file?" in seen["buffer"]
    assert seen["budget"]["used"] == sum(s["tokens"] for s in seen["budget"]["sections"])
    assert any(str(seen["budget"]["used"]) in message for message in seen["messages"])
    assert seen["after"] == []
