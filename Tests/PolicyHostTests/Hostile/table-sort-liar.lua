-- expects none
-- A comparator that always says yes.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local t = {}
  for i = 1, 500 do t[i] = i % 7 end
  table.sort(t, function() return true end)
end)
