-- expects cpu
-- Looking for the first entry of a large emptied table.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local t = {}
  for i = 1, 150000 do t["k" .. i % 40000] = i end
  for k in pairs(t) do t[k] = nil end
  while true do next(t) end
end)
