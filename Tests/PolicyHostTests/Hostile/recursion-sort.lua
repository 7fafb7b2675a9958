-- expects error: C stack overflow
-- Recursion through table.sort.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local function f() table.sort({ 1, 2 }, f) end
  f()
end)
