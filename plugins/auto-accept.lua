-- auto-accept: answer known callers without a person.
--
-- Accepts after a short wait, in which a person may still take the call, and greets with data.
--
-- Options
--   allow      callers who are answered: ids and patterns ("*": all)    none
--   wait       how long it rings first                                  2s
--   greeting   what the extended data says                              Hello! …
--
--   options["auto-accept"] = { allow = { "ann", "sales-*" }, wait = "3s" }

plugin { version = "1.0.0" }

local cfg = config {
  allow = option.users({}, { help = "callers who are answered automatically" }),
  wait = option.duration("2s", { max = "60s", help = "lets a person take the call first" }),
  greeting = option.text("Hello! An agent answers this line.",
    { max = 500, help = "what the extended data says" }),
}

on.invite(function(call)
  if not cfg.allow:has(call.caller) then return end
  return accept { wait = cfg.wait, extended_data = { type = "greeting", text = cfg.greeting } }
end)

on.accepted(function(call, who)
  log.info("answered", { caller = call.caller.id, by = who.id })
end)

test("a stranger is left to the next plugin", function(t)
  t.options { allow = { "ann" } }
  t.expect(t.invite { from = "mallory", to = "desk" }, nil)
end)

test("a known caller is answered after the wait, with the greeting", function(t)
  t.options { allow = { "ann", "sales-*" }, wait = "3s", greeting = "Hi" }
  local answer = accept { wait = "3s", extended_data = { type = "greeting", text = "Hi" } }
  t.expect(t.invite { from = "ann", to = "desk" }, answer)
  t.accept()
  t.equal(t.logs(), { "answered" })
  t.expect(t.invite { from = "sales-7", to = "desk" }, answer)
end)
