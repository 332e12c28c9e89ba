# SPDX-License-Identifier: MIT
"""What goes wrong. A nemesis is a generator: it breaks something, yields for how many seconds, and mends it.

Whom it hits is drawn from the run's seed, except who leads, which only the run itself can tell.
"""

import dataclasses
import itertools
import typing

from network import CLIENTS


class World:
    """What a nemesis may lay hands on."""

    def __init__(self, cluster, network, random, history):
        self.cluster, self.network, self.random, self.history = cluster, network, random, history
        self.names = list(TABLE)

    def nodes(self):
        return list(self.cluster.nodes())

    def any(self, count=1):
        return self.random.sample(self.nodes(), count)

    def leader(self):
        """Drawn anyhow, so that the seed's later choices do not depend on whether somebody leads."""
        spare = self.any()[0]
        return self.cluster.coordinator() or spare

    def majority(self):
        return len(self.nodes()) // 2 + 1

    def seconds(self, least=0.5, most=4.0):
        return round(self.random.uniform(least, most), 2)

    def say(self, action, **facts):
        self.history.note("fault", action=action, **facts)

    def cut(self, pairs):
        """Adds cuts; returns them, to be mended."""
        new = set(pairs) - self.network.cuts
        self.say("cut", cuts=sorted(new))
        self.network.change(self.network.cuts | new)
        return new

    def mend(self, pairs):
        self.say("mend", cuts=sorted(pairs))
        self.network.change(self.network.cuts - pairs)


def between(left, right):
    """Both directions of every link between the two sides."""
    return {pair for a in left for b in right for pair in ((a, b), (b, a))}


# ---- processes ----


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


# ---- the network ----


def halves(world):
    few = world.any(len(world.nodes()) - world.majority())
    yield from cut_for_a_while(world, between(few, set(world.nodes()) - set(few)))


def one_way(world):
    """One node is heard but hears nobody, or the other way round, or one link is deaf in one direction."""
    node, other = world.any(2)
    rest = [each for each in world.nodes() if each != node]
    yield from cut_for_a_while(world, world.random.choice(
        [{(each, node) for each in rest}, {(node, each) for each in rest}, {(node, other)}]))


def isolate_leader(world):
    leader = world.leader()
    yield from cut_for_a_while(world, between([leader], set(world.nodes()) - {leader}))


def ring(world):
    """Everybody sees a majority, no two the same one: neighbours on a ring. Of three, two do not see each other."""
    order = world.any(len(world.nodes()))
    reach = (world.majority() - 1) // 2
    if reach:
        far = [(a, b) for i, a in enumerate(order) for j, b in enumerate(order)
               if i < j and min(j - i, len(order) - j + i) > reach]
    else:
        far = [(order[0], order[1])]
    yield from cut_for_a_while(world, set().union(*(between([a], [b]) for a, b in far)))


def flapping(world):
    """A link, or a whole node's, that comes and goes faster than anybody can make up their mind."""
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


# ---- clocks and disks ----


def clock_jump(world):
    """The calendar jumps under running nodes, and one of them starts anew with it."""
    victims = world.any(world.random.randint(1, len(world.nodes())))
    for node in victims:
        seconds = world.random.choice([-86400, -3600, -5, 5, 3600, 86400])
        world.say("clock", node=node, seconds=seconds)
        world.cluster.clocks.jump(node, seconds)
    yield world.seconds(1, 3)
    yield from kill_leader(world)


def under_other_clocks(world):
    """Clocks that go wrong matter when somebody counts on a lease: stop or cut off whoever leads."""
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


# ---- together ----


def mixed(world):
    """Two at once."""
    plain = [name for name in world.names if not TABLE[name].clocks and name not in ("none", "mixed")]
    chosen = world.random.sample(plain, 2)
    world.say("mixed", nemeses=chosen)
    yield from together([TABLE[name].act(world) for name in chosen])


def together(running):
    """Steps whichever is due next."""
    due = []
    for each in running:
        due.append([next(each, None), each])
    while due := [pair for pair in due if pair[0] is not None]:
        first = min(due, key=lambda pair: pair[0])
        seconds = first[0]
        yield seconds
        for pair in due:
            pair[0] -= seconds
        first[0] = next(first[1], None)


def nothing(world):
    yield world.seconds(1, 3)


@dataclasses.dataclass(frozen=True)
class Nemesis:
    act: typing.Callable
    title: str
    needs: tuple = ()  # cuts, clocks, disks
    clocks: str = ""  # of all the run's nodes, from their start

    def bounded(self):
        """Do the nodes' clocks keep the bound that leases count on?"""
        return self.clocks != "wild"


TABLE = {
    "none": Nemesis(nothing, "nothing goes wrong"),
    "kill": Nemesis(kill, "kill -9 of a node, and its restart"),
    "kill-leader": Nemesis(kill_leader, "kill -9 of the coordinator, and its restart"),
    "kill-majority": Nemesis(kill_majority, "kill -9 of a majority, and their restart"),
    "kill-all": Nemesis(kill_all, "kill -9 of all, and their restart"),
    "pause": Nemesis(pause, "SIGSTOP of a node, and SIGCONT"),
    "pause-leader": Nemesis(pause_leader, "SIGSTOP of the coordinator, and SIGCONT"),
    "pause-majority": Nemesis(pause_majority, "SIGSTOP of a majority, and SIGCONT"),
    "halves": Nemesis(halves, "a minority is cut off", ("cuts",)),
    "one-way": Nemesis(one_way, "packets get lost in one direction", ("cuts",)),
    "isolate-leader": Nemesis(isolate_leader, "the coordinator is cut off", ("cuts",)),
    "ring": Nemesis(ring, "everybody sees a majority, no two the same one", ("cuts",)),
    "flapping": Nemesis(flapping, "links come and go", ("cuts",)),
    "cut-clients": Nemesis(cut_clients, "clients lose their node, which nobody else does", ("cuts",)),
    "drift": Nemesis(under_other_clocks, "clocks go up to 0.4 % wrong, and the coordinator fails",
                     ("clocks",), "drift"),
    "clock-jump": Nemesis(clock_jump, "the calendar jumps by up to a day", ("clocks",), "wall"),
    "wild-clocks": Nemesis(under_other_clocks, "clocks go at half or twice the pace; fences alone are judged",
                           ("clocks",), "wild"),
    "disk-full": Nemesis(disk_full, "disks are full while a node is killed", ("disks",)),
    "mixed": Nemesis(mixed, "two of the above at once"),
}


def available(have):
    """(names that can be had, [(name, what it lacks)])."""
    lacking = {name: [need for need in nemesis.needs if need not in have] for name, nemesis in TABLE.items()}
    return ([name for name in TABLE if not lacking[name]], [(name, lack) for name, lack in lacking.items() if lack])


def endless(name, world):
    """One fault after the other; between them the driver waits until the cluster serves again."""
    for _ in itertools.count():
        yield TABLE[name].act(world)
