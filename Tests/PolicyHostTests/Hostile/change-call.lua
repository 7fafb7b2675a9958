-- expects error: a call cannot be changed
-- A field of a call.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  call.callee = nil
end)
