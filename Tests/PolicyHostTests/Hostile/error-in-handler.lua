-- expects error: x
-- An error in the message handler is the error of the handler.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local ok, e = xpcall(error, function() error("x", 0) end)
  error(e, 0)
end)
