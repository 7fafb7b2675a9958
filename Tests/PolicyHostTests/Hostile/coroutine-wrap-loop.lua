-- expects cpu
-- A wrapped coroutine that loops, caught.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  while true do pcall(coroutine.wrap(function() while true do end end)) end
end)
