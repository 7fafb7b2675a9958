-- expects error: source too large
-- A source that never ends.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  load(function() return "local x = 1 " end)
end)
