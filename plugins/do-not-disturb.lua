-- do-not-disturb: at night no phone rings, except for those who may, or who try again at once.
--
-- Outside the hours an account that the plugins answer for refuses with {"reason": "quiet",
-- "until": seconds since 1970}, and no phone is woken by a push. Who calls again at once gets
-- through, as in an emergency.
--
-- Options
--   awake     when calls may ring                                 07:00-22:00
--   always    callers who get through at any time                 none
--   repeats   the attempt that gets through; 0: none              2
--   within    the time for these attempts                         3m
--
--   plugins = { { "do-not-disturb", users = { "ann", "bob" } } }
--   options["do-not-disturb"] = { awake = "mon-fri 07:00-22:00, sat sun 09:00-23:00" }

plugin { version = "1.0.0" }

local cfg = config {
  awake = option.hours("07:00-22:00", { help = "when calls may ring" }),
  always = option.users({}, { help = "callers who get through at any time" }),
  repeats = option.int(2, { min = 0, max = 10, help = "the attempt that gets through; 0: none" }),
  within = option.duration("3m", { min = "10s", max = "1h", help = "the time for these attempts" }),
}

-- One attempt counts once, however many phones it would wake.
local function is_quiet(call, user)
  if cfg.awake:open() or cfg.always:has(call.caller) then return false end
  if cfg.repeats == 0 then return true end
  if call.vars[user] == nil then
    call.vars[user] = limit(call.caller.id .. " " .. user, cfg.repeats - 1, cfg.within)
  end
  return call.vars[user]
end

on.invite(function(call)
  if is_quiet(call, call.callee.id) then
    return reject("quiet", { extended_data = { ["until"] = cfg.awake:next_open() } })
  end
end)

on.push(function(push, call)
  local rings = push.reason == "invite" or push.reason == "add"
  if rings and is_quiet(call, push.user) then return drop "quiet" end
end)

test("by day everything rings", function(t)
  t.expect(t.invite { at = "Mon 12:00" }, nil)
  t.equal(t.push({ provider = "fcm" }).user, "bob")
end)

test("at night the caller learns until when, and the second attempt gets through", function(t)
  t.clock "Mon 23:00"
  local quiet = reject("quiet", { extended_data = { ["until"] = time.now() + 8 * 3600 } })
  t.expect(t.invite { from = "ann" }, quiet)
  t.advance "2m"
  t.expect(t.invite { from = "eve" }, quiet)
  t.expect(t.invite { from = "ann" }, nil)
end)

test("no phone is woken at night, nor a second one by the same attempt", function(t)
  t.clock "Tue 03:00"
  t.equal(t.push({ provider = "fcm" }, { from = "ann" }), nil)
  t.equal(t.push { provider = "apns" }, nil)
  t.equal(t.push({ provider = "fcm", reason = "missed" }).reason, "missed")
  t.equal(t.push({ provider = "fcm" }, { from = "ann" }).user, "bob")
end)

test("some get through always, and without repeats nobody else does", function(t)
  t.options { always = { "mum" }, repeats = 0 }
  t.expect(t.invite { from = "mum", at = "Mon 23:30" }, nil)
  for _ = 1, 3 do t.equal(t.push({}, { from = "ann" }), nil) end
end)
