-- expects error: format too long
-- A long format.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  string.format(("%d"):rep(20000))
end)
