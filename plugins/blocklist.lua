-- blocklist: keep callers out.
--
-- Nobody on the list gets through to an account that the plugins answer for, directly or forwarded;
-- with `dial` they cannot place calls to anybody either. It is a guard: if it ever fails, the
-- answer is no. Put it first.
--
-- Options
--   callers   who is kept out: ids and patterns                    none
--   except    who is let through nevertheless                      none
--   reason    what the caller's extended data says                 blocked
--   dial      also refuse the calls that they place to anybody     false
--
--   options["blocklist"] = { callers = { "spam-*", "mallory" }, except = { "spam-7" } }

plugin { version = "1.0.0", guard = true }

local cfg = config {
  callers = option.users({}, { help = "who is kept out" }),
  except = option.users({}, { help = "who is let through nevertheless" }),
  reason = option.text("blocked", { min = 1, max = 64, help = "what the caller's data says" }),
  dial = option.bool(false, { help = "also refuse the calls that they place to anybody" }),
}

local function is_blocked(user)
  return user and cfg.callers:has(user) and not cfg.except:has(user)
end

on.invite(function(call)
  if is_blocked(call.caller) or is_blocked(call.inviter) then return reject(cfg.reason) end
end)

on.dial(function(call)
  if cfg.dial and is_blocked(call.inviter) then return refuse(cfg.reason) end
end)

test("who is not on the list is left to the next plugin", function(t)
  t.options { callers = { "spam-*" } }
  t.expect(t.invite { from = "ann" }, nil)
  t.expect(t.dial { from = "spam-1" }, nil)
end)

test("who is on the list is refused, and those who are excepted are not", function(t)
  t.options { callers = { "spam-*" }, except = { "spam-7" }, reason = "no thanks" }
  t.expect(t.invite { from = "spam-1" }, reject "no thanks")
  t.expect(t.invite { from = "spam-7" }, nil)
end)

test("with dial they cannot call anybody", function(t)
  t.options { callers = { "mallory" }, dial = true }
  t.expect(t.dial { from = "mallory", to = { "ann", "bob" } }, refuse "blocked")
  t.expect(t.dial { from = "ann", to = "mallory" }, nil)
  t.invite { from = "ann", to = "mallory" }
  t.accept()
  t.expect(t.dial { by = "mallory", to = "bob" }, refuse "blocked")
  t.expect(t.dial { by = "ann", to = "bob" }, nil)
end)
