-- expects error: unknown name 'collectgarbage'
-- The collector.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local all = _G
  all.collectgarbage("stop")
end)
