-- What luacheck needs to know of plugins and of the operator's file: the names of the sandbox.

local any = { other_fields = true }

-- A table of the host with exactly these fields.
local function with(names)
   local fields = {}
   for _, name in ipairs(names) do fields[name] = {} end
   return { fields = fields }
end

stds.callagent = {
   read_globals = {
      -- what is left of Lua
      "assert", "error", "getmetatable", "ipairs", "next", "pairs", "pcall", "print", "rawequal",
      "rawget", "rawlen", "rawset", "require", "select", "setmetatable", "tonumber", "tostring",
      "type", "xpcall", "_VERSION",
      math = any, table = any, utf8 = any, coroutine = any,
      string = with {
         "byte", "char", "find", "format", "gmatch", "gsub", "len", "lower", "match", "pack",
         "packsize", "rep", "reverse", "sub", "unpack", "upper",
      },
      -- a plugin's head
      "plugin", "config", "migrate", "test", "every", "at", "timer",
      option = with {
         "int", "number", "bool", "text", "choice", "list", "user", "users", "hours", "timezone",
         "duration", "url", "secret",
      },
      on = with {
         "dial", "invite", "token", "push", "extended_data", "accepted", "rejected", "cancelled",
         "timeout", "undelivered", "participant", "ended", "signal", "presence", "push_failed",
         "start", "stop", "plugin_error",
      },
      -- decisions
      "accept", "reject", "ring", "forward", "refuse", "allow", "drop",
      -- waiting, stores and helpers
      "sleep", "all", "detach", "later", "limit", "hmac", "jwt", "random", "uuid", "count",
      "observe",
      http = with { "get", "post" },
      kv = with { "get", "set", "incr", "delete", "keys" },
      users = with { "get" },
      json = with { "encode", "decode" },
      base64 = with { "encode", "decode" },
      time = with { "now", "format" },
      log = with { "debug", "info", "warn", "error" },
   },
   globals = { state = any },
}

stds.callagent_file = {
   read_globals = { "secret" },
   globals = {
      "listen", "admin", "state_dir", "answer_for", "plugins", "timezone", "invite", "auth",
      "users", "devices_per_user", "limits", "retention", "max_call_age", "tls", "origins",
      "watch", "test_on_reload", "log", "push", "webhooks", options = any, override = any,
   },
}

-- For the operator's file: luacheck --std callagent_file callagent.lua
std = "callagent"
max_line_length = 100
unused_args = false
