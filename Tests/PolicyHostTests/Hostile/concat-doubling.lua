-- expects memory
-- A string that doubles.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local s = "x"
  while true do s = s .. s end
end)
