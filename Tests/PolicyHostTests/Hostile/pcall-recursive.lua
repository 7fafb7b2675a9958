-- expects cpu
-- Every level catches what ends the level below.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local function f() pcall(f) pcall(f) return f() end
  f()
end)
