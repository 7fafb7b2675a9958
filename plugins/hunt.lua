-- hunt: ring the members of a group one after the other.
--
-- Whoever is busy is left out. With `least_recent` the member rings first whose last call was taken
-- longest ago.
--
-- Options
--   group   the group to ring                                      must be set
--   each    how long each member may ring                          15s
--   start   who rings first: first, least_recent                   first
--
--   answer_for = { "sales" }
--   groups     = { staff = { "ann", "bob" } }
--   options["hunt"] = { group = "staff", each = "15s", start = "least_recent" }

plugin { version = "1.0.0" }

local cfg = config {
  group = option.text(nil, { required = true, help = "the group to ring" }),
  each = option.duration("15s", { min = "1s", max = "10m", help = "how long each may ring" }),
  start = option.choice("first", { "first", "least_recent" }, { help = "who rings first" }),
}

-- When somebody last took a call: whoever waits the longest is rung first.
local function by_rest(members)
  local taken = state.taken or {}
  local order = {}
  for place, id in ipairs(members) do order[place] = { id = id, place = place } end
  table.sort(order, function(a, b)
    local x, y = taken[a.id] or 0, taken[b.id] or 0
    if x == y then return a.place < b.place end
    return x < y
  end)
  local ids = {}
  for place, member in ipairs(order) do ids[place] = member.id end
  return ids
end

on.invite(function()
  local members = users.group(cfg.group)
  if not members then
    log.warn("there is no such group", { group = cfg.group })
    return
  end
  if cfg.start == "least_recent" then members = by_rest(members) end
  return forward(members, { each = cfg.each })
end)

on.accepted(function(_, who)
  for _, id in ipairs(users.group(cfg.group) or {}) do
    if id == who.id then
      local taken = state.taken or {}
      taken[id] = time.now()
      state.taken = taken
    end
  end
end)

test("one after the other, in the order of the group", function(t)
  t.options { group = "staff", each = "20s" }
  t.group("staff", { "ann", "bob" })
  t.expect(t.invite { from = "zoe", to = "sales" }, forward({ "ann", "bob" }, { each = "20s" }))
end)

test("who took a call last is rung last", function(t)
  t.options { group = "staff", start = "least_recent" }
  t.group("staff", { "ann", "bob", "cid" })
  t.event("accepted", { from = "zoe", to = "ann", who = "ann" })
  t.expect(t.invite { from = "zoe", to = "sales" },
    forward({ "bob", "cid", "ann" }, { each = "15s" }))
end)

test("without the group the phones of the account ring", function(t)
  t.options { group = "nobody" }
  t.expect(t.invite { from = "zoe", to = "sales" }, nil)
end)
