-- expects error: p.lua:5
-- Coroutines inside coroutines.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local function f() return coroutine.wrap(f)() end
  f()
end)
