-- expects error: attempt to load a binary chunk
-- Bytecode.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  assert(load("\27Lua"))
end)
