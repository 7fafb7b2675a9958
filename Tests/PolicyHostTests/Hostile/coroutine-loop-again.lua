-- expects cpu
-- Coroutine after coroutine that loops.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  while true do coroutine.resume(coroutine.create(function() while true do end end)) end
end)
