-- expects memory
-- Recursion without end.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local function f() return 1 + f() end
  f()
end)
