-- expects cpu
-- A loop that allocates nothing and calls nothing.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local n = 0
  repeat n = n + 1 until n < 0
end)
