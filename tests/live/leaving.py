# SPDX-License-Identifier: MIT
"""What a member answered before it left the group is true after it has left, even if the next view is made without it."""

import signal
import sys
import threading
import time

from group import Group
from harness import PATIENCE, Gone, Refused, in_parallel, main
from membership import Room

TTL_MS = 30000


class Farewell(Group):
    """Node 5 has no vote, so it leaves at once. The leader of the log, which prepares the view without it, hears it late."""

    def __init__(self):
        super().__init__(5, standbys=(5,), timeout=3000, longest_timeout=3000)
        self.leader = self.others = None

    def __enter__(self):
        super().__enter__()
        self.leader = self.await_view()["raft_leader"]
        self.others = [node for node in (1, 2, 3, 4) if node != self.leader]
        if self.await_view()["coordinator"] == self.leader:
            self.coordinate(self.others[0])
        return self

    def coordinate(self, node):
        client = self.client(self.leader)
        client.ask("STEPDOWN", node)
        client.close()
        end = time.monotonic() + PATIENCE
        while self.await_view()["coordinator"] != node:
            assert time.monotonic() < end, "it does not coordinate"

    def part(self):
        """From now on the leader hears nothing of node 5."""
        self.links[self.leader, 5].cut((5, self.leader))

    def leave(self):
        client = self.client(self.leader)
        assert client.ask("LEAVE", 5) == "OK"
        client.close()
        self.processes.pop(5).wait(PATIENCE)
        self.members.remove(5)
        self.await_view([1, 2, 3, 4])


def a_grant_is_known():
    """The leader of the log does not know the hold, but a majority does: nobody else gets the name."""
    with Farewell() as group:
        client, other = group.client(5), group.client(group.others[0])
        assert client.ask("LOCK", "warm")  # the name of another hold has come to the leader
        group.part()
        fence = client.ask("LOCK", "own", "TTL", TTL_MS, "SECRET", "s")
        group.leave()
        assert other.ask("LOCK", "own", "WAIT", 0) is None, "two hold it"
        assert other.ask("RENEW", "own", fence, "SECRET", "s") == TTL_MS
        assert other.ask("UNLOCK", "own", fence, "SECRET", "s") == 1
        assert other.ask("LOCK", "own", "WAIT", 0) > fence


def a_forced_hold_is_known():
    """The leader of the log knows the hold, but not that an operator has forced it: it cannot be renewed all the same."""
    with Farewell() as group:
        client, other = group.client(5), group.client(group.others[0])
        fence = client.ask("LOCK", "own", "TTL", TTL_MS, "SECRET", "s")
        group.part()
        assert client.ask("FORCE", "own", fence, "it hangs") == "OK"
        group.leave()
        assert other.ask("RENEW", "own", fence, "SECRET", "s") is None, "it was renewed"
        assert other.ask("LOCK", "own", "WAIT", 0) is None, "its client may still rely on it"


