-- expects cpu
-- Ordering large strings that are equal.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local a = ("x"):rep(3 << 20)
  local b = ("x"):rep(3 << 20)
  while true do local _ = a < b end
end)
