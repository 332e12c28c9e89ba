# SPDX-License-Identifier: MIT
"""Clocks that go wrong and disks that fill up."""

from fault_network import isolate_leader
from fault_process import kill, kill_leader, pause_leader


def clock_jump(world):
    """The time of day jumps while nodes run, and one of them restarts with the new time."""
    victims = world.any(world.random.randint(1, len(world.nodes())))
    for node in victims:
        seconds = world.random.choice([-86400, -3600, -5, 5, 3600, 86400])
        world.say("clock", node=node, seconds=seconds)
        world.cluster.clocks.jump(node, seconds)
    yield world.seconds(1, 3)
    yield from kill_leader(world)


def under_other_clocks(world):
    """Stops the leader or cuts it off: wrong clocks matter while a lease runs out."""
    yield from world.random.choice([pause_leader, kill_leader] + [isolate_leader] * world.network.can_cut())(world)


def disk_full(world):
    """While a disk is full, the group has to agree on something."""
    victims = world.any(world.random.randint(1, world.majority()))
    world.say("fill", nodes=victims)
    for node in victims:
        world.cluster.fill(node)
    yield world.seconds(0.3, 1)
    yield from kill(world)
    yield world.seconds(0.3, 1)
    for node in victims:
        world.cluster.empty(node)
