-- expects cpu
-- Many __close handlers that each loop after the kill.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local function f(n)
    local c <close> = setmetatable({}, { __close = function() while true do end end })
    if n > 0 then f(n - 1) end
    while true do end
  end
  f(50)
end)
