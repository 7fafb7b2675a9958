-- expects cpu
-- A __len that loops.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  return #setmetatable({}, { __len = function() while true do end end })
end)
