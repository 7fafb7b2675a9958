-- ring-all: ring a whole group at once; the first one who accepts has the call.
--
-- Options
--   group   the group to ring                                      must be set
--
--   answer_for = { "sales" }
--   groups     = { staff = { "ann", "bob" } }
--   options["ring-all"] = { group = "staff" }

plugin { version = "1.0.0" }

local cfg = config {
  group = option.text(nil, { required = true, help = "the group to ring" }),
}

on.invite(function()
  local members = users.group(cfg.group)
  if not members then
    log.warn("there is no such group", { group = cfg.group })
    return
  end
  return forward(members, { first = true })
end)

test("everybody rings", function(t)
  t.options { group = "staff" }
  t.group("staff", { "ann", "bob" })
  t.expect(t.invite { from = "zoe", to = "sales", mode = "advanced" },
    forward({ "ann", "bob" }, { first = true }))
end)

test("the caller is not rung", function(t)
  t.options { group = "staff" }
  t.group("staff", { "ann", "bob" })
  t.expect(t.invite { from = "ann", to = "sales", mode = "advanced" }, forward("bob"))
end)

test("without the group the phones of the account ring", function(t)
  t.options { group = "nobody" }
  t.expect(t.invite { from = "zoe", to = "sales", mode = "advanced" }, nil)
end)
