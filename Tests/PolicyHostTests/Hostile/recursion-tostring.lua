-- expects error: C stack overflow
-- Recursion through tostring.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local t
  t = setmetatable({}, { __tostring = function() return tostring(t) end })
  tostring(t)
end)
