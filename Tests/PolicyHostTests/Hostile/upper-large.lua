-- expects cpu
-- Linear work on a large string, again and again.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local s = ("x"):rep(3 << 20)
  while true do s:upper() end
end)
