-- busy: refuse a second call.
--
-- Who is in a call, or being called for another one, is busy. The caller gets the reason `busy`
-- with {"type", "reason": "busy", "callID"} as extended data. So that nobody takes all lines alone,
-- an account in `per_caller` calls is busy for a caller who is in as many, whoever is in them.
--
-- Options
--   lines        calls one account may have at once                1
--   per_caller   of these, calls of one caller                     half of the lines
--   vips         callers who are let through whatever is going on  none
--
--   options["busy"] = { lines = 2, vips = { "boss" } }

plugin { version = "1.1.0" }

local cfg = config {
  lines = option.int(1, { min = 1, max = 1000, help = "calls one account may have at once" }),
  per_caller = option.int(nil, { min = 1, max = 1000, help = "calls of one caller; unset: half" }),
  vips = option.users({}, { help = "callers who are never refused here" }),
}

on.invite(function(call)
  if cfg.vips:has(call.caller) then return end
  local calls, share = call.callee.calls, cfg.per_caller or (cfg.lines + 1) // 2
  local shared = math.min(calls, call.caller.calls) -- the two share at most so many
  if calls >= cfg.lines or shared >= share then return reject "busy" end
end)

test("a free account is left to the next plugin", function(t)
  t.expect(t.invite { from = "ann", to = "bob" }, nil)
end)

test("a second call is refused", function(t)
  t.user("bob", { calls = 1 })
  t.expect(t.invite { from = "ann", to = "bob" }, reject "busy")
end)

test("with more lines the next call is refused", function(t)
  t.options { lines = 3 }
  t.user("bob", { calls = 2 })
  t.expect(t.invite { from = "ann", to = "bob" }, nil)
  t.user("bob", { calls = 3 })
  t.expect(t.invite { from = "ann", to = "bob" }, reject "busy")
end)

test("important callers get through", function(t)
  t.options { vips = { "boss" } }
  t.user("bob", { calls = 1 })
  t.expect(t.invite { from = "boss", to = "bob" }, nil)
end)

test("one caller gets half of the lines, or as many as the operator says", function(t)
  t.options { lines = 2 }
  t.expect(t.invite { from = "zoe", to = "desk" }, nil)
  t.expect(t.invite { from = "zoe", to = "desk" }, reject "busy")
  t.expect(t.invite { from = "yan", to = "desk" }, nil)
  t.options { lines = 3, per_caller = 3 }
  t.expect(t.invite { from = "zoe", to = "desk" }, nil)
end)
