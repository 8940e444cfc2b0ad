-- Neovim's LSP client as it comes, with no configuration of ours: a chat document and code actions.
-- SERVER is set by the test; what Neovim saw is written to seen.json.

local function wait(what, condition)
  if not vim.wait(20000, condition, 20) then
    io.stderr:write('timed out: ' .. what .. vim.inspect(SEEN) .. table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '|') .. '\n')
    vim.cmd('cquit 1')
  end
end

local root = vim.fn.getcwd()
local config = { name = 'tierline', cmd = SERVER, root_dir = root }
local start = vim.lsp.start and function() return vim.lsp.start(config) end
  or function()
    local id = vim.lsp.start_client(config)
    vim.lsp.buf_attach_client(0, id)
    return id
  end

-- The first action whose title has the words, carried out.
local function act(id, words)
  local position = { line = 0, character = 0 }
  local parameters = {
    textDocument = { uri = vim.uri_from_bufnr(0) },
    range = { start = position, ['end'] = position },
    context = { diagnostics = {} },
  }
  local answers = vim.lsp.buf_request_sync(0, 'textDocument/codeAction', parameters, 20000)
  local titles = {}
  for _, action in ipairs(answers[id].result or {}) do
    table.insert(titles, action.title)
    if action.title:find(words, 1, true) then
      vim.lsp.buf_request(0, 'workspace/executeCommand', {
        command = action.command.command,
        arguments = action.command.arguments,
      })
    end
  end
  return titles
end

local seen = {}
SEEN = seen
vim.cmd('edit src/a.py')
local id = start()
wait('start', function() return vim.lsp.get_client_by_id(id).initialized end)
seen.file = act(id, 'Pin to Tierline context')
vim.wait(500)
seen.pinned = act(id, 'no such action')

vim.cmd('edit talk.chat.md')
vim.lsp.buf_attach_client(0, id)
vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'What is in the file?' })
vim.wait(300)
seen.chat = act(id, 'Ask Tierline')
wait('reply', function()
  local lines = vim.api.nvim_buf_get_lines(0, 0, -1, false)
  return #lines > 3 and vim.tbl_contains(lines, '## You')
end)
seen.text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')

local out = io.open(root .. '/seen.json', 'w')
out:write(vim.fn.json_encode(seen))
out:close()
vim.cmd('qall!')
