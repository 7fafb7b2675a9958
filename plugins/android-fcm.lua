-- android-fcm: what an Android phone is told about a call.
--
-- A push of data only, so that the app itself shows the call, with string values as FCM wants them.
-- All pushes of one call share a collapse id: "cancelled" takes the place of a ring that waits.
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
  push.collapse_id = call.id
  push.payload = {
    call_id = call.id, event = push.reason, kind = call.kind,
    caller = cfg.hide and "Someone" or call.caller.id,
  }
  for _, name in ipairs(cfg.fields) do
    local value = call.extended_data and call.extended_data[name]
    if type(value) == "table" then value = json.encode(value) end
    if value ~= nil then push.payload[name] = tostring(value) end
  end
  return push
end)

test("the app gets data, and nothing that Android would show by itself", function(t)
  t.options { fields = { "type", "room", "tags" } }
  local data = { type = "video_call", room = 7, tags = { "a" } }
  local push = t.push(
    { provider = "fcm", title = "ann", body = "Incoming call" },
    { from = "ann", kind = "video", extended_data = data })
  t.equal({ push.title, push.body }, {})
  t.equal(push.payload.caller, "ann")
  t.equal({ push.payload.room, push.payload.tags }, { "7", '["a"]' })
  t.equal(push.collapse_id, push.payload.call_id)
end)

test("the cancel takes the place of the ring", function(t)
  local ringing = t.push({ provider = "fcm" }, { from = "ann" })
  local cancel = t.push { provider = "fcm", reason = "cancel" }
  t.equal(cancel.collapse_id, ringing.collapse_id)
  t.equal(cancel.payload.event, "cancel")
end)

test("callers can be hidden and missed calls left out", function(t)
  t.options { hide = true, missed = false }
  t.equal(t.push({ provider = "fcm" }).payload.caller, "Someone")
  t.equal(t.push { provider = "fcm", reason = "missed" }, nil)
end)

test("other pushes stay as they are", function(t)
  t.equal(t.push({ provider = "apns", title = "x" }).title, "x")
end)
