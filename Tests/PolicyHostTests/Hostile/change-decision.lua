-- expects error: a decision has no fields
-- A decision that is changed later.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local d = accept {}
  d.wait = "1s"
  return d
end)
