-- expects cpu
-- A plain search that compares long beginnings.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local s = ("a"):rep(4000000)
  local p = ("a"):rep(200000) .. "b"
  while true do s:find(p, 1, true) end
end)
