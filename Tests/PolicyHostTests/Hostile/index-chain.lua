-- expects error: chain too long
-- A chain of __index tables.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local t = {}
  for _ = 1, 5000 do t = setmetatable({}, { __index = t }) end
  while true do local _ = t.x end
end)
