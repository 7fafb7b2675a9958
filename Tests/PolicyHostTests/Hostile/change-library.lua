-- expects error: 'string.rep' cannot be changed
-- Changing a library.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  string.rep = function() end
end)
