-- What the user looks at, with the documented configuration: code actions on a diagnostic and on
-- code, mentions of problems and of git's changes, an instruction file. CONFIG and SERVER are set by
-- the test, and what Neovim saw is written to seen.json.

local tierline = dofile(CONFIG)
local seen = { said = {} }
vim.notify = function(text) table.insert(seen.said, text) end
vim.ui.input = function(_, done) done('Why is it one?') end

local function wait(what, condition)
  if not vim.wait(20000, condition, 20) then
    io.stderr:write('timed out: ' .. what .. '\n' .. vim.inspect(seen) .. '\n')
    vim.cmd('cquit 1')
  end
end

local function ended() return tierline.finished ~= nil end

vim.cmd('edit src/a.py')
tierline.setup({ cmd = SERVER, root = vim.fn.getcwd() })
wait('start', function()
  local client = vim.lsp.get_client_by_id(tierline.client)
  return client and client.initialized
end)
local namespace = vim.api.nvim_create_namespace('linter')
vim.diagnostic.set(namespace, 0, {
  { lnum = 5, col = 4, end_col = 8, message = 'Undefined name `gone`', source = 'lint',
    code = 'F821', severity = vim.diagnostic.severity.ERROR },
})

-- The actions at a line (from 0); the one whose title has the words is carried out as Neovim does.
local function act(line, words)
  local place = { line = line, character = 4 }
  local marks = line == 5 and { {
    range = { start = { line = 5, character = 4 }, ['end'] = { line = 5, character = 8 } },
    message = 'Undefined name `gone`', source = 'lint', code = 'F821', severity = 1,
  } } or {}
  local answers = vim.lsp.buf_request_sync(0, 'textDocument/codeAction', {
    textDocument = { uri = vim.uri_from_bufnr(0) },
    range = { start = place, ['end'] = place },
    context = { diagnostics = marks },
  }, 20000)
  local titles = {}
  for _, action in ipairs(answers[tierline.client].result or {}) do
    table.insert(titles, action.title)
    if action.title:find(words, 1, true) then
      tierline.finished = nil
      local own = vim.lsp.commands[action.command.command]
      if own then
        own(action.command)
      else
        tierline.command(action.command.command:gsub('^tierline%.', ''), action.command.arguments[1])
      end
    end
  end
  wait(words, ended)
  return titles
end

seen.on_problem = act(5, 'Fix with Tierline')
seen.on_code = act(0, 'Explain with Tierline')
act(0, 'Ask about this')

tierline.finished = nil
vim.cmd('TierlineChat Look at @problems and @git:changes')
wait('mentions', ended)
tierline.command('state.get', nil, function(state) seen.messages = state.messages end)
wait('state', function() return seen.messages ~= nil end)

local out = io.open(vim.fn.getcwd() .. '/seen.json', 'w')
out:write(vim.fn.json_encode(seen))
out:close()
vim.cmd('qall!')
