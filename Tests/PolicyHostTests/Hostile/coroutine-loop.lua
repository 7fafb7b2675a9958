-- expects cpu
-- A loop in a coroutine.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  coroutine.resume(coroutine.create(function() while true do end end))
end)
