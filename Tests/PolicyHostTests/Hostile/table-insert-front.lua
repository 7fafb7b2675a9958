-- expects cpu
-- Inserting at the front of a long list.
local long = {}
for i = 1, 200000 do long[i] = i end

on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  while true do table.insert(long, 1, 1) end
end)
