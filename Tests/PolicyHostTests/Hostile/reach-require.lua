-- expects error: module 'os' is not a file of the plugin
-- A module of the system.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  return require "os"
end)
