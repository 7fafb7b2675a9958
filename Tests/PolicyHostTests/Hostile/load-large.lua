-- expects error: source too large
-- A large source.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  load(("local x = 1 "):rep(10000))
end)
