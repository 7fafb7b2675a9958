-- extended-data: see to it that extended data is what the apps expect: {"type": …, …}.
--
-- What is no JSON object is dropped, or wrapped as {"type": …, "text": …}; a missing or unknown
-- type becomes the one of the call's kind; fields that are not listed are taken out.
--
-- Options
--   types    the types that apps know; empty: any                  voice_call, video_call
--   fields   the other fields that pass; empty: all                none
--   wrap     keep what is no object as its text                    false
--
--   options["extended-data"] = { types = { "voice_call", "video_call", "greeting" } }

plugin { version = "1.0.0" }

local cfg = config {
  types = option.list({ "voice_call", "video_call" }, { help = "the types that apps know" }),
  fields = option.list({}, { help = "the other fields that pass; empty: all" }),
  wrap = option.bool(false, { help = "keep what is no object as its text" }),
}

local function set(names)
  local known = {}
  for _, name in ipairs(names) do known[name] = true end
  return next(known) and known
end

local types, fields = set(cfg.types), set(cfg.fields)

on.extended_data(function(data, call, dir)
  if dir ~= "in" then return end
  if type(data) ~= "table" then
    if not cfg.wrap then return drop "not an object" end
    data = { text = data }
  end
  if types and not types[data.type] then
    data.type = call.kind == "video" and "video_call" or "voice_call"
  end
  for name in pairs(data) do
    if fields and name ~= "type" and not fields[name] then data[name] = nil end
  end
  return data
end)

test("good data passes", function(t)
  local data = { type = "video_call", topic = "invoice" }
  t.equal(t.data(data), data)
end)

test("a missing or unknown type becomes that of the call", function(t)
  t.equal(t.data({ topic = "x" }, "in", { kind = "video" }), { type = "video_call", topic = "x" })
  t.equal(t.data({ type = "fax" }, "in", { kind = "audio" }), { type = "voice_call" })
end)

test("text is dropped, or wrapped", function(t)
  t.equal(t.data "hello", nil)
  t.options { wrap = true }
  t.equal(t.data "hello", { type = "voice_call", text = "hello" })
end)

test("only listed fields pass, and any type without a list", function(t)
  t.options { types = {}, fields = { "topic" } }
  t.equal(t.data { type = "fax", topic = "x", debug = true }, { type = "fax", topic = "x" })
end)

test("what goes out has been looked at on its way in", function(t)
  t.equal(t.data("hello", "out"), "hello")
end)
