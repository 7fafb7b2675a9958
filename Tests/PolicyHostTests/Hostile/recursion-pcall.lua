-- expects error: C stack overflow
-- Recursion through pcall.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local function f() local ok, e = pcall(f) if not ok then error(e, 0) end end
  f()
end)
