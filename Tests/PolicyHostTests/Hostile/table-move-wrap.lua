-- expects error: wrap around
-- A move beyond the largest index.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  table.move({ 1 }, 1, 3, math.maxinteger)
end)
