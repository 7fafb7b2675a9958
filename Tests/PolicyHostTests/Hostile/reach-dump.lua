-- expects error: unknown name 'string.dump'
-- Bytecode of a function.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  return _G.string.dump(function() end)
end)
