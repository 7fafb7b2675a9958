-- android-fcm: what an Android phone is told about a call.
--
-- A push to Android is data only, so that the app itself shows the call: this adds what it needs.
-- What the caller says itself comes first: its title, its body and its payload stay. With `hide`
-- the data does not tell who calls, unless the caller does. What every push says of its call
-- (`call_id`, `kind`: invite, cancel, …, `call_kind`, `user`, `expires_at`) goes along in any case.
--
-- Options
--   hide      do not tell who calls                                 false
--   fields    fields of the extended data that go along             type
--   missed    tell of missed calls as well                          true
--
--   options["android-fcm"] = { fields = { "type", "topic" }, missed = false }

plugin { version = "1.1.2", on_error = "unchanged" }

local cfg = config {
  hide = option.bool(false, { help = "do not tell who calls" }),
  fields = option.list({ "type" }, { max = 10, help = "fields of the data that go along" }),
  missed = option.bool(true, { help = "tell of missed calls as well" }),
}

on.push(function(push, call)
  if push.provider ~= "fcm" then return end
  if push.reason == "missed" and not cfg.missed then return drop "missed calls are not told" end
  local caller = cfg.hide and "Someone" or call.caller.id
  -- Without a title of the caller's there is the usual one: the caller's name, or else the id.
  local tells = push.title == call.caller.id or push.title == call.caller.name
  if not push.title or cfg.hide and tells then push.title = caller end
  push.payload = push.payload or {}
  if push.payload.caller == nil then push.payload.caller = caller end
  if cfg.hide and push.payload.caller_name == nil then push.payload.caller_name = caller end
  if push.payload.video == nil then push.payload.video = call.kind == "video" end
  for _, name in ipairs(cfg.fields) do
    if push.payload[name] == nil then
      push.payload[name] = call.extended_data and call.extended_data[name]
    end
  end
  return push
end)

test("the app gets the fields that were chosen", function(t)
  t.options { fields = { "room" } }
  local push = t.push(
    { provider = "fcm", title = "ann", body = "Incoming call" },
    { from = "ann", kind = "video", extended_data = { type = "video_call", room = 7 } })
  t.equal({ push.title, push.body }, { "ann", "Incoming call" })
  t.equal(push.payload, { caller = "ann", video = true, room = 7 })
end)

test("what the caller says comes first, and stays", function(t)
  local push = t.push(
    { provider = "fcm", title = "Ann of sales", payload = { type = "mine", room = 7 } },
    { from = "ann", extended_data = { type = "video_call" } })
  t.equal(push.title, "Ann of sales")
  t.equal(push.payload, { caller = "ann", video = false, type = "mine", room = 7 })
  t.equal(t.push({ provider = "fcm", payload_raw = "[1]" }).payload_raw, "[1]")
end)

test("callers can be hidden and missed calls left out", function(t)
  t.options { hide = true, missed = false }
  local push = t.push({ provider = "fcm", title = "ann" }, { from = "ann" })
  t.equal({ push.title, push.payload.caller }, { "Someone", "Someone" })
  t.equal(t.push { provider = "fcm", reason = "missed" }, nil)
end)

test("what the caller says of itself is not hidden", function(t)
  t.options { hide = true }
  local said = { provider = "fcm", title = "Ann of sales", payload = { caller = "Ann" } }
  for _, reason in ipairs { "invite", "missed" } do
    said.reason = reason
    local push = t.push(said, { from = "ann" })
    t.equal({ push.title, push.payload.caller }, { "Ann of sales", "Ann" })
  end
  local push = t.push({ provider = "fcm", reason = "missed", title = "ann" }, { from = "ann" })
  t.equal({ push.title, push.payload.caller }, { "Someone", "Someone" })
end)

test("the name of who is hidden is hidden as well", function(t)
  t.user("ann", { name = "Ann Smith" })
  local said = { provider = "fcm", title = "Ann Smith" }
  t.equal(t.push(said, { from = "ann" }).title, "Ann Smith")
  t.options { hide = true }
  t.user("ann", { name = "Ann Smith" })
  local push = t.push(said, { from = "ann" })
  t.equal({ push.title, push.payload.caller_name }, { "Someone", "Someone" })
end)

test("other pushes stay as they are", function(t)
  t.equal(t.push({ provider = "apns", title = "x" }).title, "x")
end)
