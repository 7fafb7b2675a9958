-- What the operator decides. `callagent config` lists every name, `callagent check --config
-- /etc/callagent/callagent.lua` looks for mistakes, `systemctl reload callagent` puts it in force.

-- On loopback development tokens are good: dev:USER. Other addresses need keys.
listen    = "127.0.0.1:7600"
state_dir = "/var/lib/callagent"

-- auth = { { alg = "HS256", key = secret "env:CALLAGENT_KEY", aud = "callagent" } }
-- The unit takes CALLAGENT_KEY=… from /etc/default/callagent (mode 0600).

-- plugins = { "busy" }
