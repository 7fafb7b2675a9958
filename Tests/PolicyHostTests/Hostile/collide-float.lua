-- expects cpu
-- Colliding keys, built slowly.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local t = {}
  for i = 1, 1e6 do t[i * 4095 * 2.0 ^ 20] = 1 end
end)
