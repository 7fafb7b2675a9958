-- expects error: string slice too long
-- More results than a stack takes.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local s = ("x"):rep(3 << 20)
  return s:byte(1, -1)
end)
