-- expects cpu
-- The message handler loops; Lua itself would run it with hooks off.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  xpcall(function() error "x" end, function() while true do end end)
end)
