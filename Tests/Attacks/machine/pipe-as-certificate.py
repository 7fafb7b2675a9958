"""A reload names a pipe as certificate, which nobody ever writes to."""

import os

from registry import Attack

ATTACK = Attack(
    aims_at="files that the operator names", rules=(78,), kind="machine",
    seconds=(1.2, 3.0))


def fault(scene):
    os.mkfifo(scene.folder / "pipe.crt")
    (scene.folder / "server.key").write_text("none")
    scene.configure('tls = { cert = "pipe.crt", key = "server.key" }\n')
    reload = scene.agent.begin_tool("reload")
    scene.rest(scene.seconds)
    scene.configure()
    code = reload.poll()
    if code is None:
        reload.kill()
    reload.wait()
    assert code not in (0, None), f"the reload ended with {code}"
