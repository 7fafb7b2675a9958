-- expects cpu
-- A loop in loaded code.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  load("while true do end")()
end)
