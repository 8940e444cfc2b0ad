-- A chat panel in Neovim: the Agent Client Protocol over a job's pipes, with buffers as the files.
-- AGENT is set by the test; what Neovim saw is written to seen.json.

local root = vim.fn.getcwd()
local seen = { asked = {}, kinds = {}, text = '', read = {} }
local next_id, waiting, rest = 0, {}, ''
local job

local function wait(what, condition)
  if not vim.wait(30000, condition, 20) then
    io.stderr:write('timed out: ' .. what .. vim.inspect(seen) .. '\n')
    vim.cmd('cquit 1')
  end
end

local function send(message)
  message.jsonrpc = '2.0'
  vim.fn.chansend(job, vim.fn.json_encode(message) .. '\n')
end

local function request(method, params)
  next_id = next_id + 1
  local id = next_id
  send({ id = id, method = method, params = params })
  wait(method, function() return waiting[id] ~= nil end)
  local answer = waiting[id]
  if answer.error then
    io.stderr:write('Error: ' .. vim.inspect(answer.error) .. '\n')
  end
  return answer.result
end

-- The buffer of a file, loaded if need be: what the user sees is what is read and written.
local function buffer(path)
  local number = vim.fn.bufadd(path)
  vim.fn.bufload(number)
  return number
end

local answers = {
  ['fs/read_text_file'] = function(params)
    table.insert(seen.read, params.path)
    local lines = vim.api.nvim_buf_get_lines(buffer(params.path), 0, -1, false)
    return { content = table.concat(lines, '\n') .. '\n' }
  end,
  ['fs/write_text_file'] = function(params)
    local lines = vim.split(params.content, '\n')
    if lines[#lines] == '' then table.remove(lines) end
    local number = buffer(params.path)
    vim.api.nvim_buf_set_lines(number, 0, -1, false, lines)
    vim.api.nvim_buf_call(number, function() vim.cmd('silent write') end)
    return vim.empty_dict()
  end,
  ['session/request_permission'] = function(params)
    local names = vim.tbl_map(function(option) return option.name end, params.options)
    table.insert(seen.asked, { title = params.toolCall.title, options = names,
      content = params.toolCall.content })
    return { outcome = { outcome = 'selected', optionId = params.options[1].optionId } }
  end,
}

local function receive(message)
  if message.method == 'session/update' then
    local update = message.params.update
    table.insert(seen.kinds, update.sessionUpdate)
    if update.sessionUpdate == 'agent_message_chunk' then
      seen.text = seen.text .. update.content.text
    end
  elseif message.method then
    send({ id = message.id, result = answers[message.method](message.params) })
  elseif message.id then
    waiting[message.id] = message
  end
end

job = vim.fn.jobstart(AGENT, {
  on_stdout = function(_, data)
    data[1] = rest .. data[1]
    rest = table.remove(data)
    for _, line in ipairs(data) do
      if line ~= '' then receive(vim.fn.json_decode(line)) end
    end
  end,
})

vim.cmd('edit n.txt')
vim.api.nvim_buf_set_lines(0, 0, 0, false, { 'mine, not saved' })

local hello = request('initialize', {
  protocolVersion = 1,
  clientInfo = { name = 'neovim', version = '0' },
  clientCapabilities = { fs = { readTextFile = true, writeTextFile = true } },
})
seen.agent = hello.agentInfo.name
local session = request('session/new', { cwd = root, mcpServers = {} }).sessionId
local answer = request('session/prompt', {
  sessionId = session,
  prompt = {
    { type = 'text', text = 'Spell it out in ' },
    { type = 'resource_link', name = 'n.txt', uri = vim.uri_from_fname(root .. '/n.txt') },
  },
})
seen.stopped = answer.stopReason
seen.buffer = vim.api.nvim_buf_get_lines(0, 0, -1, false)
seen.modified = vim.bo.modified
seen.sessions = #request('session/list', { cwd = root }).sessions

local out = io.open(root .. '/seen.json', 'w')
out:write(vim.fn.json_encode(seen))
out:close()
vim.fn.jobstop(job)
vim.cmd('qall!')
