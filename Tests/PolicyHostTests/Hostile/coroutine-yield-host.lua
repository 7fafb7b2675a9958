-- expects error: attempt to yield from outside a coroutine
-- A yield to nobody.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  coroutine.yield()
end)
