-- Ten modes that real services have. Each is a row of parameters: what it is like, and what is
-- different. `callagent modes --config examples/modes/callagent.lua` prints them beside the
-- built-in ones.

-- Who may come into a lobby is decided by a plugin (plugins/lobby.lua).
plugins = { "lobby" }
options["lobby"] = { most = 50 }

modes = {
  -- The door of a clinic rings at the desk and nowhere else: nobody adds anybody, and who has a
  -- call already is not disturbed.
  clinic = { like = "managed", ring_time = "30s", add = false, transfer = "everybody" },

  -- A dispatcher offers a ride to twelve cars; the first one that accepts has it.
  taxi = {
    like = "advanced", invitees = 12, participants = 13, ring_time = "20s",
    first_accept_wins = true,
    end_at_joined = 1, end_when_answered = "nobody_joined", add = "caller",
  },

  -- A bridge stays open until the last one leaves; whoever has its id comes late.
  conference = {
    like = "advanced", invitees = 40, participants = 41, ring_time = "60s", caller_lost = "run_on",
    lost = "leaves", lost_after = "120s", idle = "10m",
  },

  -- A door station: it is answered by itself, and is over when one side goes.
  intercom = {
    like = "ringing", ring_time = "15s", busy_caller = "allow", answer_busy = false, idle = "60s",
  },

  -- The caller is never told that somebody is busy, and is never refused for being in a call.
  emergency = {
    like = "advanced", ring_time = "120s", busy = "ring", busy_caller = "allow",
    answer_busy = false, caller_lost = "run_on", cancel_listed = false, remove = false,
  },

  -- All phones of a family ring; others may still join after the first one.
  family = {
    like = "advanced", ring_time = "40s", end_when_answered = "nobody_joined", end_at_joined = 1,
    add = false, remove = false,
  },

  -- Short words over a channel: somebody who is gone for five seconds is out of it.
  walkie = {
    like = "group", invitees = 20, participants = 21, ring_time = "10s", busy_caller = "allow",
    idle = "30s", lost_after = "5s", remove = false,
  },

  -- A customer asks to be called back and may hang up meanwhile: it rings on at the desk.
  callback = {
    like = "advanced", ring_time = "10m", caller_lost = "run_on", busy = "reject",
    end_when_answered = "nobody_joined", end_at_joined = 1, transfer = "everybody",
  },

  -- A lesson is the teacher's: only the teacher adds, removes and ends, and without the teacher it
  -- is over.
  lesson = {
    like = "advanced", invitees = 30, participants = 31, caller_leaves = "end", add = "caller",
    ["end"] = "caller", transfer = "caller", remove = "caller", lost = "leaves",
  },

  -- Nobody is rung for long: people come to the lobby by themselves, one after the other.
  lobby = {
    like = "advanced", participants = 50, ring_time = "15s", join = true, add = "caller",
    remove = "caller", caller_leaves = "end",
  },
}
