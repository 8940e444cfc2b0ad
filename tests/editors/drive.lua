-- Uses the documented configuration as a user would. Begins with configured.lua.

-- The answer to a command, waited for.
local function ask(name, parameters)
  local answer
  tierline.command(name, parameters, function(result) answer = result end)
  wait(name, function() return answer ~= nil end)
  return answer
end

local function conversation() return vim.api.nvim_buf_get_lines(tierline.buffer, 0, -1, false) end

vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'UNSAVED_NAME = 41', 'OTHER = 2' })
vim.cmd('TierlineAdd')
seen.added = ask('files.list').files
vim.cmd('TierlinePin')
seen.pinned = ask('files.list').files
vim.cmd('edit .env')
vim.cmd('TierlineAdd')
wait('refusal', function() return #seen.said > 0 end)
vim.cmd('buffer a.py')

-- A whole reply, in a window beside the file.
vim.cmd('TierlineChat What is in the file?')
wait('reply', function() return tierline.finished ~= nil end)
seen.outcome, seen.reply, seen.buffer = tierline.finished, tierline.reply, conversation()
seen.windows = #vim.api.nvim_list_wins()
seen.current = vim.fn.expand('%:t')

-- The lines that are selected, and a reply that stops half-way.
vim.cmd('2,2TierlineChat Go on.')
wait('stream', function() return tierline.reply == 'Half of it' end)
seen.running, seen.streamed = tierline.finished == nil, conversation()
vim.cmd('TierlineStop')
wait('stop', function() return tierline.finished ~= nil end)
seen.stopped, seen.before = tierline.finished, ask('state.get').messages

vim.cmd('TierlineBudget')
wait('budget', function() return vim.tbl_contains(vim.tbl_map(function(text)
  return text:match('of %d+ tokens') ~= nil
end, seen.said), true) end)
seen.budget = tierline.budget

vim.cmd('TierlineUndo')
wait('undo', function() return vim.tbl_contains(seen.said, 'Tierline: the last turn is taken back') end)
seen.after = ask('state.get').messages

-- A command in the place of a question.
vim.cmd('TierlineChat /context window 2')
wait('command', function() return table.concat(conversation(), '\n'):match('last 2 turns') ~= nil end)
seen.commanded = ask('history.status').window

tierline.command('history.drop', { groupId = 'no-such-turn' })
local count = #seen.said
wait('error', function() return #seen.said > count end)

done()
