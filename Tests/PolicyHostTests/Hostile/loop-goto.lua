-- expects cpu
-- A loop by goto.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  ::again::
  goto again
end)
