-- forward-no-answer: ring, and if nobody answers call somebody else instead.
--
-- The devices of the account ring first. When the time is over, or at once if none is connected,
-- the call goes on to the first on the list who is not in a call, with the same deadline.
--
-- Options
--   to       who is called instead, in this order                  must be set
--   after    how long the account itself rings                     20s
--
--   options["forward-no-answer"] = { to = { "ann", "reception" }, after = "15s" }

plugin { version = "1.0.0" }

local cfg = config {
  to = option.list(nil, { required = true, min = 1, max = 5, help = "who is called instead" }),
  after = option.duration("20s", { min = "1s", max = "5m", help = "how long it rings first" }),
}

local function next_one(call)
  for _, id in ipairs(cfg.to) do
    local user = id ~= call.caller.id and id ~= call.callee.id and users.get(id)
    if user and user.calls == 0 then return forward(id) end
  end
end

on.invite(function(call)
  local is_first = not call.vars.rung
  if is_first and call.callee.online and call.remaining > time.seconds(cfg.after) then
    call.vars.rung = true
    return ring { for_ = cfg.after, again = true }
  end
  return next_one(call)
end)

test("it rings first, and is forwarded when nobody has answered", function(t)
  t.options { to = { "carl" }, after = "10s" }
  t.expect(t.invite { to = "bob" }, ring { for_ = "10s", again = true })
  t.expect(t.again(), forward "carl")
end)

test("an account without a device is not waited for", function(t)
  t.options { to = { "carl" } }
  t.user("bob", { devices = 0 })
  t.expect(t.invite { to = "bob" }, forward "carl")
end)

test("the first who is free is called, and never the caller", function(t)
  t.options { to = { "ann", "bob", "carl", "dora" } }
  t.user("bob", { devices = 0 })
  t.user("carl", { calls = 1 })
  t.expect(t.invite { from = "ann", to = "bob" }, forward "dora")
end)

test("when nobody is free the next plugin decides, as it does for a short call", function(t)
  t.options { to = { "ann" }, after = "20s" }
  t.expect(t.invite { from = "ann", to = "bob", timeout = "15s" }, nil)
end)
