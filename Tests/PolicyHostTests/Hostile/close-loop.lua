-- expects cpu
-- A __close handler that loops.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local c <close> = setmetatable({}, { __close = function() while true do end end })
  while true do end
end)
