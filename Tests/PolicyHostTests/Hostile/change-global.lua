-- expects error: assignment to undeclared global
-- A global by mistake.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  _G.count_of_calls = 1
end)
