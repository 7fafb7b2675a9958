-- expects bad_return
-- A result that nests deeply.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local t = {}
  for _ = 1, 100 do t = { t } end
  return t
end)
