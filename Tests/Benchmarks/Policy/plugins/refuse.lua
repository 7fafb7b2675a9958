-- refuse.lua: says busy to everybody, after a look at the call as the plugin `busy` takes it
on.invite(function(call)
  if call.callee.calls >= 0 then return reject "busy" end
end)

test("everybody is refused", function(t)
  t.expect(t.invite { from = "ann", to = "bob" }, reject "busy")
end)
