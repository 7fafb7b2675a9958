-- expects error: invalid value (at index 1)
-- A concat over a huge range.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  table.concat({}, ",", 1, 1 << 50)
end)
