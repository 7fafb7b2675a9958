"""The account `support`, its plugin, and how it answers."""

from calls import changes, invite

SUPPORT = 'answer_for = { "support" }\nplugins = { "support" }\n'
ACCEPT = """on.invite(function(call)
  local user = users.get(call.caller.id)
  kv.incr("asked", 1)
  return accept {}
end)
"""
BUSY = ACCEPT.replace("accept {}", 'reject "busy"')


def rewrite(agent, text):
    """Writes the plugin anew; a reload is to follow."""
    (agent.folder / "plugins" / "support.lua").write_text(text)


def call(agent, user):
    """How `support` answers this user, and in which call."""
    caller = agent.connect(user)
    call_id = invite(caller, "support", mode="advanced")
    return call_id, changes(caller.event("call.changed"))["support"]
