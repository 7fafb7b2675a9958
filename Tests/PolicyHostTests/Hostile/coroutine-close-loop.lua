-- expects cpu
-- Closing a coroutine whose __close loops.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local co = coroutine.create(function()
    local c <close> = setmetatable({}, { __close = function() while true do end end })
    coroutine.yield()
  end)
  coroutine.resume(co)
  coroutine.close(co)
  while true do end
end)
