"""Hundreds of connections of many accounts end in the same moment, as behind a proxy that ends."""

from registry import Attack

ACCOUNTS, DEVICES = 60, 10
ATTACK = Attack(aims_at="connections that end together", rules=(29, 31), accounts=ACCOUNTS,
                config="limits = { accepts_per_second = 100000, newcomers_per_address = 2000 }\n",
                seconds=(2.0, 8.0))


def attack(scene):
    for _ in scene.each_while(0.1):
        lines = [scene.enter(f"mallory-{account}", f"device-{device}").socket
                 for account in range(ACCOUNTS) for device in range(DEVICES)]
        for line in lines:
            line.close()
