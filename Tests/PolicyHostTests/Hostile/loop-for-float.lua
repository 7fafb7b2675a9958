-- expects cpu
-- A numeric loop that never reaches its end.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  for i = 1, math.huge do local _ = i end
end)
