-- expects error: xxxx
-- A huge message.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  error(("x"):rep(4 << 20), 0)
end)
