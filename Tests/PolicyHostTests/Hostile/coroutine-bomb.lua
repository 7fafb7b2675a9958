-- expects error: 
-- Coroutines that are all kept.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local t = {}
  while true do
    local co = coroutine.create(function() coroutine.yield() end)
    coroutine.resume(co)
    t[#t + 1] = co
  end
end)
