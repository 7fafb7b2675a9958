-- expects error: unknown name 'string.x'
-- The metatable of strings.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local m = getmetatable("")
  m.x.y = 1
end)
