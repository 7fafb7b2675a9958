-- expects error: error object is a table
-- A __name that is a huge string, in an error object.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  error(setmetatable({}, { __name = ("x"):rep(1 << 20) }))
end)
