-- expects error: attempt to compare
-- A list that cannot be sorted.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  table.sort({ 1, "x", {} })
end)
