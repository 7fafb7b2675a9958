-- expects none
-- JSON that nests deeply.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  assert(json.decode(("["):rep(10000)) == nil)
end)
