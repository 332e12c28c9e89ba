# SPDX-License-Identifier: MIT
"""Processes that die and processes that stop."""


def kill(world):
    yield from kill_these(world, world.any())


def kill_leader(world):
    yield from kill_these(world, [world.leader()])


def kill_majority(world):
    yield from kill_these(world, world.any(world.majority()))


def kill_all(world):
    yield from kill_these(world, world.nodes())


def kill_these(world, victims):
    world.say("kill", nodes=victims)
    for node in victims:
        world.cluster.kill(node)
    yield world.seconds(0.1, 4)
    for node in victims:
        world.cluster.start(node)


def pause(world):
    yield from pause_these(world, world.any())


def pause_leader(world):
    yield from pause_these(world, [world.leader()])


def pause_majority(world):
    yield from pause_these(world, world.any(world.majority()))


def pause_these(world, victims):
    world.say("pause", nodes=victims)
    for node in victims:
        world.cluster.pause(node)
    yield world.seconds(0.2, 4)
    for node in victims:
        world.cluster.go_on(node)


def restart_all(world):
    """Each node is killed or ended, and is soon back; the next may go before that."""
    victims = world.any(len(world.nodes()))
    world.say("restart", nodes=victims)
    for node in victims:
        (world.cluster.kill if world.random.random() < 0.5 else world.cluster.end)(node)
        yield world.seconds(0.01, 0.4)
        if world.random.random() < 0.7:
            world.cluster.start(node)
            yield world.seconds(0.01, 0.8)
    for node in victims:
        world.cluster.start(node)
