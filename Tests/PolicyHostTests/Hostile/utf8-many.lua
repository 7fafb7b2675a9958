-- expects cpu
-- utf8 again and again.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local s = ("\u{20ac}"):rep(300000)
  while true do utf8.len(s) end
end)
