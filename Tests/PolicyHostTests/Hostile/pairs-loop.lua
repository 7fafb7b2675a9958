-- expects cpu
-- A __pairs whose iterator never ends.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  for _ in pairs(setmetatable({}, { __pairs = function() return function() return 1 end end })) do end
end)
