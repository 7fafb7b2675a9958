-- desk-hours: refuse calls when nobody is there.
--
-- Outside the hours the caller gets {"reason": "closed", "opens": seconds since 1970}, so that the
-- app can say when to try again. Times are those of `timezone` in callagent.lua.
--
-- Options
--   hours      when calls are taken                               mon-fri 09:00-18:00
--   always     callers who are let through at any time            none
--
--   options["desk-hours"] = { hours = "mon-thu 08:00-17:00, fri 08:00-14:00" }

plugin { version = "1.0.0" }

local cfg = config {
  hours = option.hours("mon-fri 09:00-18:00", { help = "when calls are taken" }),
  always = option.users({}, { help = "callers who are never refused here" }),
}

on.invite(function(call)
  if cfg.hours:open() or cfg.always:has(call.caller) then return end
  return reject("closed", { extended_data = { reason = "closed", opens = cfg.hours:next_open() } })
end)

test("in the hours the next plugin decides", function(t)
  t.expect(t.invite { from = "ann", to = "desk", at = "Mon 10:00" }, nil)
end)

test("at night the caller learns when it opens", function(t)
  t.clock "Fri 18:00"
  local opens = time.now() + (2 * 24 + 15) * 3600
  t.expect(t.invite { from = "ann", to = "desk" },
    reject("closed", { extended_data = { reason = "closed", opens = opens } }))
end)

test("some callers always get through", function(t)
  t.options { always = { "boss" } }
  t.expect(t.invite { from = "boss", to = "desk", at = "Sun 03:00" }, nil)
end)

test("a morning later it is open", function(t)
  t.clock "Sun 23:00"
  t.advance "10h"
  t.expect(t.invite { from = "ann", to = "desk" }, nil)
end)
