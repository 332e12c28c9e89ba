# SPDX-License-Identifier: MIT
"""Processors that are too busy: a node runs only for a few milliseconds now and then."""


def starve(world):
    """Some nodes, or all, get 2 to 30 ms of the processor every 50 to 400 ms, each by itself: around the length of a lease."""
    victims = world.any(world.random.randint(1, len(world.nodes())))
    turns = world.random.randint(4, 20)
    world.say("starve", nodes=victims, turns=turns)
    for _ in range(turns):
        node = world.random.choice(victims)
        world.cluster.pause(node)
        yield world.random.uniform(0.05, 0.4)
        world.cluster.go_on(node)
        yield world.random.uniform(0.002, 0.03)


def starve_all(world):
    """The machine stands still for a moment: all nodes stop at once, and wake up late."""
    for _ in range(world.random.randint(2, 8)):
        world.say("standstill")
        for node in world.nodes():
            world.cluster.pause(node)
        yield world.random.uniform(0.1, 0.8)
        for node in world.nodes():
            world.cluster.go_on(node)
        yield world.random.uniform(0.05, 1)