def ends_are_known(end, ask, release):
    """Who is told that a hold is over finds the name free."""
    with Farewell() as group:
        told = []

        def give_back(node, name, fence):
            try:
                told.append((name, group.client(node).ask(release, name, fence, "SECRET", "s")))
            except (Gone, Refused):
                pass  # it does not know

        client, other = group.client(5), group.client(group.others[0])
        fences = {name: client.ask(ask, name, "TTL", TTL_MS, "SECRET", "s") for name in ("here", "there", "before")}
        give_back(5, "before", fences["before"])
        assert told == [("before", 1)]
        group.part()
        end(group, give_back, fences, told)
        for name, value in told:
            assert value == 1 and other.ask(ask, name, "WAIT", TTL_MS // 3), f"{name} was told to be over"
        for name in {"here", "there"} - {name for name, _ in told}:
            assert other.ask(release, name, fences[name], "SECRET", "s") == 1, name
            assert other.ask(ask, name, "WAIT", TTL_MS // 3) > fences[name]


def leave_meanwhile(group, give_back, fences, _):
    threads = [threading.Thread(target=give_back, args=(node, name, fences[name]))
               for node, name in ((5, "here"), (group.others[0], "there"))]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    group.leave()
    for thread in threads:
        thread.join()


def an_end_is_known():
    """The keeper has ended a hold, and the leader of the log has not heard that: nobody is told before it has."""
    ends_are_known(leave_meanwhile, "LOCK", "UNLOCK")


def a_resignation_is_known():
    """The same of an election."""
    ends_are_known(leave_meanwhile, "CAMPAIGN", "RESIGN")


def an_end_is_heard_later():
    """The leader of the log hears of the ends a little later: then the clients are told. Nobody renews the holds meanwhile."""

    def heal_meanwhile(group, give_back, fences, told):
        def renew():
            time.sleep(0.2)
            client = group.client(group.others[1])
            left = [client.ask("RENEW", name, fences[name], "SECRET", "s") for name in ("here", "there")]
            assert len(told) == 1, "told before all knew"
            group.heal()
            assert left == [None, None], "others have forgotten it"

        in_parallel(renew, *(lambda node=node, name=name: give_back(node, name, fences[name])
                             for node, name in ((5, "here"), (group.others[0], "there"))))
        assert len(told) == 3, told

    ends_are_known(heal_meanwhile, "LOCK", "UNLOCK")


def a_new_view_ends_what_was_to_end():
    """A member hangs, so all do not know of an end before the next view. That one carries it out: for a client that has gone
    meanwhile, and of a hold that an operator has forced meanwhile."""
    with Group(4, standbys=(4,)) as group:
        view = group.await_view()
        hangs = next(node for node in (1, 2, 3) if node not in (view["raft_leader"], view["coordinator"]))
        other = group.client(view["raft_leader"])
        clients = {f"{kind}{i}": group.client(4) for kind in ("gone", "forced") for i in range(8)}
        fences = {name: client.ask("LOCK", name, "TTL", TTL_MS) for name, client in clients.items()}
        operators = {name: group.client(4) for name in clients if name.startswith("forced")}
        group.kill(hangs, which=signal.SIGSTOP)
        for name, client in clients.items():
            if name in operators:
                operators[name].say("FORCE", name, fences[name], "test")
            client.say("UNLOCK", name, fences[name])
            if name not in operators:
                client.close()
        for name, operator in operators.items():
            assert operator.hear() == "OK" and clients[name].hear() == 1, name
        group.kill(hangs, which=signal.SIGCONT)
        group.await_view([1, 2, 3, 4])
        for name, fence in fences.items():
            later = other.ask("LOCK", name, "WAIT", TTL_MS // 10)
            assert later and later > fence, f"{name}: {later} after {fence}"


class Load:
    """Clients of a group that take fresh names, and end and force holds of one member, until they are told to stop."""

    def __init__(self, group, leaving, names):
        self.group, self.leaving = group, leaving
        self.staying = [node for node in group.members if node != leaving]
        self.granted, self.ended, self.forced = [], [], []
        self.done = False
        client = group.client(leaving)
        held = {name: client.ask("LOCK", name, "TTL", TTL_MS, "SECRET", "s") for name in names}
        ending, forcing = names[::2], names[1::2]
        self.threads = [threading.Thread(target=self.take, args=(f"{leaving}.{i}", node))
                        for i, node in enumerate([leaving, leaving, leaving, *self.staying])]
        self.threads += [threading.Thread(target=self.each, args=(ending, held, self.ended, "UNLOCK", "SECRET", "s")),
                         threading.Thread(target=self.each, args=(forcing, held, self.forced, "FORCE", "test"))]
        for thread in self.threads:
            thread.start()

    def take(self, prefix, node):
        client, count = self.group.client(node), 0
        try:
            while not self.done:
                name, count = f"fresh.{prefix}.{count}", count + 1
                self.granted.append((name, client.ask("LOCK", name, "TTL", TTL_MS, "SECRET", "s")))
                time.sleep(0.002)
        except (Gone, Refused, OSError):
            assert node == self.leaving, "the others go on"

    def each(self, names, held, told, *words):
        client = self.group.client(self.staying[0])
        for name in names:
            try:
                told.append((name, held[name], client.ask(words[0], name, held[name], *words[1:])))
            except Refused:
                pass  # it does not know
            time.sleep(0.004)

    def check(self):
        """All have stopped: what was answered is true."""
        self.done = True
        for thread in self.threads:
            thread.join()
        client = self.group.client(self.staying[-1])
        for name, fence in self.granted:
            other = client.ask("LOCK", name, "WAIT", 0)
            assert other is None, f"{name}: {fence} and {other}"
        for name, fence, answer in self.ended:
            assert answer == 1 and client.ask("LOCK", name, "WAIT", 0), f"{name}: the hold {fence} was told to be over"
        for name, fence, answer in self.forced:
            assert answer == "OK" and client.ask("RENEW", name, fence, "SECRET", "s") is None, f"{name}: {fence} was forced"
        client.close()


def voters_leave_under_load():
    """Voters leave one after the other, in two views each, while clients of all members go on."""
    with Room(5) as group:
        for leaving in (5, 4, 3):
            load = Load(group, leaving, [f"held.{leaving}.{i}" for i in range(100)])
            time.sleep(0.1)
            group.leave(leaving)
            group.processes.pop(leaving).wait(PATIENCE)
            load.check()


if __name__ == "__main__":
    try:
        sys.exit(main([a_grant_is_known, a_forced_hold_is_known, an_end_is_known, a_resignation_is_known, an_end_is_heard_later,
                       a_new_view_ends_what_was_to_end, voters_leave_under_load]))
    except Gone:
        sys.exit("a node ended")
