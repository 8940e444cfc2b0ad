-- What both scripts with the documented configuration begin with: CONFIG and SERVER are set by the
-- test, and what Neovim saw is written to seen.json by `done`.

tierline = dofile(CONFIG)
seen = { said = {} }
vim.notify = function(text) table.insert(seen.said, text) end

function wait(what, condition)
  if not vim.wait(20000, condition, 20) then
    io.stderr:write('timed out: ' .. what .. '\n' .. vim.inspect(seen) .. '\n')
    vim.cmd('cquit 1')
  end
end

function done()
  local out = io.open(vim.fn.getcwd() .. '/seen.json', 'w')
  out:write(vim.fn.json_encode(seen))
  out:close()
  vim.cmd('qall!')
end

vim.cmd('edit src/a.py')
tierline.setup({ cmd = SERVER, root = vim.fn.getcwd() })
wait('start', function()
  local client = vim.lsp.get_client_by_id(tierline.client)
  return client and client.initialized
end)
