-- expects error: this table cannot be changed
-- Changing a library with rawset.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  rawset(string, "rep", function() end)
end)
