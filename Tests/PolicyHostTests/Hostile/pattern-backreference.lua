-- expects cpu
-- Back references over long captures.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local s = ("a"):rep(20000)
  s:find("^(a*).-%1b$")
end)
