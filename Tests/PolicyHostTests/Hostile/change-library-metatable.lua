-- expects error: cannot change a protected metatable
-- Another metatable for a library.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  setmetatable(string, {})
end)
