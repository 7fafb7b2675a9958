-- expects error: 'reject' belongs to callagent
-- Another reject for everybody.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  _G.reject = function() end
end)
