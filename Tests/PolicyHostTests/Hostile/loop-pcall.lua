-- expects cpu
-- Catches its own end again and again.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  while true do pcall(function() while true do end end) end
end)
