-- expects cpu
-- An __index function that loops.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local t = setmetatable({}, { __index = function() while true do end end })
  return t.x
end)
