-- expects cpu
-- Sorting a long list.
local long = {}
for i = 1, 200000 do long[i] = (i * 7919) % 200003 end

on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  table.sort(long)
end)
