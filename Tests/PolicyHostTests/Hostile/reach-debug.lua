-- expects error: unknown name 'debug'
-- The debug library.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local all = _G
  return all.debug.getregistry()
end)
