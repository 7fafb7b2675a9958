-- expects memory
-- A concat that does not fit.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local t = {}
  local s = ("x"):rep(1000)
  for i = 1, 20000 do t[i] = s end
  table.concat(t)
end)
