-- queue: callers wait until a member of a group is free.
--
-- The account takes the call, tells its caller {"position": 1, "waiting_ms": 20000} by a signal
-- every now and then, and hands the call to the first member who is online and in no other call. A
-- member who does not answer is passed; a call is handed on ten times at most.
--
-- Options
--   group       whose members answer                                           -
--   say_every   how often callers are told, and free members looked for        10s
--   max         callers who wait for one account; one more finds it busy       20
--   modes       where call.transfer is; calls of other modes find it busy      advanced, …
--
--   options["queue"] = { group = "staff", say_every = "5s", max = 50 }

plugin { version = "1.0.0" }

local cfg = config {
  group = option.text(nil, { required = true, help = "whose members answer" }),
  say_every = option.duration("10s", { min = "1s", max = "10m", help = "how often they are told" }),
  max = option.int(20, { min = 1, max = 100, help = "callers who wait for one account" }),
  modes = option.list({ "advanced", "managed", "direct" }, { help = "where call.transfer is" }),
}

-- Those who wait for an account, in their order: { id, since, asked } of each call.
local function line(account) return (state.lines or {})[account] or {} end

local function keep(account, waiting)
  local lines = state.lines or {}
  lines[account] = #waiting > 0 and waiting or nil
  state.lines = lines
end

local function add(account, call)
  local waiting = line(account)
  waiting[#waiting + 1] = { id = call.id, since = time.now() }
  keep(account, waiting)
end

-- The entry of a call, its place, and its place among those whom nobody is asked to take yet.
local function find(waiting, id)
  local turn = 1
  for place, one in ipairs(waiting) do
    if one.id == id then return one, place, one.asked and 1 or turn end
    if not one.asked then turn = turn + 1 end
  end
end

local function forget(account, id)
  local waiting = line(account)
  local _, place = find(waiting, id)
  if place then table.remove(waiting, place) end
  keep(account, waiting)
end

local function free_members()
  local free = {}
  for _, id in ipairs(users.group(cfg.group) or {}) do
    local member = users.get(id)
    if member and member.online and member.calls == 0 then free[#free + 1] = id end
  end
  return free
end

on.invite(function(call)
  local account = call.callee.id
  for _, mode in ipairs(cfg.modes) do
    if mode == call.mode and #line(account) < cfg.max then
      add(account, call)
      return accept {}
    end
  end
  return reject "busy"
end)

on.accepted(function(call, who)
  if find(line(who.id), call.id) then call:later("1s", "turn", who.id) end
end)

on.ended(function(call)
  for account in pairs(state.lines or {}) do forget(account, call.id) end
end)

timer("turn", function(account, call)
  local free, isHere = free_members(), false
  for _, user in ipairs(call.users) do isHere = isHere or user.id == account end
  if not isHere then return forget(account, call.id) end
  if not find(line(account), call.id) then add(account, call) end -- a restart forgot it
  local waiting = line(account)
  local one, place, turn = find(waiting, call.id)
  if free[turn] and call:transfer(free[turn]) then
    one.asked = true
    keep(account, waiting)
  end
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

test("who hangs up makes room", function(t)
  t.options { group = "staff", max = 1 }
  t.expect(t.invite { from = "zoe", to = "sales", mode = "advanced" }, accept {})
  t.event("ended", { reason = "last_left" })
  t.expect(t.invite { from = "yan", to = "sales", mode = "advanced" }, accept {})
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
  state.lines = nil
  t.advance "1s"
  t.equal(t.calls()[1].data.position, 1)
end)
