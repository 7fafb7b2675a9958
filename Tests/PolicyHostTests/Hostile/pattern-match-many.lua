-- expects cpu
-- Many matches that cost a little each.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local s = ("a"):rep(1000)
  while true do s:match("a*a*b") end
end)
