-- expects cpu
-- Backtracking in gsub.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  ("a"):rep(40000):gsub(".-.-.-.-b$", "")
end)
