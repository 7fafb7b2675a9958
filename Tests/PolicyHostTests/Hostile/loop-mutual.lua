-- expects cpu
-- Two functions that call each other for ever.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local a, b
  function a() return b() end
  function b() return a() end
  a()
end)
