-- expects cpu
-- JSON again and again.
local list = {}
for i = 1, 1000 do list[i] = i end

on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local text = json.encode(list)
  while true do json.decode(text) end
end)
