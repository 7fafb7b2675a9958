-- expects cpu
-- Sources that are costly to compile.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local parts = {}
  for i = 1, 1500 do parts[i] = "::l" .. i .. "::" end
  local source = table.concat(parts)
  while true do load(source) end
end)
