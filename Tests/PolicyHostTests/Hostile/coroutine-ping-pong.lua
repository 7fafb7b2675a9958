-- expects cpu
-- Two coroutines that wake each other.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local co = coroutine.wrap(function() while true do coroutine.yield() end end)
  while true do co() end
end)
