-- expects memory
-- A string over the limit.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local t = {}
  for i = 1, 100 do t[i] = ("x"):rep(1 << 20) .. i end
end)
