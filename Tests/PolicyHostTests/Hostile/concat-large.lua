-- expects cpu
-- Few instructions, large concatenations.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local s = ("x"):rep(2 << 20)
  while true do local _ = s .. "y" end
end)
