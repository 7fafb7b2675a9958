-- expects error: error object is a table
-- An error that is a table with a looping __tostring.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  error(setmetatable({}, { __tostring = function() while true do end end }))
end)
