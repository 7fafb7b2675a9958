-- expects bad_return
-- More data than may leave.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local t = {}
  for i = 1, 20000 do t[i] = ("x"):rep(100) end
  return t
end)
