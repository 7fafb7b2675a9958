-- turn-credentials: let those who are in a call use the TURN server, for a while.
--
-- `call.token` gives {"iceServers": [{"urls", "username", "credential"}], "ttl": seconds}, ready
-- for WebRTC. The secret is coturn's `static-auth-secret` (with `use-auth-secret`): the server
-- checks name and time by itself and knows no users.
--
-- Options
--   urls     addresses of the TURN server                          must be set
--   secret   the secret that it shares                             must be set
--   ttl      how long the credentials are good                     1h
--
--   options["turn-credentials"] = { urls = { "turn:turn.example.com:3478?transport=udp" },
--                                   secret = secret "env:TURN_SECRET" }

plugin { version = "1.0.0" }

local cfg = config {
  urls = option.list(nil, { required = true, min = 1, help = "addresses of the TURN server" }),
  secret = option.secret(nil, { required = true, help = "the secret that it shares" }),
  ttl = option.duration("1h", { min = "1m", max = "7d", help = "how long they are good" }),
}

on.token(function(_, user)
  local ttl = time.seconds(cfg.ttl)
  local username = time.now() + ttl .. ":" .. user.id
  local credential = base64.encode(hmac("sha1", cfg.secret, username))
  return {
    ttl = ttl,
    iceServers = { { urls = cfg.urls, username = username, credential = credential } },
  }
end)

test("the name ends the time, and the credential proves both", function(t)
  t.options { urls = { "turn:t" }, secret = "north", ttl = "10m" }
  t.clock "2024-05-01 10:00"
  local made = t.token { user = "bob" }
  local server = made.iceServers[1]
  t.equal({ made.ttl, server.urls }, { 600, { "turn:t" } })
  t.equal(server.username, "1714558200:bob")
  t.equal(server.credential, base64.encode(hmac("sha1", "north", "1714558200:bob")))
end)
