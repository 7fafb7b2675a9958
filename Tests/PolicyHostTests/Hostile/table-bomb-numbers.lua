-- expects memory
-- A list of numbers that grows for ever.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local t = {}
  for i = 1, math.huge do t[i] = i end
end)
