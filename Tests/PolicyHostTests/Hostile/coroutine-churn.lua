-- expects cpu
-- Coroutines that are thrown away.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  while true do coroutine.resume(coroutine.create(function() coroutine.yield() end)) end
end)
