-- expects cpu
-- The classical exponential pattern.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  string.find(("a"):rep(26) .. "b", ("a?"):rep(26) .. ("a"):rep(26) .. "c")
end)
