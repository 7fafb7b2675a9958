-- expects cpu
-- Keys that all collide once the table has grown: one assignment takes seconds.
local size = 1 << 16
local step = (size << 1) - 1
local keys = {}
for i = 1, size do keys[i * step + step * 7] = 1 end

on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  keys[-5] = 1
end)
