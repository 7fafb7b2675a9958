-- expects bad_return
-- Extended data over its limit.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  return accept { extended_data = ("x"):rep(3000) }
end)
