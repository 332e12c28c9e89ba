# SPDX-License-Identifier: MIT
"""Packets that do not arrive."""

from fault_process import kill, pause
from network import CLIENTS


def between(left, right):
    """Both directions of every link between the two sides."""
    return {pair for a in left for b in right for pair in ((a, b), (b, a))}


def halves(world):
    few = world.any(len(world.nodes()) - world.majority())
    yield from cut_for_a_while(world, between(few, set(world.nodes()) - set(few)))


def one_way(world):
    """One node is heard but hears no other, or the other way round, or one link works in one direction only."""
    node, other = world.any(2)
    rest = [each for each in world.nodes() if each != node]
    yield from cut_for_a_while(world, world.random.choice(
        [{(each, node) for each in rest}, {(node, each) for each in rest}, {(node, other)}]))


def isolate_leader(world):
    leader = world.leader()
    yield from cut_for_a_while(world, between([leader], set(world.nodes()) - {leader}))


def ring(world):
    """Every node sees a majority, but no two the same: its neighbours on a ring. Of three nodes, two do not see each other."""
    order = world.any(len(world.nodes()))
    reach = (world.majority() - 1) // 2
    if reach:
        far = [(a, b) for i, a in enumerate(order) for j, b in enumerate(order)
               if i < j and min(j - i, len(order) - j + i) > reach]
    else:
        far = [(order[0], order[1])]
    yield from cut_for_a_while(world, set().union(*(between([a], [b]) for a, b in far)))


def flapping(world):
    """One link, or all links of a node, come and go faster than the detectors decide."""
    node = world.any()[0]
    rest = world.any(world.random.randint(1, len(world.nodes()) - 1))
    for _ in range(world.random.randint(4, 12)):
        cuts = world.cut(between([node], set(rest) - {node}))
        yield world.seconds(0.05, 0.6)
        world.mend(cuts)
        yield world.seconds(0.05, 0.4)


def cut_clients(world):
    """The clients lose a node that the others still hear."""
    victims = world.any(world.random.randint(1, 2))
    for node in victims:
        world.cluster.state(node, "cut")
    yield from cut_for_a_while(world, {(CLIENTS, node) for node in victims})
    for node in victims:
        world.cluster.state(node, "up")


def cut_for_a_while(world, pairs):
    cuts = world.cut(pairs)
    yield world.seconds(0.3, 5)
    world.mend(cuts)


def lose_network(world):
    """One of the two networks fails, sometimes the other one soon after it is back; now and then a node fails meanwhile."""
    for network in world.random.sample([0, 1], world.random.randint(1, 2)):
        world.say("network", lost=network)
        world.network.lose_networks({network})
        yield world.seconds(0.5, 3)
        if world.random.random() < 0.4:
            yield from world.random.choice([kill, pause])(world)
        world.say("network", back=network)
        world.network.lose_networks(set())
        yield world.seconds(0.2, 1)


def tie(world):
    """One of two nodes fails, or they do not hear each other; sometimes neither can read the tie-breaker meanwhile."""
    fault = world.random.choice([kill, pause, halves])
    gone = world.random.random() < 0.4
    file = world.cluster.tie_breaker()
    if gone:
        world.say("tie-breaker", gone=True)
        file.rename(f"{file}.gone")
        yield world.seconds(0.1, 1)
    yield from fault(world) if fault is not halves else cut_for_a_while(world, between([1], [2]))
    if gone:
        file.with_name(file.name + ".gone").rename(file)
        world.say("tie-breaker", gone=False)
