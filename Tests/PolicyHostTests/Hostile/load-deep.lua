-- expects error: overflow
-- A source that nests deeply.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  assert(load("return " .. ("("):rep(5000) .. "1" .. (")"):rep(5000)))
end)
