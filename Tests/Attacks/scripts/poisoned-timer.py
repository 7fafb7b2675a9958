"""A value in `kv`, put there for a caller, that trips a timer of the plugin each time."""

from blows import flood, message
from registry import Attack, house

TIMERS = "".join(f"""
every("1s", "sweep {number}", function()
  local poison = kv.get("last")
  if poison then log.debug(poison.colour.name) end
end)""" for number in range(6))
ATTACK = Attack(
    aims_at="the failures of timers", rules=(71,), answer_for=("bot",), seconds=(2.2, 8.0),
    house=house(before="plugin { guard = true }\n" + TIMERS, asked="""
  if call.callee.id == "bot" then
    kv.set("last", call.extended_data)
    return reject "busy"
  end
"""))


def attack(scene):
    flood(scene, "mallory", message("call.invite", invitees=["bot"], mode="common",
                                    extended_data='{"size": 1}'))
