-- expects cpu
-- A message handler that wants to see the kill.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  xpcall(function() while true do end end, function() while true do end end)
  while true do end
end)
