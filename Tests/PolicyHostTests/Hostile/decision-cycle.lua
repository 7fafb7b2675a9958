-- expects error: a table inside itself
-- Extended data inside itself.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local t = {}
  t.a = { b = t }
  return accept { extended_data = t }
end)
