-- Tierline for Neovim 0.7 and newer, with nothing but Neovim's own LSP client.
--   require('tierline').setup()          (this file on the runtime path as lua/tierline.lua)
-- Commands: TierlineAdd, TierlinePin, TierlineChat, TierlineStop, TierlineBudget, TierlineUndo.

-- For statuslines and mappings: the reply so far, how the last turn ended (nil while it runs), the
-- newest budget, the number of the newest event.
local M = { reply = '', finished = nil, budget = nil, events = 0 }

local NEW = vim.fn.has('nvim-0.11') == 1

local function say(text, level)
  vim.notify('Tierline: ' .. text, level or vim.log.levels.INFO)
end

-- The buffer that holds the conversation; made when it is needed.
local function chat_buffer()
  if M.buffer == nil or not vim.api.nvim_buf_is_valid(M.buffer) then
    M.buffer = vim.api.nvim_create_buf(true, true)
    vim.api.nvim_buf_set_name(M.buffer, 'Tierline')
    vim.bo[M.buffer].filetype = 'markdown'
  end
  return M.buffer
end

-- Show the conversation beside the file; the cursor stays where it is.
local function show()
  local buffer = chat_buffer()
  if vim.fn.bufwinid(buffer) == -1 then
    local window = vim.api.nvim_get_current_win()
    vim.cmd('rightbelow vertical sbuffer ' .. buffer)
    vim.wo.wrap = true
    vim.api.nvim_set_current_win(window)
  end
end

-- Append text to the conversation; the text may hold line ends or be a part of a line.
local function append(text)
  local buffer = chat_buffer()
  local last = vim.api.nvim_buf_line_count(buffer) - 1
  local column = #vim.api.nvim_buf_get_lines(buffer, last, last + 1, false)[1]
  local lines = vim.split(text, '\n', { plain = true })
  vim.api.nvim_buf_set_text(buffer, last, column, last, column, lines)
  local window = vim.fn.bufwinid(buffer)
  if window ~= -1 and window ~= vim.api.nvim_get_current_win() then
    vim.api.nvim_win_set_cursor(window, { vim.api.nvim_buf_line_count(buffer), 0 })
  end
end

local on = {}

function on.turnStarted(body)
  M.reply, M.finished = '', nil
  append('\n\n> ' .. body.message.text:gsub('\n', '\n> ') .. '\n\n')
end

function on.textDelta(body)
  M.reply = M.reply .. body.text
  append(body.text)
end

function on.notice(body)
  say(body.text, body.level == 'info' and vim.log.levels.INFO or vim.log.levels.WARN)
end

function on.turnFinished(body)
  if body.error ~= '' then append('\n*' .. body.error .. ' ' .. body.advice .. '*') end
  M.finished = body.outcome
end

function on.budgetChanged(body) M.budget = body.budget end

local function on_event(_, event)
  M.events = event.seq
  local handler = on[event.body.kind]
  if handler then handler(event.body) end
end

-- Every capability is a server command: tierline.<area>.<verb> with one table of parameters.
function M.command(name, parameters, done)
  local client = M.client and vim.lsp.get_client_by_id(M.client)
  if not client then
    return say('the server is not running; see :lua vim.cmd.edit(vim.lsp.get_log_path())', vim.log.levels.ERROR)
  end
  local call = { command = 'tierline.' .. name, arguments = parameters and { parameters } or {} }
  local function answer(problem, result)
    if problem then
      local advice = type(problem.data) == 'table' and problem.data.advice or ''
      say(problem.message .. ' ' .. advice, vim.log.levels.ERROR)
    elseif done then
      done(result)
    end
  end
  if NEW then
    client:request('workspace/executeCommand', call, answer)
  else
    client.request('workspace/executeCommand', call, answer)
  end
end

-- What the server did not take is said aloud: otherwise one would believe that the model sees it.
local function tell_refused(result)
  for _, file in ipairs(result.refused) do say(file.reason, vim.log.levels.WARN) end
  for _, text in ipairs(result.notices) do say(text) end
end

local function this_file() return vim.uri_from_bufnr(0) end

