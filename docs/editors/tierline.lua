-- Tierline for Neovim, with nothing but Neovim's own LSP client. Source it from your init.lua:
--   require('tierline').setup()          (this file on the runtime path as lua/tierline.lua)
-- Commands: TierlineAdd, TierlinePin, TierlineChat, TierlineStop, TierlineBudget, TierlineUndo.

local M = { reply = '', finished = nil, events = 0 }

local function log_window()
  if M.buffer == nil or not vim.api.nvim_buf_is_valid(M.buffer) then
    M.buffer = vim.api.nvim_create_buf(true, true)
    vim.api.nvim_buf_set_name(M.buffer, 'Tierline')
    vim.api.nvim_buf_set_option(M.buffer, 'filetype', 'markdown')
  end
  return M.buffer
end

-- Append text to the end of the chat buffer; the text may hold line ends or be part of a line.
local function append(text)
  local buffer = log_window()
  local last = vim.api.nvim_buf_line_count(buffer) - 1
  local column = #vim.api.nvim_buf_get_lines(buffer, last, last + 1, false)[1]
  vim.api.nvim_buf_set_text(buffer, last, column, last, column, vim.split(text, '\n', { plain = true }))
end

local function on_event(_, event)
  M.events = event.seq
  local body = event.body
  if body.kind == 'turnStarted' then
    append('\n\n> ' .. body.message.text:gsub('\n', '\n> ') .. '\n\n')
    M.reply = ''
  elseif body.kind == 'textDelta' then
    append(body.text)
    M.reply = M.reply .. body.text
  elseif body.kind == 'notice' then
    vim.schedule(function() vim.notify('Tierline: ' .. body.text) end)
  elseif body.kind == 'turnFinished' then
    M.finished = body.outcome
    if body.error ~= '' then append('\n*' .. body.error .. ' ' .. body.advice .. '*') end
  end
end

-- Every capability is a server command: tierline.<area>.<verb> with one table of parameters.
function M.command(name, parameters, done)
  local arguments = parameters and { parameters } or {}
  local client = vim.lsp.get_client_by_id(M.client)
  client.request('workspace/executeCommand', { command = 'tierline.' .. name, arguments = arguments },
    function(problem, result)
      if problem then
        vim.notify('Tierline: ' .. problem.message, vim.log.levels.ERROR)
      elseif done then
        done(result)
      end
    end)
end

local function this_file() return vim.uri_from_bufnr(0) end

function M.setup(options)
  options = options or {}
  M.client = vim.lsp.start_client({
    name = 'tierline',
    cmd = options.cmd or { 'tierline', 'serve' },
    root_dir = options.root or vim.fn.getcwd(),
    workspace_folders = {
      { uri = vim.uri_from_fname(options.root or vim.fn.getcwd()), name = 'workspace' },
    },
    init_options = { settings = options.settings or vim.empty_dict() },
    handlers = {
      ['tierline/chat/event'] = function(problem, event, ...)
        on_event(problem, event, ...)
      end,
    },
  })
  -- Attach to every file, so that the model sees what is in the buffer, saved or not.
  local function attach(buffer)
    if vim.bo[buffer].buftype == '' and vim.api.nvim_buf_get_name(buffer) ~= '' then
      vim.lsp.buf_attach_client(buffer, M.client)
    end
  end
  vim.api.nvim_create_autocmd('BufReadPost', { callback = function(event) attach(event.buf) end })
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buffer) then attach(buffer) end
  end
  local create = vim.api.nvim_create_user_command
  create('TierlineAdd', function() M.command('files.add', { uri = this_file() }) end, {})
  create('TierlinePin', function() M.command('files.pin', { uri = this_file() }) end, {})
  create('TierlineChat', function(call)
    M.finished = nil
    M.command('chat.send', { text = call.args })
  end, { nargs = '+' })
  create('TierlineStop', function() M.command('chat.cancel') end, {})
  create('TierlineUndo', function()
    M.command('history.undo', nil, function() vim.notify('Tierline: the last turn is taken back') end)
  end, {})
  create('TierlineBudget', function()
    M.command('budget.get', nil, function(budget)
      M.budget = budget
      vim.notify(string.format('Tierline: %d of %d tokens', budget.used, budget.maxInputTokens))
    end)
  end, {})
  return M.client
end

return M
