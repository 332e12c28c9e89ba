# SPDX-License-Identifier: MIT
"""Faults. A nemesis is a generator: it breaks something, yields the number of seconds to wait, and mends it.

Its victims are drawn from the run's seed, but for the leader, which only the run itself can tell.
"""

import dataclasses
import itertools
import typing

import fault_client
import fault_directory
import fault_disk
import fault_machine
import fault_network
import fault_operator
import fault_process
import fault_starvation
import insider


class World:
    """All that a nemesis may break."""

    def __init__(self, cluster, network, random, history, locks):
        self.cluster, self.network, self.random, self.history = cluster, network, random, history
        self.locks = locks  # the names that clients contend for
        self.names = list(TABLE)

    def nodes(self):
        return list(self.cluster.nodes())

    def any(self, count=1):
        return self.random.sample(self.nodes(), count)

    def leader(self):
        """Draws in any case, so that the seed's later choices do not depend on whether there is a leader."""
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


# ---- together ----


def mixed(world):
    """Two at once."""
    plain = [name for name in world.names if TABLE[name].mixes() and name not in ("none", "mixed")]
    chosen = world.random.sample(plain, 2)
    world.say("mixed", nemeses=chosen)
    yield from together([TABLE[name].act(world) for name in chosen])


def together(running):
    """Takes the next step of the one that is due first."""
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
    needs: tuple = ()  # of: cuts, clocks, disks, compiler
    clocks: str = ""  # the kind of clocks of all nodes, from their start
    networks: int = 1  # the least number of networks
    voters: int = 1  # the least number of voters: of one or two, none can lose its disk for good
    tied: bool = False  # the group is two nodes and a tie-breaker
    slow_disks: bool = False  # the nodes' disks can be slowed down
    commands: int = 0  # commands that hold locks all the time, and must not end
    lies: bool = False  # a member lies, and the others believe it
    alone: bool = False  # not combined with another: the result would say nothing about either

    def mixes(self):
        """Can it be combined with other nemeses?"""
        return (not self.clocks and not self.slow_disks and not self.tied and not self.commands and self.networks == 1 and
                not self.alone)

    def bounded(self):
        """Do the nodes' clocks keep the bound that leases count on?"""
        return self.clocks != "wild"


TABLE = {
    "none": Nemesis(nothing, "nothing goes wrong"),
    "kill": Nemesis(fault_process.kill, "kill -9 of a node, and its restart"),
    "kill-leader": Nemesis(fault_process.kill_leader, "kill -9 of the coordinator, and its restart"),
    "kill-majority": Nemesis(fault_process.kill_majority, "kill -9 of a majority, and their restart"),
    "kill-all": Nemesis(fault_process.kill_all, "kill -9 of all, and their restart"),
    "pause": Nemesis(fault_process.pause, "SIGSTOP of a node, and SIGCONT"),
    "pause-leader": Nemesis(fault_process.pause_leader, "SIGSTOP of the coordinator, and SIGCONT"),
    "pause-majority": Nemesis(fault_process.pause_majority, "SIGSTOP of a majority, and SIGCONT"),
    "halves": Nemesis(fault_network.halves, "a minority is cut off", ("cuts",)),
    "one-way": Nemesis(fault_network.one_way, "packets get lost in one direction", ("cuts",)),
    "isolate-leader": Nemesis(fault_network.isolate_leader, "the coordinator is cut off", ("cuts",)),
    "ring": Nemesis(fault_network.ring, "every node sees a majority, no two the same one", ("cuts",)),
    "flapping": Nemesis(fault_network.flapping, "links come and go", ("cuts",)),
    "cut-clients": Nemesis(fault_network.cut_clients, "clients lose their node, the other nodes do not", ("cuts",)),
    "drift": Nemesis(fault_machine.under_other_clocks, "clocks go nearly as wrong as is allowed, and the coordinator fails",
                     ("clocks",), "drift"),
    "clock-jump": Nemesis(fault_machine.clock_jump, "the calendar jumps by up to a day", ("clocks",), "wall"),
    "wild-clocks": Nemesis(fault_machine.under_other_clocks, "clocks go at half or twice the pace; fences alone are judged",
                           ("clocks",), "wild"),
    "disk-full": Nemesis(fault_machine.disk_full, "disks are full while a node is killed", ("disks",)),
    "slow-disk": Nemesis(fault_disk.slow_disk, "disks take up to a second to sync while a node is killed", ("compiler",),
                         slow_disks=True),
    "starve": Nemesis(fault_starvation.starve, "nodes get the processor for a few milliseconds now and then"),
    "standstill": Nemesis(fault_starvation.starve_all, "all nodes stand still at once, for up to 0.8 s"),
    "settings": Nemesis(fault_operator.other_settings, "a node starts with a lease of its own, and stops"),
    "members": Nemesis(fault_operator.truncated_members, "a node's [members] lose lines"),
    "lost-disk": Nemesis(fault_directory.lose_directory, "a node loses its disk while others are down", voters=3),
    "old-disk": Nemesis(fault_directory.restore_directory, "a node gets an old copy of its disk", voters=3),
    "swapped-disks": Nemesis(fault_directory.swap_directories, "two nodes start with each other's disk"),
    "twin": Nemesis(fault_directory.twice_the_same, "another machine starts under a node's id", ("cuts",)),
    "restarts": Nemesis(fault_process.restart_all, "all nodes restart, at once or one shortly after the other"),
    "rolling": Nemesis(fault_operator.rolling_restart, "one node after the other restarts", commands=6),
    "operator": Nemesis(fault_operator.commands, "an operator's commands while a node fails"),
    "vanish": Nemesis(fault_client.vanish, "a client's machine vanishes with its lock", ("cuts",)),
    "crowd": Nemesis(fault_client.crowd, "1,500 holders end at once"),
    "network": Nemesis(fault_network.lose_network, "one of two networks fails", ("cuts",), networks=2),
    "tie": Nemesis(fault_network.tie, "two nodes, and a tie-breaker that may be gone", ("cuts",), tied=True),
    "insider": Nemesis(insider.insider, "a member that says what it likes", lies=True, alone=True),
    "mixed": Nemesis(mixed, "two of the above at once", voters=3),
}


def available(have):
    """(names that can run here, [(name, what is missing)])."""
    lacking = {name: [need for need in nemesis.needs if need not in have] for name, nemesis in TABLE.items()}
    return ([name for name in TABLE if not lacking[name]], [(name, lack) for name, lack in lacking.items() if lack])


def sizes(name, wanted):
    """Those of the group sizes at which that nemesis says something about the service."""
    return [2] if TABLE[name].tied else [size for size in wanted if size >= TABLE[name].voters]


def endless(name, world):
    """One fault after the other; between them the driver waits until the cluster serves again."""
    for _ in itertools.count():
        yield TABLE[name].act(world)
