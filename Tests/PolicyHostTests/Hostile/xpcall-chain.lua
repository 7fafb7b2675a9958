-- expects cpu
-- Handlers whose handlers loop.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local function h() return xpcall(error, h) end
  while true do xpcall(error, h) end
end)
