-- expects cpu
-- A huge set against a long text.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local set = "[" .. ("b"):rep(100000) .. "]"
  ;("a"):rep(100000):find(set)
end)
