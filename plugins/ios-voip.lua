-- ios-voip: what an iPhone is told about a call.
--
-- Names the app, keeps the payload small (VoIP pushes have 5 KB), and lets a late ring go: it is
-- worse than none. With `hide` the lock screen does not tell who calls. What every push says of its
-- call (`call_id`, `kind`, `expires_at`) goes along in any case.
--
-- Options
--   bundle    the app's bundle id; empty: the configured one        none
--   hide      do not tell who calls                                 false
--   fields    fields of the extended data that go along             type
--   expires   how long Apple may try to deliver it                  0s
--
--   options["ios-voip"] = { bundle = "com.example.desk", fields = { "type", "topic" } }

plugin { version = "1.0.0", on_error = "unchanged" }

local cfg = config {
  bundle = option.text("", { max = 120, help = "the app's bundle id; empty: the configured one" }),
  hide = option.bool(false, { help = "do not tell who calls" }),
  fields = option.list({ "type" }, { max = 10, help = "fields of the data that go along" }),
  expires = option.duration("0s", { max = "2m", help = "how long Apple may try to deliver it" }),
}

on.push(function(push, call)
  local rings = push.reason == "invite" or push.reason == "add"
  if push.provider ~= "apns" or not rings then return end
  local caller = cfg.hide and "Someone" or call.caller.id
  if cfg.bundle ~= "" then
    push.topic = push.kind == "voip" and cfg.bundle .. ".voip" or cfg.bundle
  end
  push.title = caller
  push.expires_in = time.seconds(cfg.expires)
  push.payload = { caller = caller, video = call.kind == "video" }
  for _, name in ipairs(cfg.fields) do
    push.payload[name] = call.extended_data and call.extended_data[name]
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

test("the caller can be hidden, and the configured app stays", function(t)
  t.options { hide = true, expires = "30s" }
  local push = t.push({ topic = "com.example.app.voip" }, { from = "ann" })
  t.equal({ push.title, push.payload.caller, push.expires_in }, { "Someone", "Someone", 30 })
  t.equal(push.topic, "com.example.app.voip")
end)

test("other pushes stay as they are", function(t)
  t.equal(t.push({ provider = "fcm", title = "x" }).title, "x")
  t.equal(t.push({ kind = "alert", reason = "missed", title = "x" }).title, "x")
end)
