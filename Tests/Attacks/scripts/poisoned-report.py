"""Calls to somebody whose rejections trip a report of a guard; then a friend calls them."""

from blows import Client
from registry import Attack, house

ATTACK = Attack(
    aims_at="the failures of reports", rules=(71, 85), accounts=2, answer_for=("bob",),
    house=house(before="""
plugin { guard = true }
on.rejected(function(call, who, reason)
  if call.extended_data and call.extended_data.size then
    log.debug(call.extended_data.colour.name)
  end
end)
""", asked='  if call.callee.id == "bob" then return ring {} end'))


def attack(scene):
    mallory, bob = Client(scene, "mallory"), Client(scene, "bob")
    for _ in scene.each_while(0.005):
        call = mallory.call("bob", extended_data='{"size": 1}')
        if call is None:
            continue
        bob.ask("ping")
        for incoming in bob.incoming:
            bob.ask("call.reject", call_id=incoming)
        bob.incoming.clear()


def holds(scene):
    bob, alice = scene.device("bob"), scene.device("alice")
    bob.forget()
    call = alice.ok("call.invite", invitees=["bob"], mode="common")["call_id"]
    assert bob.event("call.incoming")["call_id"] == call, "bob's phone does not ring for alice"
