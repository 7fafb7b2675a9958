-- expects error: unknown name 'os'
-- Loaded code sees no more than the plugin.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  load("return os.exit()")()
end)
