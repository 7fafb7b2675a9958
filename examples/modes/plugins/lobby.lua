-- lobby: who may come into a lobby without an invitation, and how many.
--
-- Options
--   mode       it decides about calls of this mode; others are open          lobby
--   who        people who may come in: ids and patterns ("*": all)           all
--   most       people in the call at once, pending ones too                  40
--   always     people who come in also where it is full                      none
--
--   options["lobby"] = { who = { "guest-*" }, most = 10, always = { "staff-*" } }

plugin { version = "1.0.0" }

local cfg = config {
  mode = option.text("lobby", { help = "it decides about calls of this mode" }),
  who = option.users({ "*" }, { help = "people who may come in" }),
  most = option.int(40, { min = 2, max = 255, help = "people in the call at once" }),
  always = option.users({}, { help = "people who come in also where it is full" }),
}

on.join(function(call, user)
  if call.mode ~= cfg.mode or cfg.always:has(user) then return admit end
  if not cfg.who:has(user) then return refuse "not_on_the_list" end
  if #call.users >= cfg.most then return refuse "full" end
  return admit
end)

test("a guest comes in while there is room", function(t)
  t.options { mode = "advanced", most = 3, always = { "staff-*" } }
  t.expect(t.join { to = { "bob" }, mode = "advanced", user = "eve" }, admit)
  t.expect(t.join { to = { "bob", "cid" }, mode = "advanced", user = "eve" }, refuse "full")
  t.expect(t.join { to = { "bob", "cid" }, mode = "advanced", user = "staff-1" }, admit)
end)

test("who is not on the list stays outside", function(t)
  t.options { mode = "advanced", who = { "guest-*" } }
  t.expect(t.join { to = "bob", mode = "advanced", user = "eve" }, refuse "not_on_the_list")
  t.expect(t.join { to = "bob", mode = "advanced", user = "guest-7" }, admit)
end)

test("other modes are open to everybody", function(t)
  t.options { who = {} }
  t.expect(t.join { to = "bob", mode = "advanced", user = "eve" }, admit)
end)
