-- expects bad_return
-- A function as the decision.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  return function() end
end)
