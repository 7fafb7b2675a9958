-- expects cpu
-- Quadratic work with select.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local function f(...)
    local n = 0
    for i = 1, select("#", ...) do n = n + select(i, ...) end
    return n
  end
  local t = {}
  for i = 1, 20000 do t[i] = 1 end
  while true do f(table.unpack(t)) end
end)
