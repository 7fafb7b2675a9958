-- plugins/reception.lua: accepts the callers it knows, after a moment and with a greeting
--
-- The wait leaves a person who is logged in to the same account the time to take the call first.

local cfg = config {
  callers  = option.users({ "alice" }, { help = "who is let in; everybody else is declined" }),
  wait     = option.duration("1s", { max = "30s", help = "how long it rings before" }),
  greeting = option.text("Hello, this is support.", { help = "what the caller gets to read" }),
}

on.invite(function(call)
  if not cfg.callers:has(call.caller.id) then
    log.info("declining", { caller = call.caller.id })
    return reject "declined"
  end
  log.info("accepting", { caller = call.caller.id })
  return accept { wait = cfg.wait, extended_data = { greeting = cfg.greeting } }
end)

on.ended(function(call)
  log.info("ended", { caller = call.caller.id })
end)

test("a known caller is greeted after the wait", function(t)
  t.expect(t.invite { from = "alice", to = "support" },
    accept { wait = cfg.wait, extended_data = { greeting = cfg.greeting } })
end)

test("a stranger is declined", function(t)
  t.expect(t.invite { from = "mallory", to = "support" }, reject "declined")
end)
