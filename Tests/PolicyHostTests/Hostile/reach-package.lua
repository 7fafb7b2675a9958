-- expects error: unknown name 'package'
-- Native code.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local all = _G
  return all.package.loadlib("x", "y")
end)
