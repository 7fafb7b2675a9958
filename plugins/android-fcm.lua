-- android-fcm: what an Android phone is told about a call.
--
-- A push of data only, so that the app itself shows the call. What every push says of its call
-- (`call_id`, `kind`: invite, cancel, …, `expires_at`) goes along in any case.
--
-- Options
--   hide      do not tell who calls                                 false
--   fields    fields of the extended data that go along             type
--   missed    tell of missed calls as well                          true
--
--   options["android-fcm"] = { fields = { "type", "topic" }, missed = false }

plugin { version = "1.0.0", on_error = "unchanged" }

local cfg = config {
  hide = option.bool(false, { help = "do not tell who calls" }),
  fields = option.list({ "type" }, { max = 10, help = "fields of the data that go along" }),
  missed = option.bool(true, { help = "tell of missed calls as well" }),
}

on.push(function(push, call)
  if push.provider ~= "fcm" then return end
  if push.reason == "missed" and not cfg.missed then return drop "missed calls are not told" end
  push.title, push.body = nil, nil
  local caller = cfg.hide and "Someone" or call.caller.id
  push.payload = { caller = caller, video = call.kind == "video" }
  for _, name in ipairs(cfg.fields) do
    push.payload[name] = call.extended_data and call.extended_data[name]
  end
  return push
end)

test("the app gets data, and nothing that Android would show by itself", function(t)
  t.options { fields = { "room" } }
  local push = t.push(
    { provider = "fcm", title = "ann", body = "Incoming call" },
    { from = "ann", kind = "video", extended_data = { type = "video_call", room = 7 } })
  t.equal({ push.title, push.body }, {})
  t.equal(push.payload, { caller = "ann", video = true, room = 7 })
end)

test("callers can be hidden and missed calls left out", function(t)
  t.options { hide = true, missed = false }
  t.equal(t.push({ provider = "fcm" }).payload.caller, "Someone")
  t.equal(t.push { provider = "fcm", reason = "missed" }, nil)
end)

test("other pushes stay as they are", function(t)
  t.equal(t.push({ provider = "apns", title = "x" }).title, "x")
end)
