-- expects none
-- A repetition of nothing, very often.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  (""):rep(1 << 50)
end)
