-- expects cpu
-- string.pack without end.
local ones = {}
for i = 1, 500 do ones[i] = 1 end

on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  while true do string.pack(("i16"):rep(500), table.unpack(ones)) end
end)
