-- expects error: cannot resume non-suspended
-- A coroutine that resumes itself.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local co
  co = coroutine.create(function() return coroutine.resume(co) end)
  local _, _, e = coroutine.resume(co)
  error(e, 0)
end)
