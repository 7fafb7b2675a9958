-- expects cpu
-- A line of the log per round.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  while true do log.info("x") end
end)
