-- expects cpu
-- A loop under a hundred pcalls.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local f = function() while true do end end
  for _ = 1, 100 do local g = f f = function() pcall(g) while true do end end end
  f()
end)
