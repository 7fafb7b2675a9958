-- expects error: resulting string too large
-- A string that would not fit.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  ("x"):rep(1 << 40)
end)
