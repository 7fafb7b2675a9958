-- expects cpu
-- An __eq that loops.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local m = { __eq = function() while true do end end }
  return setmetatable({}, m) == setmetatable({}, m)
end)
