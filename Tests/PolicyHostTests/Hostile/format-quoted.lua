-- expects error: string too long to be quoted
-- %q of a large string.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  string.format("%q", ("\0"):rep(1 << 20))
end)
