-- expects cpu
-- A __pairs whose iterator never ends.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local m = { __pairs = function() return function() return 1 end end }
  for _ in pairs(setmetatable({}, m)) do end
end)
