-- expects cpu
-- A move of nothing over a huge range.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  table.move({}, 1, 1 << 50, 2)
end)
