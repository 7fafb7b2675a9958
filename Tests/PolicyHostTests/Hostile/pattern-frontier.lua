-- expects cpu
-- %f from every place, with a long set.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local s = ("a"):rep(300000)
  s:find("%f[" .. ("b"):rep(3000) .. "]")
end)
