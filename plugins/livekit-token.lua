-- livekit-token: let those who are in a call join its LiveKit room.
--
-- `call.token` gives {"url", "room", "token"}: a token of LiveKit's kind for the room of this call,
-- signed here. The key pair is the one that the LiveKit server knows.
--
-- Options
--   url      where the apps find LiveKit                           must be set
--   key      the API key                                           must be set
--   secret   its secret, at least 32 bytes                         must be set
--   ttl      how long somebody may join with it                    10m
--   room     what stands before the call's id in the room's name   empty
--   listen   who may listen only                                   none
--
--   options["livekit-token"] = { url = "wss://media.example.com", key = "APIabc",
--                                secret = secret "env:LIVEKIT_SECRET" }

plugin { version = "1.0.0" }

local cfg = config {
  url = option.text(nil, { required = true, help = "where the apps find LiveKit" }),
  key = option.text(nil, { required = true, help = "the API key" }),
  secret = option.secret(nil, { required = true, min = 32, help = "the secret of that key" }),
  ttl = option.duration("10m", { min = "1m", max = "1d", help = "how long the token is good" }),
  room = option.text("", { max = 64, help = "what stands before the call's id" }),
  listen = option.users({}, { help = "who may listen only" }),
}

on.token(function(call, user)
  local now, room = time.now(), cfg.room .. call.id
  local grant = {
    room = room, roomJoin = true, canSubscribe = true, canPublish = not cfg.listen:has(user),
  }
  local claims = {
    iss = cfg.key, sub = user.id, nbf = now - 10, exp = now + time.seconds(cfg.ttl), video = grant,
  }
  return { url = cfg.url, room = room, token = jwt(claims, { alg = "HS256", key = cfg.secret }) }
end)

local function claims_of(token)
  return json.decode(base64.decode(token:match "%.([^.]+)%." or "") or "")
end

test("the token is for this user in the room of this call, for ten minutes", function(t)
  t.options { url = "wss://m", key = "API", secret = ("s"):rep(32), room = "desk-" }
  local made = t.token { user = "bob" }
  local claims = claims_of(made.token)
  t.equal({ made.url, claims.iss, claims.sub }, { "wss://m", "API", "bob" })
  t.equal(claims.exp, time.now() + 600)
  t.equal({ claims.video.room, claims.video.canPublish }, { made.room, true })
  t.equal(made.room:sub(1, 5), "desk-")
end)

test("some may only listen", function(t)
  t.options { url = "wss://m", key = "API", secret = ("s"):rep(32), listen = { "guest-*" } }
  t.equal(claims_of(t.token({ user = "guest-1" }).token).video.canPublish, false)
end)
