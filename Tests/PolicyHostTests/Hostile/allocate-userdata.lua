-- expects cpu
-- Decisions that nobody returns.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  while true do local _ = accept {} end
end)
