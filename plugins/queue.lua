-- queue: callers wait until a member of a group is free.
--
-- The account takes the call, tells its caller {"position": 1, "waiting_ms": 20000} now and then,
-- and hands it to the first member who is online and free; who does not answer is passed. Busy are
-- more than `max` calls for one account, `per_caller` of one caller in all, and other `modes`.
--   options["queue"] = { group = "staff", say_every = "5s", max = 50 }

plugin { version = "1.3.1", state_version = 2 }

local cfg = config {
  group = option.text(nil, { required = true, help = "whose members answer" }),
  say_every = option.duration("10s", { min = "1s", max = "10m", help = "how often they are told" }),
  max = option.int(20, { min = 1, max = 100, help = "callers who wait for one account" }),
  per_caller = option.int(2, { min = 1, max = 100, help = "calls of one caller who wait, in all" }),
  modes = option.list({ "advanced", "managed", "direct" }, { help = "where call.transfer is" }),
}
local can_transfer = {}
for _, mode in ipairs(cfg.modes) do can_transfer[mode] = true end
-- `state` has the calls that wait for each account in their order: { id, by, since, seen, asked }.
migrate(function(old) return old.lines or {} end)

local function add(account, call)
  state[account] = state[account] or {}
  table.insert(state[account], { id = call.id, by = call.caller.id, since = time.now() })
end

local function sweep(keeps)
  for account, line in pairs(state) do
    for n = #line, 1, -1 do if not keeps(line[n], account) then table.remove(line, n) end end
    if #line == 0 then state[account] = nil end
  end
end

-- The entry of a call, its place, and its place among those whom nobody is asked to take yet.
local function find(account, id)
  local turn = 1
  for place, one in ipairs(state[account] or {}) do
    if one.id == id then return one, place, one.asked and 1 or turn end
    if not one.asked then turn = turn + 1 end
  end
end

on.invite(function(call)
  local own, late = 0, time.now() - 3 * time.seconds(cfg.say_every) - 60
  sweep(function(one) -- The end of a call is not told where the plugin is passed over.
    if one.by == call.caller.id then own = own + 1 end
    return (one.seen or one.since) >= late
  end)
  local is_full = #(state[call.callee.id] or {}) >= cfg.max or own >= cfg.per_caller
  if is_full or not can_transfer[call.mode] then return reject "busy" end
  add(call.callee.id, call)
  return accept {}
end)

on.accepted(function(call, who)
  if find(who.id, call.id) then call:later("1s", "turn", who.id) end
end)
on.ended(function(call) sweep(function(one) return one.id ~= call.id end) end)

