-- expects memory
-- Results until the memory is gone.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local t = {}
  for i = 1, 1e6 do t[i] = ("x"):rep(20 + i % 30) .. i end
end)
