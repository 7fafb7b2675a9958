-- expects cpu
-- Large strings as keys.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local t = {}
  local s = ("x"):rep(1 << 20)
  while true do t[s .. "y"] = nil end
end)
