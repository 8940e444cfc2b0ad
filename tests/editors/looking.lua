-- What the user looks at, with the documented configuration: code actions on a diagnostic and on
-- code, mentions of problems and of git's changes, an instruction file. Begins with
-- configured.lua.

vim.ui.input = function(_, done) done('Why is it one?') end

local function ended() return tierline.finished ~= nil end

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

seen.completed = vim.fn.getcompletion('TierlineChat Look at @a.p', 'cmdline')

tierline.finished = nil
vim.cmd('TierlineChat Look at @problems and @git:changes')
wait('mentions', ended)
tierline.command('state.get', nil, function(state) seen.messages = state.messages end)
wait('state', function() return seen.messages ~= nil end)

done()
