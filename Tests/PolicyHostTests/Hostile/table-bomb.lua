-- expects memory
-- A table that grows for ever.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local t = {}
  while true do t[#t + 1] = {} end
end)
