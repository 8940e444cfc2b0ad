-- An edit that the model proposes, decided part by part with Neovim's LSP client as it comes.
-- SERVER is set by the test; what Neovim saw is written to seen.json.

local seen = { asked = {} }

local function wait(what, condition)
  if not vim.wait(20000, condition, 20) then
    io.stderr:write('timed out: ' .. what .. vim.inspect(seen) .. '\n')
    vim.cmd('cquit 1')
  end
end

-- The question, however this Neovim asks it: the second of three answers.
vim.fn.inputlist = function(lines)
  seen.asked = lines
  return 2
end
vim.ui.select = function(items, options, choose)
  for _, item in ipairs(items) do
    table.insert(seen.asked, options.format_item and options.format_item(item) or tostring(item))
  end
  vim.schedule(function() choose(items[2], 2) end)
end

local finished
local config = {
  name = 'tierline',
  cmd = SERVER,
  root_dir = vim.fn.getcwd(),
  handlers = {
    ['tierline/chat/event'] = function(_, event)
      if event.body.kind == 'turnFinished' then finished = event.body.outcome end
    end,
  },
}
vim.cmd('edit n.txt')
local buffer = vim.api.nvim_get_current_buf()
local id
if vim.lsp.start then
  id = vim.lsp.start(config)
else
  id = vim.lsp.start_client(config)
  vim.lsp.buf_attach_client(buffer, id)
end
wait('start', function() return vim.lsp.get_client_by_id(id).initialized end)

local function run(command, arguments)
  vim.lsp.buf_request(buffer, 'workspace/executeCommand', { command = command, arguments = arguments })
end

-- The action at a line (from 0) whose title has the words, carried out.
local function act(line, words)
  local position = { line = line, character = 0 }
  local parameters = {
    textDocument = { uri = vim.uri_from_bufnr(buffer) },
    range = { start = position, ['end'] = position },
    context = { diagnostics = {} },
  }
  local answers = vim.lsp.buf_request_sync(buffer, 'textDocument/codeAction', parameters, 20000)
  for _, action in ipairs(answers[id].result or {}) do
    if action.title:find(words, 1, true) then
      run(action.command.command, action.command.arguments)
      return true
    end
  end
  return false
end

run('tierline.chat.send', { { text = 'Words.' } })
wait('marks', function() return #vim.diagnostic.get(buffer) == 2 end)
seen.marks = {}
for _, mark in ipairs(vim.diagnostic.get(buffer)) do
  table.insert(seen.marks, { mark.lnum, mark.message })
end
wait('question', function() return #seen.asked > 0 end)
seen.taken = act(2, 'Accept part 1 of 2')
vim.wait(500)
seen.untouched = vim.api.nvim_buf_get_lines(buffer, 2, 3, false)[1]
seen.left = act(10, 'Reject part 2 of 2')
wait('edit', function() return vim.api.nvim_buf_get_lines(buffer, 2, 3, false)[1] == 'two' end)
wait('end', function() return finished ~= nil end)
wait('no marks', function() return #vim.diagnostic.get(buffer) == 0 end)
seen.text = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
vim.cmd('undo')
seen.undone = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)

local out = io.open('seen.json', 'w')
out:write(vim.fn.json_encode(seen))
out:close()
vim.cmd('qall!')
