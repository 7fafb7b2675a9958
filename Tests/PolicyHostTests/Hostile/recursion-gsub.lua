-- expects error: C stack overflow
-- Recursion through string.gsub.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local function f() return (("x"):gsub("x", f)) end
  f()
end)
