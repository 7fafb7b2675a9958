-- expects cpu
-- %b over a long text, from every place.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local s = ("("):rep(200000)
  s:find("%b()x")
end)
