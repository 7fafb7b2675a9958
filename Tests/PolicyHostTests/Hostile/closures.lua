-- expects memory
-- Closures that keep each other.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local f = function() end
  while true do local g = f f = function() return g end end
end)
