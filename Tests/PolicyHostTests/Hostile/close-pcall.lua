-- expects cpu
-- A __close handler that catches its own end.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local function loop() while true do end end
  local c <close> = setmetatable({}, { __close = function() while true do pcall(loop) end end })
  while true do end
end)
