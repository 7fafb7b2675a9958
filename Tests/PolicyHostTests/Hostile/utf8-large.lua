-- expects error: string too long
-- utf8 on a large string.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  utf8.len(("x"):rep(4 << 20))
end)