local function ask(call)
  local parameters = { text = call.args, activeUri = this_file() }
  if call.range > 0 then
    local lines = vim.api.nvim_buf_get_lines(0, call.line1 - 1, call.line2, false)
    parameters.selection = table.concat(lines, '\n')
  end
  show()
  if call.args:match('^/%a+$') or call.args:match('^/%a+%s') then -- a command: docs/history.md
    return M.command('chat.command', { text = call.args }, function(result)
      append('\n' .. result.text)
    end)
  end
  M.finished = nil
  M.command('chat.send', parameters, function(result)
    for _, text in ipairs(result.notices) do say(text) end
  end)
end

-- Tab behind an @ lists what it can become.
local function complete(typed)
  if typed:sub(1, 1) ~= '@' then return {} end
  local found
  M.command('mention.complete', { query = typed:sub(2) }, function(result) found = result.items end)
  vim.wait(2000, function() return found ~= nil end, 10)
  return vim.tbl_map(function(one) return one.text end, found or {})
end

-- What @problems in a prompt names: a server is not told what others report.
local SEVERITIES = { 'error', 'warning', 'information', 'hint' }

local function provide(_, wanted)
  if wanted.kind ~= 'problems' then return vim.NIL end
  local only = wanted.uri ~= '' and vim.uri_to_bufnr(wanted.uri) or nil
  local problems = {}
  for _, found in ipairs(vim.diagnostic.get(only)) do
    table.insert(problems, {
      uri = vim.uri_from_bufnr(found.bufnr),
      line = found.lnum + 1,
      message = found.message,
      severity = SEVERITIES[found.severity],
      source = found.source or '',
      code = found.code and tostring(found.code) or '',
    })
  end
  return { kind = 'problems', uri = wanted.uri, problems = problems }
end

-- The code action "Ask about this with Tierline" leaves the words to us.
local function ask_about(command)
  vim.ui.input({ prompt = 'Ask Tierline: ' }, function(text)
    if text and text ~= '' then
      show()
      M.command('chat.ask', vim.tbl_extend('force', command.arguments[1], { text = text }))
    end
  end)
end

local function create_commands()
  local create = vim.api.nvim_create_user_command
  create('TierlineAdd', function() M.command('files.add', { uri = this_file() }, tell_refused) end, {})
  create('TierlinePin', function() M.command('files.pin', { uri = this_file() }, tell_refused) end, {})
  create('TierlineChat', ask, { nargs = '+', range = true, complete = complete })
  create('TierlineStop', function() M.command('chat.cancel') end, {})
  create('TierlineUndo', function()
    M.command('history.undo', nil, function() say('the last turn is taken back') end)
  end, {})
  create('TierlineBudget', function()
    M.command('budget.get', nil, function(budget)
      M.budget = budget
      say(string.format('%d of %d tokens', budget.used, budget.maxInputTokens))
    end)
  end, {})
end

-- Attach to every file, so that the model sees what is in the buffer, saved or not.
local function attach(buffer)
  local file = vim.bo[buffer].buftype == '' and vim.api.nvim_buf_get_name(buffer) ~= ''
  if file and vim.lsp.get_client_by_id(M.client) then
    vim.lsp.buf_attach_client(buffer, M.client)
  end
end

function M.setup(options)
  options = options or {}
  local root = options.root or vim.fn.getcwd()
  local config = {
    name = 'tierline',
    cmd = options.cmd or { 'tierline', 'serve' },
    root_dir = root,
    workspace_folders = { { uri = vim.uri_from_fname(root), name = vim.fn.fnamemodify(root, ':t') } },
    init_options = { settings = options.settings or vim.empty_dict() },
    handlers = { ['tierline/chat/event'] = on_event, ['tierline/editor/provide'] = provide },
    capabilities = vim.lsp.protocol.make_client_capabilities(),
  }
  config.capabilities.experimental = { tierline = { provides = { 'problems' }, ask = true } }
  vim.lsp.commands['tierline.ask'] = ask_about
  -- vim.lsp.start came with 0.8; 0.11 retires the older name.
  M.client = vim.lsp.start and vim.lsp.start(config, { attach = false }) or vim.lsp.start_client(config)
  if not M.client then return nil end
  local group = vim.api.nvim_create_augroup('tierline', {})
  vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile', 'BufFilePost' }, {
    group = group,
    callback = function(event) attach(event.buf) end,
  })
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buffer) then attach(buffer) end
  end
  create_commands()
  return M.client
end

return M
