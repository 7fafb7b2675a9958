-- desk-hours: refuse calls when nobody is there, or too many at once.
--
-- Outside the hours the caller gets {"reason": "closed", "opens": seconds since 1970}, so that the
-- app can say when to try again. Times are those of `timezone` in callagent.lua. So that nobody
-- takes all lines alone, an account in `per_caller` calls is busy for a caller who is in as many.
--
-- Options
--   hours      when calls are taken                               mon-fri 09:00-18:00
--   lines      calls one account may have at once                 1
--   per_caller of these, calls of one caller                      half of the lines
--   always     callers who are let through at any time            none
--
--   options["desk-hours"] = { lines = 2, hours = "mon-thu 08:00-17:00, fri 08:00-14:00" }

plugin { version = "1.1.0" }

local cfg = config {
  hours = option.hours("mon-fri 09:00-18:00", { help = "when calls are taken" }),
  lines = option.int(1, { min = 1, max = 1000, help = "calls one account may have at once" }),
  per_caller = option.int(nil, { min = 1, max = 1000, help = "calls of one caller; unset: half" }),
  always = option.users({}, { help = "callers who are never refused here" }),
}

on.invite(function(call)
  if cfg.always:has(call.caller) then return end
  if not cfg.hours:open() then
    local opens = cfg.hours:next_open()
    return reject("closed", { extended_data = { reason = "closed", opens = opens } })
  end
  local calls, share = call.callee.calls, cfg.per_caller or (cfg.lines + 1) // 2
  local shared = math.min(calls, call.caller.calls) -- the two share at most so many
  if calls >= cfg.lines or shared >= share then return reject "busy" end
end)

test("in the hours the next plugin decides", function(t)
  t.expect(t.invite { to = "desk", at = "Mon 10:00" }, nil)
end)

test("at night the caller learns when it opens", function(t)
  t.clock "Fri 18:00"
  local data = { reason = "closed", opens = time.now() + (2 * 24 + 15) * 3600 }
  t.expect(t.invite { to = "desk" }, reject("closed", { extended_data = data }))
  t.advance "63h"
  t.expect(t.invite { to = "desk" }, nil)
end)

test("some callers always get through", function(t)
  t.options { always = { "boss" } }
  t.expect(t.invite { from = "boss", to = "desk", at = "Sun 03:00" }, nil)
end)

test("the third call on two lines is refused, and the second of one caller", function(t)
  t.options { lines = 2 }
  t.invite { from = "zoe", to = "desk", at = "Mon 10:00" }
  t.expect(t.invite { from = "zoe", to = "desk" }, reject "busy")
  t.expect(t.invite { from = "yan", to = "desk" }, nil)
  t.expect(t.invite { from = "xia", to = "desk" }, reject "busy")
end)
