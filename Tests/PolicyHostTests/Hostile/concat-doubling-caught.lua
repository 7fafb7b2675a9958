-- expects memory
-- Catching the lack of memory changes nothing.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  while true do pcall(function() local s = "x" while true do s = s .. s end end) end
end)
