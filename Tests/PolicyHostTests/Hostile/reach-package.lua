-- expects error: unknown name 'package'
-- Native code.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  return package.loadlib("x", "y")
end)
