-- expects error: tables with '__len' are refused
-- A list that claims to be endless.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  table.remove(setmetatable({}, { __len = function() return 1 << 50 end }), 1)
end)
