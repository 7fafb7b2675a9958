-- expects error: unknown name 'io'
-- Files.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local all = _G
  return all.io.open("/etc/passwd")
end)
