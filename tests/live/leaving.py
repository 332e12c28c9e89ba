# SPDX-License-Identifier: MIT
"""What a member answered before it left the group is true after it has left, even if the next view is made without it."""

import sys
import threading
import time

from group import Group
from harness import PATIENCE, Gone, Refused, main
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


class Load:
    """Clients of a group that take fresh names, and an operator who forces holds of one member, until they are told to stop."""

    def __init__(self, group, leaving, names):
        self.group, self.leaving = group, leaving
        self.staying = [node for node in group.members if node != leaving]
        self.granted, self.forced = [], []
        self.done = False
        client = group.client(leaving)
        held = {name: client.ask("LOCK", name, "TTL", TTL_MS, "SECRET", "s") for name in names}
        self.threads = [threading.Thread(target=self.take, args=(f"{leaving}.{i}", node))
                        for i, node in enumerate([leaving, leaving, leaving, *self.staying])]
        self.threads.append(threading.Thread(target=self.force, args=(held,)))
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

    def force(self, held):
        client = self.group.client(self.staying[0])
        for name, fence in held.items():
            try:
                self.forced.append((name, fence, client.ask("FORCE", name, fence, "test")))
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
            group.ended(leaving)
            load.check()


if __name__ == "__main__":
    try:
        sys.exit(main([a_grant_is_known, a_forced_hold_is_known, voters_leave_under_load]))
    except Gone:
        sys.exit("a node ended")
