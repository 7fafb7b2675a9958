-- expects cpu
-- A comparator that lies at random, on a long list.
local long = {}
for i = 1, 100000 do long[i] = i end

on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  table.sort(long, function() return math.random() < 0.5 end)
end)
