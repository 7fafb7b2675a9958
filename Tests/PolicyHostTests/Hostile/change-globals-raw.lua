-- expects error: this table cannot be changed
-- Another reject with rawset.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  rawset(_G, "reject", function() end)
end)
