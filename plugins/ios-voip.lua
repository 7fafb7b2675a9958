-- ios-voip: what an iPhone is told about a call.
--
-- Names the app, adds what it needs to show the call, and lets a late ring go: it is worse than
-- none. What the caller says itself comes first: its title, its body and its payload stay. With
-- `hide` no push tells who calls, also of calls that are over, unless the caller does. What every
-- push says of its call (`call_id`, `kind`, `call_kind`, `user`, `expires_at`) goes along as well.
--
-- Options
--   bundle    the app's bundle id; empty: the configured one        none
--   hide      do not tell who calls                                 false
--   fields    fields of the extended data that go along             type
--   expires   how long Apple may try to deliver it                  0s
--
--   options["ios-voip"] = { bundle = "com.example.desk", fields = { "type", "topic" } }

plugin { version = "1.1.2", on_error = "unchanged" }

local cfg = config {
  bundle = option.text("", { max = 120, help = "the app's bundle id; empty: the configured one" }),
  hide = option.bool(false, { help = "do not tell who calls" }),
  fields = option.list({ "type" }, { max = 10, help = "fields of the data that go along" }),
  expires = option.duration("0s", { max = "2m", help = "how long Apple may try to deliver it" }),
}

on.push(function(push, call)
  local rings = push.reason == "invite" or push.reason == "add"
  if push.provider ~= "apns" or not (rings or cfg.hide) then return end
  local caller = cfg.hide and "Someone" or call.caller.id
  -- Without a title of the caller's there is the usual one: the caller's name, or else the id.
  local tells = push.title == call.caller.id or push.title == call.caller.name
  if not push.title or cfg.hide and tells then push.title = caller end
  push.payload = push.payload or {}
  if push.payload.caller == nil then push.payload.caller = caller end
  if cfg.hide and push.payload.caller_name == nil then push.payload.caller_name = caller end
  if not rings then return push end
  if cfg.bundle ~= "" then
    push.topic = push.kind == "voip" and cfg.bundle .. ".voip" or cfg.bundle
  end
  push.expires_in = math.floor(time.seconds(cfg.expires))
  if push.payload.video == nil then push.payload.video = call.kind == "video" end
  for _, name in ipairs(cfg.fields) do
    if push.payload[name] == nil then
      push.payload[name] = call.extended_data and call.extended_data[name]
    end
  end
  return push
end)

test("the app is named, and only chosen fields go along", function(t)
  t.options { bundle = "com.example.desk", fields = { "topic" } }
  local data = { topic = "invoice", secret = "x" }
  local push = t.push({ kind = "voip" }, { from = "ann", kind = "video", extended_data = data })
  t.equal(push.topic, "com.example.desk.voip")
  t.equal(push.expires_in, 0)
  t.equal(push.payload.topic, "invoice")
  t.equal(push.payload.secret, nil)
  t.equal(push.payload.video, true)
  t.equal(t.push({ kind = "alert" }).topic, "com.example.desk")
end)

test("what the caller says comes first, and stays", function(t)
  t.options { fields = { "topic" } }
  local data = { topic = "invoice" }
  local push = t.push(
    { title = "Ann of sales", body = "Now", payload = { room = 7, topic = "mine" } },
    { from = "ann", extended_data = data })
  t.equal({ push.title, push.body }, { "Ann of sales", "Now" })
  t.equal(push.payload, { room = 7, topic = "mine", caller = "ann", video = false })
  push = t.push({ payload_raw = "hello" }, { from = "ann", extended_data = data })
  t.equal({ push.payload_raw, push.payload.topic }, { "hello", "invoice" })
end)

test("the caller can be hidden, and the configured app stays", function(t)
  t.options { hide = true, expires = "30s" }
  local push = t.push(
    { topic = "com.example.app.voip", title = "ann" }, { from = "ann" })
  t.equal({ push.title, push.payload.caller, push.expires_in }, { "Someone", "Someone", 30 })
  t.equal(push.topic, "com.example.app.voip")
end)

test("what the caller says of itself is not hidden", function(t)
  t.options { hide = true }
  local push = t.push({ title = "Ann of sales", payload = { caller = "Ann" } }, { from = "ann" })
  t.equal({ push.title, push.payload.caller }, { "Ann of sales", "Ann" })
end)

test("a call that is over does not tell who called either", function(t)
  t.options { hide = true, bundle = "com.example.desk" }
  for _, reason in ipairs { "cancel", "leave", "end", "missed" } do
    local push = t.push({ reason = reason, title = "ann", body = "over" }, { from = "ann" })
    t.equal({ push.title, push.body }, { "Someone", "over" })
    t.equal(push.payload, { caller = "Someone", caller_name = "Someone" })
    t.equal(push.topic, nil)
    local said = { reason = reason, title = "Bye", payload = { caller = "Ann" } }
    push = t.push(said, { from = "ann" })
    t.equal({ push.title, push.payload.caller }, { "Bye", "Ann" })
  end
end)

test("the name of who is hidden is hidden as well", function(t)
  t.user("ann", { name = "Ann Smith" })
  local said = { provider = "apns", title = "Ann Smith" }
  t.equal(t.push(said, { from = "ann" }).title, "Ann Smith")
  t.options { hide = true }
  t.user("ann", { name = "Ann Smith" })
  local push = t.push(said, { from = "ann" })
  t.equal({ push.title, push.payload.caller_name }, { "Someone", "Someone" })
end)

test("other pushes stay as they are", function(t)
  t.equal(t.push({ provider = "fcm", title = "x" }).title, "x")
  local push = t.push({ kind = "alert", reason = "missed", title = "ann" }, { from = "ann" })
  t.equal({ push.title, push.payload }, { "ann", {} })
end)
