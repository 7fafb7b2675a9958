-- callagent.lua: `support` answers calls by itself, everybody else is a person with a phone.

listen     = "127.0.0.1:7600"
state_dir  = "callagent.state"
answer_for = { "support" }
plugins    = { "busy", "reception" }     -- asked in this order; the first answer wins

options["reception"] = { callers = { "alice", "carol" }, wait = "1s" }
