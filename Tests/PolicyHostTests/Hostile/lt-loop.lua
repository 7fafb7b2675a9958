-- expects cpu
-- A __lt that loops inside table.sort.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local m = { __lt = function() while true do end end }
  local t = {}
  for i = 1, 10 do t[i] = setmetatable({}, m) end
  table.sort(t)
end)
