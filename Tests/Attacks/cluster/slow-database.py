"""The database answers late: what was acknowledged is there, and all is as before afterwards."""

import nodes
from nodes import cluster_attack, launch
from way import Way

ATTACK = cluster_attack(aims_at="what waits for the database", kind="machine")


def dress(scene):
    def way(port):
        scene.way = Way(port)
        return scene.way.port

    nodes.dress(scene, way)


def fault(scene):
    scene.way.delay = 0.1
    scene.rest(scene.seconds)
    scene.way.delay = 0


def finish(scene):
    scene.way.close()
