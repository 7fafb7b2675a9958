-- expects error: too many nested closes
-- Closing a coroutine that closes the next one, deep.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local make
  function make(n)
    local co = coroutine.create(function()
      local inner <const> = n > 0 and make(n - 1) or nil
      local c <close> = setmetatable({}, { __close = function()
        if inner then assert(coroutine.close(inner)) end
      end })
      coroutine.yield()
    end)
    coroutine.resume(co)
    return co
  end
  assert(coroutine.close(make(100)))
end)
