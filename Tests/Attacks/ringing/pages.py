"""A long history, asked for page by page without pause, with filters that find little."""

from blows import Client, flood, message
from registry import Attack

ATTACK = Attack(aims_at="calls that a page looks through", rules=(18, 46),
                config="limits = { requests_per_second = 2000 }\n")


def prepare(scene):
    client = Client(scene, "mallory")
    for _ in range(600):
        client.ask("call.cancel", call_id=client.call("nobody", extended_data="x" * 1_000))
    client.close()


def attack(scene):
    flood(scene, "mallory", (message("call.list", limit=100)
                             + message("call.list", limit=100, peer="somebody")
                             + message("call.list", limit=100, kind="hologram")) * 5)
