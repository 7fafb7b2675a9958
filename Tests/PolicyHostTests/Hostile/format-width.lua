-- expects error: invalid conversion
-- A width that is too large.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  string.format("%999999d", 1)
end)
