-- expects error: cannot resume non-suspended
-- Another handler resumed from a script.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local _, e = coroutine.resume((coroutine.running()))
  error(e, 0)
end)
