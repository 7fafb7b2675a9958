-- expects cpu
-- Endless tail calls: the stack does not grow.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local function f() return f() end
  f()
end)
