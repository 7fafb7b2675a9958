-- expects cpu
-- A __call chain, over and over.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local t = function() end
  for _ = 1, 20 do t = setmetatable({}, { __call = t }) end
  while true do t() end
end)
