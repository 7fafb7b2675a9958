-- expects error: C stack overflow
-- An __index function that indexes itself.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local t
  t = setmetatable({}, { __index = function(_, k) return t[k] end })
  return t.x
end)
