-- expects error: metatables with '__gc' are refused
-- Finalizers run with hooks off, so there are none.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  setmetatable({}, { __gc = function() while true do end end })
end)
