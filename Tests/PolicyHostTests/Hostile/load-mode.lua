-- expects error: only text can be loaded
-- A mode that asks for bytecode.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  load("return 1", "x", "b")
end)
