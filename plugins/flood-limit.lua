-- flood-limit: refuse callers who call too often, and more calls than an account can take.
--
-- A user may call so often, to whomever and into calls under way, and an account that the plugins
-- answer for takes so many from everybody together, within a sliding window. Refused attempts do
-- not count. `accepts` divided by `calls` callers together can use an account's window up, five by
-- default: it keeps work from the account, but others find it busy meanwhile. `calls` bounds each.
--
-- Options
--   calls      calls that one caller may place                      20
--   accepts    calls that one account takes from all callers        100
--   within     the window of time                                   1m
--   exempt     callers who are never counted                        none
--
--   options["flood-limit"] = { calls = 5, accepts = 200, within = "10s" }

plugin { version = "1.0.0" }

local cfg = config {
  calls = option.int(20, { min = 1, max = 10000, help = "calls that one caller may place" }),
  accepts = option.int(100, { min = 1, max = 10000, help = "calls that one account takes" }),
  within = option.duration("1m", { min = "1s", max = "1d", help = "the window of time" }),
  exempt = option.users({}, { help = "callers who are never counted" }),
}

on.dial(function(call)
  local asker = call.inviter or call.caller
  if cfg.exempt:has(asker) then return end
  if not limit("from " .. asker.id, cfg.calls, cfg.within) then return refuse "limit" end
end)

on.invite(function(call)
  if cfg.exempt:has(call.caller) then return end
  if not limit("to " .. call.callee.id, cfg.accepts, cfg.within) then
    count("refused")
    return reject "busy"
  end
end)

test("the call after the last one allowed is refused, until time has passed", function(t)
  t.options { calls = 2, within = "10s" }
  t.expect(t.dial { from = "ann", to = "bob" }, nil)
  t.advance "6s"
  t.expect(t.dial { from = "ann", to = "carl" }, nil)
  t.expect(t.dial { from = "ann", to = "dora" }, refuse "limit")
  t.expect(t.dial { from = "eve", to = "dora" }, nil)
  t.advance "4s"
  t.expect(t.dial { from = "ann", to = "dora" }, nil)
end)

test("who adds people too often is refused, and not who made the call", function(t)
  t.options { calls = 2 }
  t.invite { from = "ann", to = "bob" }
  t.accept()
  t.expect(t.dial { by = "bob", to = "carl" }, nil)
  t.expect(t.dial { by = "bob", to = "dora" }, nil)
  t.expect(t.dial { by = "bob", to = "eve" }, refuse "limit")
  t.expect(t.dial { from = "ann", to = "eve" }, nil)
end)

test("an account that gets too many calls is busy", function(t)
  t.options { accepts = 1 }
  t.expect(t.invite { from = "ann", to = "desk" }, nil)
  t.expect(t.invite { from = "bob", to = "desk" }, reject "busy")
  t.expect(t.invite { from = "bob", to = "other-desk" }, nil)
end)

test("some callers are never counted", function(t)
  t.options { calls = 1, accepts = 1, exempt = { "monitor" } }
  for _ = 1, 3 do
    t.expect(t.dial { from = "monitor" }, nil)
    t.expect(t.invite { from = "monitor" }, nil)
  end
end)
