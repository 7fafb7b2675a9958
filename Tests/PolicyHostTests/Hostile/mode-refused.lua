-- expects error: metatables with '__mode' are refused
-- Weak tables can make the collector quadratic.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  setmetatable({}, { __mode = "k" })
end)
