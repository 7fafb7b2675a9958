-- expects cpu
-- A __tostring that loops.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  tostring(setmetatable({}, { __tostring = function() while true do end end }))
end)
