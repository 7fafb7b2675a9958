-- expects bad_return
-- A table inside itself as the decision.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local t = {}
  t.t = t
  return t
end)
