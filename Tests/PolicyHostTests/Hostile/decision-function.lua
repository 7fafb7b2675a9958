-- expects error: extended_data.list[2]: a function is not data
-- A function in extended data.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  return accept { extended_data = { list = { 1, print } } }
end)
