-- expects error: pattern too complex
-- A pattern that recurses deeply.
on.invite(function(call)
  if call.callee.calls > 0 then return reject "busy" end
  local p = ("a?"):rep(400)
  ;("a"):rep(400):find(p .. "b")
end)
