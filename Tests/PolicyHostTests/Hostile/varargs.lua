-- expects cpu
-- Arguments that grow.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local function f(...) return f(1, ...) end
  f()
end)
