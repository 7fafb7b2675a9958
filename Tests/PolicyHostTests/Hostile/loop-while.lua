-- expects cpu
-- An endless loop.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  while true do end
end)
