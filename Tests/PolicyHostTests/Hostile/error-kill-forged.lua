-- expects error: not enough
-- Pretending to be out of memory.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  error("not enough money", 0)
end)
