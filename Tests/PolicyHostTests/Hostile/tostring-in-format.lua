-- expects cpu
-- A __tostring that loops inside string.format.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  string.format("%s", setmetatable({}, { __tostring = function() while true do end end }))
end)
