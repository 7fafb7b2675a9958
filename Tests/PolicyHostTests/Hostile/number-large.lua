-- expects cpu
-- A number of a million digits.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local s = ("9"):rep(1 << 20)
  while true do tonumber(s) end
end)
