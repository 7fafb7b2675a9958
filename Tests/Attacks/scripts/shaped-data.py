"""Extended data that a plugin takes long to shape, on its way in and out: half of what a run may
take, so that it is shaped on a slow machine too."""

from blows import flood, message
from registry import Attack, house

ATTACK = Attack(
    aims_at="operations that are being shaped", rules=(65, 73, 76), house=house(before="""
on.extended_data(function(data, call, dir)
  if type(data) ~= "table" or not data.heavy then return end
  local sum = 0
  for step = 1, 200000 do sum = sum + step end
  data.sum = sum
  return data
end)
"""))


def attack(scene):
    flood(scene, "mallory", message("call.invite", invitees=["victim"], mode="common",
                                    extended_data='{"heavy": true}') * 20)
