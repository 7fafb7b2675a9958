-- expects cpu
-- A __newindex function that loops.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local t = setmetatable({}, { __newindex = function() while true do end end })
  t.x = 1
end)