timer("turn", function(account, call)
  if not call then return end
  local free, here = {}, {}
  for _, user in ipairs(call.users) do here[user.id] = true end
  local function stays(one, of) return one.id ~= call.id or of ~= account end
  if not here[account] then return sweep(stays) end -- it may wait for another account still
  for _, id in ipairs(users.group(cfg.group) or {}) do
    local member = not here[id] and users.get(id)
    if member and member.online and member.calls == 0 then free[#free + 1] = id end
  end
  if not find(account, call.id) then add(account, call) end -- a restart forgot it
  local one, place, turn = find(account, call.id)
  one.seen = time.now()
  -- A call that cannot be handed on keeps nobody from those behind it. Entries move meanwhile.
  if free[turn] then call:transfer(free[turn]) end
  if free[turn] then (find(account, call.id) or {}).asked = true end
  call:signal { position = place, waiting_ms = (time.now() - one.since) * 1000 }
  call:later(cfg.say_every, "turn", account)
end)

test("who waits is told, and handed to the first who is free", function(t)
  t.options { group = "staff" }
  t.group("staff", { "ann", "bob" })
  t.user("ann", { calls = 1 })
  t.user("bob", { calls = 1 })
  t.expect(t.invite { from = "zoe", to = "sales", mode = "advanced" }, accept {})
  t.advance "1s"
  t.user("bob", { calls = 0 })
  t.advance "10s"
  t.equal(t.calls(), {
    { op = "signal", data = { position = 1, waiting_ms = 1000 } },
    { op = "transfer", to = "bob" },
    { op = "signal", data = { position = 1, waiting_ms = 11000 } },
  })
end)

test("the second waits behind the first, and one more finds it busy", function(t)
  t.options { group = "staff", max = 2 }
  t.group("staff", { "ann" })
  t.user("ann", { online = false })
  t.expect(t.invite { from = "zoe", to = "sales", mode = "advanced" }, accept {})
  t.expect(t.invite { from = "yan", to = "sales", mode = "advanced" }, accept {})
  t.expect(t.invite { from = "xia", to = "sales", mode = "advanced" }, reject "busy")
  t.advance "1s"
  local told = t.calls()
  t.equal({ told[1].data.position, told[2].data.position }, { 1, 2 })
end)

test("one caller cannot fill the queue", function(t)
  t.options { group = "staff", max = 5 }
  local function ask(caller) return t.invite { from = caller, to = "sales", mode = "advanced" } end
  t.expect(ask "zoe", accept {})
  t.expect(ask "zoe", accept {})
  t.expect(ask "zoe", reject "busy")
  t.expect(ask "yan", accept {})
  t.equal(#state.sales, 3)
end)

test("nor the queues of many accounts", function(t)
  t.options { group = "staff" }
  local function ask(account) return t.invite { from = "zoe", to = account, mode = "advanced" } end
  t.expect(ask "sales", accept {})
  t.expect(ask "desk-1", accept {})
  t.expect(ask "desk-2", reject "busy")
  t.equal({ #state.sales, #state["desk-1"], state["desk-2"] }, { 1, 1 })
end)

test("a call whose end is not told makes room after a while", function(t)
  t.options { group = "staff", max = 1, say_every = "1s" }
  local function ask() return t.invite { from = "yan", to = "sales", mode = "advanced" } end
  local now = time.now()
  state.sales = { { id = "gone", by = "zoe", since = now - 60, seen = now } }
  state.old = { { id = "lost", by = "zoe", since = now } }
  t.expect(ask(), reject "busy")
  t.advance "63s"
  t.expect(ask(), reject "busy")
  t.advance "1s"
  t.expect(ask(), accept {})
  t.equal({ #state.sales, state.sales[1].by, state.old }, { 1, "yan" })
end)

test("a caller may have as many calls as the operator says", function(t)
  t.options { group = "staff", per_caller = 1 }
  t.expect(t.invite { from = "zoe", to = "sales", mode = "advanced" }, accept {})
  t.event "ended"
  t.expect(t.invite { from = "zoe", to = "sales", mode = "advanced" }, accept {})
  t.expect(t.invite { from = "zoe", to = "sales", mode = "advanced" }, reject "busy")
  t.expect(t.invite { from = "yan", to = "sales", mode = "advanced" }, accept {})
end)

test("who hangs up makes room", function(t)
  t.options { group = "staff", max = 1 }
  t.expect(t.invite { from = "zoe", to = "sales", mode = "advanced" }, accept {})
  t.event("ended", { reason = "last_left" })
  t.expect(t.invite { from = "yan", to = "sales", mode = "advanced" }, accept {})
end)

test("a member of the group who calls is handed to another one", function(t)
  t.options { group = "staff" }
  t.group("staff", { "zoe", "ann" })
  t.invite { from = "zoe", to = "sales", mode = "advanced" }
  t.advance "1s"
  t.equal(t.calls()[1], { op = "transfer", to = "ann" })
end)

test("who is handed on from one account keeps the place in the line of another", function(t)
  t.options { group = "staff" }
  t.group("staff", { "ann" })
  t.invite { from = "zoe", to = { "sales", "desk-1" }, mode = "advanced" }
  t.advance "1s"
  t.accept()
  t.advance "10s"
  local told = t.calls()
  t.equal({ told[#told].op, told[#told].data.waiting_ms }, { "signal", 11000 })
  t.equal({ state.sales, #state["desk-1"] }, { nil, 1 })
end)

test("where a call cannot be handed on, it is busy", function(t)
  t.options { group = "staff" }
  t.expect(t.invite { from = "zoe", to = "sales", mode = "common" }, reject "busy")
end)

test("a restart forgets nobody who waits", function(t)
  t.options { group = "staff" }
  t.group("staff", { "ann" })
  t.user("ann", { online = false })
  t.invite { from = "zoe", to = "sales", mode = "advanced" }
  state.sales = nil
  t.advance "1s"
  t.equal(t.calls()[1].data.position, 1)
end)

test("who hangs up leaves the others in their order", function(t)
  t.options { group = "staff" }
  t.group("staff", { "ann" })
  t.user("ann", { online = false })
  for _, caller in ipairs { "zoe", "yan", "xia" } do
    t.invite { from = caller, to = "sales", mode = "advanced" }
  end
  t.equal(#state.sales, 3)
  t.event "ended"
  t.equal(#state.sales, 2)
  t.advance "1s"
  local told = t.calls()
  t.equal({ told[1].data.position, told[2].data.position }, { 1, 2 })
end)
