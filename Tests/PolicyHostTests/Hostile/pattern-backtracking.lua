-- expects cpu
-- Backtracking without end.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  ("a"):rep(40000):find(".-.-.-.-b$")
end)
