-- expects cpu
-- Backtracking in gmatch.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  for _ in ("a"):rep(40000):gmatch(".-.-.-.-b$") do end
end)
