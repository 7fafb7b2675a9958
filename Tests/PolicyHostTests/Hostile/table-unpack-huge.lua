-- expects error: too many results to unpack
-- An unpack over a huge range.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  return table.unpack({}, 1, 1 << 40)
end)
