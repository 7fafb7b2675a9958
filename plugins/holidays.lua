-- holidays: refuse calls on days when nobody works.
--
-- The caller gets {"reason": "closed", "opens": seconds since 1970}: midnight before the next day
-- that is none of these, so that the app can say when to try again. Days are those of `timezone` in
-- callagent.lua. Before `desk-hours`, which says at what time of that day.
--
-- Options
--   days       "12-25" of every year, "2026-04-06",
--              "2026-07-01..2026-07-14" with both ends                      none
--   reason     what the caller is told                                      closed
--
--   options["holidays"] = { days = { "01-01", "12-24..12-26", "2026-04-06" } }

plugin { version = "1.0.1" }

local cfg = config {
  days = option.list({}, { max = 400, help = "days when nobody works" }),
  reason = option.text("closed", { min = 1, max = 64, help = "what the caller is told" }),
}

local DAY = 24 * 3600
local YEARLY, ONCE = "^[01]%d%-[0-3]%d$", "^%d%d%d%d%-[01]%d%-[0-3]%d$"

-- Texts of one form have the order of the days that they name.
local single, ranges = {}, {}
for _, text in ipairs(cfg.days) do
  local first, last = text:match "^(.-)%.%.(.+)$"
  first, last = first or text, last or text
  local form = first:match(YEARLY) and YEARLY or ONCE
  local hint = "' is no day (write \"12-25\" or \"2026-04-06\")"
  if not (first:match(form) and last:match(form)) then error("days: '" .. text .. hint) end
  if last < first then error("days: '" .. text .. "' ends before it begins") end
  local range = { first = first, last = last, is_yearly = form == YEARLY }
  if first == last then single[first] = true else ranges[#ranges + 1] = range end
end

local function is_off(moment)
  local once = time.format("%Y-%m-%d", moment)
  local yearly = once:sub(6)
  if single[once] or single[yearly] then return true end
  for _, range in ipairs(ranges) do
    local day = range.is_yearly and yearly or once
    if range.first <= day and day <= range.last then return true end
  end
  return false
end

-- Midnight after `moment`, also where the clocks change in between.
local function next_day(moment)
  local text = time.format("%H %M %S", moment)
  local function part(at) return math.tointeger(tonumber(text:sub(at, at + 1))) or 0 end
  local next = moment + DAY - part(1) * 3600 - part(4) * 60 - part(7)
  local shown = math.tointeger(tonumber(time.format("%H", next))) or 0
  return shown == 0 and next or next + (shown > 12 and 24 - shown or -shown) * 3600
end

on.invite(function()
  local day = time.now()
  if not is_off(day) then return end
  for _ = 1, 366 do
    day = next_day(day)
    if not is_off(day) then break end
  end
  return reject(cfg.reason, { extended_data = { reason = cfg.reason, opens = day } })
end)

test("on Christmas Day the caller learns when it opens", function(t)
  t.options { days = { "12-25..12-26", "2030-12-27" } }
  t.expect(t.invite { to = "desk", at = "2030-12-24 23:59" }, nil)
  t.clock "2030-12-25 10:00"
  local data = { reason = "closed", opens = time.now() + (14 + 2 * 24) * 3600 }
  t.expect(t.invite { to = "desk" }, reject("closed", { extended_data = data }))
  t.expect(t.invite { to = "desk", at = "2031-12-27 00:00" }, nil)
end)

test("a long holiday among very many days is found in time", function(t)
  local days, first = {}, 1893456000 -- 2030-01-01
  for day = 1, 400 do days[day] = time.format("%Y-%m-%d", first + day * 24 * 3600) end
  t.options { days = days }
  t.clock "2030-12-01 10:00"
  local data = { reason = "closed", opens = first + 401 * 24 * 3600 }
  t.expect(t.invite { to = "desk" }, reject("closed", { extended_data = data }))
end)

test("midnight is that of the place, also where the clocks change", function(t)
  t.options { days = { "2030-03-31" }, reason = "gone" }
  t.timezone "Europe/Berlin"
  t.clock "2030-03-31 00:30"
  local data = { reason = "gone", opens = time.now() + (22 * 60 + 30) * 60 }
  t.expect(t.invite { to = "desk" }, reject("gone", { extended_data = data }))
end)
