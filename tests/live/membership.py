# SPDX-License-Identifier: MIT
"""Members join, leave and return while the others go on, and no client loses a lock."""

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

from group import Group
from harness import CONCLAVE, PATIENCE, Gone, Refused, free_port, main


class Room(Group):
    """A group whose members reach each other directly, and whose configurations can change while they run."""

    def __init__(self, count, **settings):
        self.ports = {}
        super().__init__(count, **settings)

    def reconfigure(self, members, joining=()):
        self.members = list(members)
        for node in self.members:
            self.ports.setdefault(node, free_port())
        for node in self.members:
            self.configure(node, self.ports, node in joining)

    def run(self, node, *words):
        environment = dict(os.environ, CONCLAVE_SERVER=self.address(node))
        return subprocess.run([CONCLAVE, *words], env=environment, capture_output=True, text=True, check=False,
                              timeout=PATIENCE)

    def join(self, node, by=1):
        """`conclave join`, then the new node with a configuration of its own."""
        port = self.ports.setdefault(node, free_port())
        result = self.run(by, "join", f"{node}=127.0.0.1:{port}")
        assert result.returncode == 0 and f"node {node} belongs to" in result.stdout, result
        self.members = sorted({*self.members, node})
        self.configure(node, self.ports, True)
        self.start(node)

    def leave(self, node, by=1):
        result = self.run(by, "leave", str(node))
        assert result.returncode == 0 and f"node {node} has left" in result.stdout, result
        self.members.remove(node)

    def ended(self, node):
        """The node ends by itself, with a line that says why."""
        code = self.processes.pop(node).wait(PATIENCE)
        log = (self.directory / f"{node}.log").read_text()
        assert code == 3, (code, log)
        assert log.endswith(f"node {node} does not belong to the group any more\"\n"), log

    def votes(self, node=1):
        return sorted(m["id"] for m in self.view(node)["members"] if m["voter"])

    def log_votes(self, node):
        """The voters of the log, as that node has it; they follow what is agreed, one at a time."""
        try:
            client = self.client(node, timeout=2)
            text = next(line for line in client.ask("INFO", "raft").splitlines() if line.startswith("log_voters:"))
            client.close()
            return [int(word) for word in text.split(":")[1].split(",") if word]
        except (OSError, Gone):
            return []

    def await_votes(self, voters, node=1):
        """Waits until these vote, and a majority of them has that in its log, so that it survives the loss of one of them."""
        end = time.monotonic() + PATIENCE
        while True:
            logs = {voter: self.log_votes(voter) for voter in voters if voter in self.processes and voter not in self.stopped}
            if self.votes(node) == voters and 2 * sum(votes == voters for votes in logs.values()) > len(voters):
                return
            assert time.monotonic() < end, (voters, logs, self.view(node))
            time.sleep(0.02)


class Holders:
    """A client at each of these nodes that holds a lock, and must hold it to the end."""

    def __init__(self, group, nodes):
        self.clients = {node: group.client(node) for node in nodes}
        self.fences = {node: client.ask("LOCK", f"own-{node}") for node, client in self.clients.items()}

    def check(self, *gone):
        for node, client in self.clients.items():
            if node in gone:
                continue
            left = client.ask("RENEW", f"own-{node}", self.fences[node])
            assert left and left > 0, f"the client of {node} has lost its lock"
            assert not client.pushes, client.pushes

    def close(self, *gone):
        self.check(*gone)
        for node, client in self.clients.items():
            if node not in gone:
                assert client.ask("UNLOCK", f"own-{node}", self.fences[node]) == 1, node
            client.close()


def lock_everywhere(group, last=0):
    """Each member gives the same lock, with a higher fence each time."""
    for node in group.members:
        client = group.client(node)
        fence = client.ask("LOCK", "shared", "WAIT", 10000)
        assert fence and fence > last, (node, fence, last)
        last = fence
        assert client.ask("UNLOCK", "shared", fence) == 1
        client.close()
    return last


def joined():
    """Two nodes join while clients of all members hold locks; the newcomers get votes, and count."""
    with Room(3) as group:
        holders = Holders(group, [1, 2, 3])
        last = lock_everywhere(group)
        for node in (4, 5):
            group.join(node)
            group.await_view()
            holders.check()
            last = lock_everywhere(group, last)
        group.await_votes([1, 2, 3, 4, 5])
        time.sleep(1)
        holders.close()
        group.kill(1, 2)
        group.await_view([3, 4, 5])
        group.members = [3, 4, 5]
        assert lock_everywhere(group, last) > last


def joined_by_a_follower():
    """A newcomer that lists one member, which does not lead the log, gets in all the same; then the doctor is content."""
    with Room(3) as group:
        view = group.await_view()
        follower = next(node for node in (1, 2, 3) if node not in (view["raft_leader"], view["coordinator"]))
        group.ports[4] = free_port()
        result = group.run(follower, "join", f"4=127.0.0.1:{group.ports[4]}")
        assert result.returncode == 0, result
        group.members = [follower, 4]
        group.configure(4, group.ports, True)
        group.members = [1, 2, 3, 4]
        group.start(4)
        group.await_view([1, 2, 3, 4])
        group.await_votes([1, 2, 3, 4])
        lock_everywhere(group)
        connect = [word for node in group.members for word in ("--connect", group.address(node))]
        end = time.monotonic() + PATIENCE
        while (result := group.run(1, "doctor", *connect)).returncode != 0:
            assert time.monotonic() < end, result.stdout
            time.sleep(0.2)


def joined_by_the_second_address():
    """A newcomer may have several addresses; the others find it at the one that answers, also after a restart."""
    with Room(2) as group:
        group.ports[3] = free_port()
        result = group.run(1, "join", f"3=127.0.0.1:{free_port()},127.0.0.1:{group.ports[3]}")
        assert result.returncode == 0, result
        group.members.append(3)
        group.configure(3, group.ports, True)
        group.start(3)
        group.await_view([1, 2, 3])
        last = lock_everywhere(group)
        for node in (1, 2):
            at = next(member["at"] for member in group.view(node)["members"] if member["id"] == 3)
            assert at == f"127.0.0.1:{group.ports[3]}", at
        group.await_votes([1, 2, 3])
        group.kill(1)
        group.start(1)  # whose configuration does not know it
        group.await_view([1, 2, 3])
        group.kill(2)
        group.await_view([1, 3])
        group.members = [1, 3]
        assert lock_everywhere(group, last) > last


def left():
    """A follower, the coordinator and a holder leave; the others keep what they hold, and go on."""
    with Room(5) as group:
        holders = Holders(group, [1, 2])
        last = lock_everywhere(group)
        view = group.await_view()
        follower = next(node for node in (4, 3) if node not in (view["coordinator"], view["raft_leader"]))
        group.leave(follower)
        group.ended(follower)
        group.await_view(group.members)
        last = lock_everywhere(group, last)
        coordinator = group.await_view()["coordinator"]
        group.leave(coordinator)
        group.ended(coordinator)
        group.await_view(group.members)
        holders.check()
        last = lock_everywhere(group, last)
        third = next(node for node in group.members if node > 2)
        doomed, waiting = group.client(third), group.client(1)
        fence = doomed.ask("LOCK", "taken")
        sure_until = time.monotonic() + doomed.ask("RENEW", "taken", fence) / 1000
        waiting.say("LOCK", "taken")
        group.leave(third)
        assert waiting.hear() > fence
        assert time.monotonic() > sure_until, "granted while the one who left was sure to hold it"
        group.ended(third)
        group.await_votes([1, 2])
        assert lock_everywhere(group, last) > last
        holders.close()
        for client in (doomed, waiting):
            client.close()


def leader_left():
    """The leader of the log leaves by its own command; without an id the node that is asked leaves."""
    with Room(3) as group:
        leader = group.await_view()["raft_leader"]
        rest = [node for node in group.members if node != leader]
        holders = Holders(group, rest)
        result = group.run(leader, "leave")
        assert result.returncode == 0 and f"node {leader} has left" in result.stdout, result
        group.members.remove(leader)
        group.ended(leader)
        group.await_view(rest)
        holders.close()
        lock_everywhere(group)


def returned():
    """A node that has left may come back under its id with an empty directory; with the old one it is refused with a line."""
    with Room(3) as group:
        holders = Holders(group, [1, 2])
        last = lock_everywhere(group)
        group.leave(3)
        group.ended(3)
        group.start(3)  # as if it did not know; its configuration and its log say that it is a member
        group.ended(3)
        shutil.rmtree(group.directory / "3")
        group.join(3)
        group.await_view()
        group.await_votes([1, 2, 3])
        last = lock_everywhere(group, last)
        group.kill(3)  # and now with what it has on disk
        group.start(3)
        group.await_view()
        assert lock_everywhere(group, last) > last
        holders.close()


def returned_as_it_was():
    """A node that has left may join again with its old directory, many times; its vote in the log is as old as that."""
    with Room(3) as group:
        holders = Holders(group, [1, 2])
        last = lock_everywhere(group)
        for turn in range(3):
            if turn:
                group.kill(3)
            group.leave(3)
            if not turn:
                group.ended(3)
            group.join(3, by=2)
            group.await_view()
            group.await_votes([1, 2, 3])
            last = lock_everywhere(group, last)
        time.sleep(1)  # for a seat in the log
        holders.close()
        group.kill(1)
        group.members = [2, 3]
        group.await_view([2, 3])
        assert lock_everywhere(group, last) > last


def replaced():
    """A machine that is dead for good is replaced by a new one, which gets its vote."""
    with Room(3) as group:
        holders = Holders(group, [1, 2])
        last = lock_everywhere(group)
        group.kill(3)
        group.await_view([1, 2])
        group.leave(3)
        group.join(7)
        group.await_view([1, 2, 7])
        group.await_votes([1, 2, 7])
        last = lock_everywhere(group, last)
        time.sleep(1)  # for a seat in the log
        holders.close()
        group.kill(2)
        group.await_view([1, 7])
        group.members = [1, 7]
        assert lock_everywhere(group, last) > last


def reloaded():
    """The same by HUP: a changed [members] takes effect without a restart, and so it does after one."""
    with Room(3) as group:
        holders = Holders(group, [1, 2])
        last = lock_everywhere(group)
        group.reconfigure([1, 2, 3, 4], joining=[4])
        group.start(4)
        for node in (1, 2, 3):
            group.kill(node, which=signal.SIGHUP)
        group.await_view([1, 2, 3, 4])
        group.await_votes([1, 2, 3, 4])
        last = lock_everywhere(group, last)
        group.leave(3)
        group.ended(3)
        group.reconfigure([1, 2, 4])
        for node in (1, 2, 4):
            group.kill(node, which=signal.SIGHUP)
        group.await_view([1, 2, 4])
        last = lock_everywhere(group, last)
        holders.close()
        group.kill(4, which=signal.SIGTERM)
        group.reconfigure([1, 2, 4, 5], joining=[5])
        group.start(4, 5)  # only one of them has read it
        group.await_view([1, 2, 4, 5])
        assert lock_everywhere(group, last) > last


def moved():
    """A member that comes back at another address is found there once the others have read of it, as one of two."""
    with Room(3) as group:
        last = lock_everywhere(group)
        group.kill(3)
        group.ports[3] = free_port()
        group.reconfigure([1, 2, 3])
        for node in (1, 2):
            path = group.directory / f"{node}.conf"
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace("3 = ", f"3 = 127.0.0.1:{free_port()} "), encoding="utf-8")
            group.kill(node, which=signal.SIGHUP)
        group.start(3)
        group.await_view()
        assert lock_everywhere(group, last) > last


def grown_from_one():
    """A group of one grows to three, and shrinks again."""
    with Room(1) as group:
        holders = Holders(group, [1])
        group.join(2)
        group.await_view()
        group.join(3, by=2)
        group.await_view()
        group.await_votes([1, 2, 3])
        last = lock_everywhere(group)
        holders.check()
        for node in (2, 3):
            group.leave(node)
            group.ended(node)
        group.await_view([1])
        holders.close()
        assert lock_everywhere(group, last) > last
        assert group.run(1, "leave").returncode == 2, "the last one stays"


def nine_with_five_votes():
    """Nine members, five votes: when a voter leaves another gets its vote, and only voters make a majority."""
    with Room(9, voters=5) as group:
        assert group.votes() == [1, 2, 3, 4, 5]
        last = lock_everywhere(group)
        holders = Holders(group, [1, 2, 8])
        group.kill(6, 7, 9)
        group.await_view([1, 2, 3, 4, 5, 8])
        group.start(6, 7, 9)
        group.await_view()
        group.leave(3)
        group.ended(3)
        group.await_votes([1, 2, 4, 5, 6])
        group.await_view(group.members)
        last = lock_everywhere(group, last)
        time.sleep(1)  # for seats in the log
        holders.close()
        group.kill(4, 5)
        group.await_view([1, 2, 6, 7, 8, 9])
        group.members = [1, 2, 6, 7, 8, 9]
        lock_everywhere(group, last)
        group.kill(6)
        client = group.client(8)
        end = time.monotonic() + 10
        while True:  # five of nine members are there, but only two of the five voters
            try:
                fence = client.ask("LOCK", "y", "WAIT", 0)
                assert time.monotonic() < end, "granted without a majority of the votes"
                if fence:
                    client.ask("UNLOCK", "y", fence)
            except Refused as error:
                if str(error).startswith("NOQUORUM"):
                    break
        client.close()


def vote_given_back():
    """The leader of the log is made a standby: another leads, another votes, and no client loses a lock."""
    with Room(4, voters=3) as group:
        view = group.await_view()
        leader = view["raft_leader"]
        assert group.votes() == [1, 2, 3] and leader in (1, 2, 3)
        holders = Holders(group, group.members)
        result = group.run(4, "join", "--standby", f"{leader}=127.0.0.1:{group.ports[leader]}")
        assert result.returncode == 0, result
        group.await_votes(sorted({1, 2, 3, 4} - {leader}))
        end = time.monotonic() + PATIENCE
        while group.await_view()["raft_leader"] in (leader, None):
            assert time.monotonic() < end, "it still leads"
            time.sleep(0.02)
        time.sleep(0.5)
        holders.close()
        group.kill(leader)
        group.members.remove(leader)
        group.await_view(group.members)
        lock_everywhere(group)


class Locked(Room):
    """The same with a cluster's key."""

    def configure(self, node, ports, joins):
        super().configure(node, ports, joins)
        key, path = self.directory / "cluster.key", self.directory / f"{node}.conf"
        if not key.exists():
            subprocess.run([CONCLAVE, "keygen", str(key)], check=True, capture_output=True)
        path.write_text(f"{path.read_text()}[security]\ncluster-key = {key}\n", encoding="utf-8")


def with_keys():
    """A newcomer has to have the key; then all is as it is without."""
    with Locked(3) as group:
        holders = Holders(group, [1, 2, 3])
        group.join(4)
        group.await_view()
        group.await_votes([1, 2, 3, 4])
        lock_everywhere(group)
        holders.check()
        group.leave(4)
        group.ended(4)
        group.await_view(group.members)
        holders.close()


def stranger():
    """A node that was removed while it was cut off or dead gets nothing, and does not disturb the others."""
    with Room(4) as group:
        group.kill(4)
        group.await_view([1, 2, 3])
        group.leave(4)
        epoch = group.await_view([1, 2, 3])["epoch"]
        time.sleep(0.5)
        before = group.view(1)
        group.start(4)
        time.sleep(2)
        view = group.view(1)
        assert (view["epoch"], view["raft_term"]) == (before["epoch"], before["raft_term"]), (epoch, before, view)
        lock_everywhere(group)
        if group.processes[4].poll() is None:
            client = group.client(4)
            try:
                assert client.ask("LOCK", "x", "WAIT", 100) is None
            except Refused as error:
                assert str(error).split()[0] in ("NOQUORUM", "LOADING"), error
            except Gone:
                pass
            client.close()
        group.ended(4)


def make_lead(group, node):
    """Kills the leader of the log until that node leads, with the others back in the view."""
    while (leader := group.await_view(group.members)["raft_leader"]) != node:
        group.kill(leader)
        group.await_view([member for member in group.members if member != leader])
        group.start(leader)


def missed():
    """A node that was down, or stood still, while another joined is back though that one leads the log, and its own list lacks it."""
    for still in (False, True):
        with Room(4) as group:
            group.kill(4, which=signal.SIGSTOP if still else signal.SIGKILL)
            group.members = [1, 2, 3]
            group.await_view(group.members)
            group.join(5)
            group.await_view(group.members)
            group.await_votes([1, 2, 3, 4, 5])
            make_lead(group, 5)
            if still:
                group.kill(4, which=signal.SIGCONT)
            else:
                group.start(4)
            group.members = [1, 2, 3, 4, 5]
            group.await_view()
            lock_everywhere(group)


def flapping():
    """A better node that comes and goes coordinates ever more rarely; a dead coordinator is replaced at once."""
    with Room(3, hold_off=400) as group:
        assert group.await_view()["coordinator"] == 3
        took = []
        for _ in range(3):
            group.kill(3)
            assert group.await_view([1, 2])["coordinator"] == 2
            group.start(3)
            assert group.await_view()["coordinator"] == 2
            begun = time.monotonic()
            while group.await_view()["coordinator"] != 3:
                assert time.monotonic() < begun + 10
                time.sleep(0.01)
            took.append(time.monotonic() - begun)
        assert took[1] > 1.5 * took[0] and took[2] > 1.5 * took[1], took
        coordinators = set()
        group.kill(3)
        group.await_view([1, 2])
        for _ in range(3):  # it never stays long enough
            group.start(3)
            coordinators.add(group.await_view()["coordinator"])
            time.sleep(0.3)
            coordinators.add(group.await_view()["coordinator"])
            group.kill(3)
            coordinators.add(group.await_view([1, 2])["coordinator"])
        assert coordinators == {2}, coordinators


class Worker(threading.Thread):
    """Takes turns with others at one lock, through one node, until it is told to stop."""

    def __init__(self, group, node, shared):
        super().__init__(daemon=True)
        self.group, self.node, self.shared = group, node, shared
        self.turns, self.problem, self.done = 0, None, False
        self.start()

    def turn(self, client):
        fence = client.ask("LOCK", "turn", "WAIT", 10000)
        if fence is None:
            return
        with self.shared["guard"]:
            if self.shared["inside"] or fence <= self.shared["fence"]:
                self.problem = (fence, dict(self.shared))
            self.shared["inside"], self.shared["fence"] = True, fence
        time.sleep(0.001)
        with self.shared["guard"]:
            self.shared["inside"] = False
        assert client.ask("UNLOCK", "turn", fence) == 1, "it was lost"
        self.turns += 1

    def run(self):
        client = self.group.client(self.node)
        try:
            while not self.done and not self.problem:
                self.turn(client)
        except (Gone, Refused, OSError, AssertionError) as error:
            self.problem = error
        client.close()


def churned():
    """Members come and go at random; clients of three that stay take turns all the while, and never lose a turn."""
    seed = int(os.environ.get("CONCLAVE_TEST_SEED", 1))
    dice = random.Random(seed)
    with Room(3, lease=900) as group:  # a busy machine may stall a process for longer than the usual lease
        shared = {"guard": threading.Lock(), "inside": False, "fence": 0}
        holders = Holders(group, [1, 2, 3])
        workers = [Worker(group, node, shared) for node in (1, 2, 3)]
        arrived = set()
        for _ in range(12):
            guests = [node for node in group.members if node > 3]
            by = dice.choice([1, 2, 3])
            if guests and dice.random() < 0.5:
                guest = dice.choice(guests)
                if guest not in arrived or dice.random() < 0.4:  # a guest that has never been let in waits for that
                    group.kill(guest)
                group.leave(guest, by)
                if guest in group.processes:
                    group.ended(guest)
                arrived.discard(guest)
                shutil.rmtree(group.directory / str(guest), ignore_errors=True)
            elif len(guests) < 3:
                group.join(dice.choice([node for node in range(4, 9) if node not in group.members]), by)
                if dice.random() < 0.5:
                    group.await_view(group.members)
                    arrived |= set(group.members)
            time.sleep(dice.random() / 4)
            assert not any(worker.problem for worker in workers), (seed, [worker.problem for worker in workers])
        for worker in workers:
            worker.done = True
            worker.join(PATIENCE)
        assert all(worker.turns > 10 and not worker.problem for worker in workers), (
            seed, [(worker.turns, worker.problem) for worker in workers])
        holders.close()


def truncated():
    """A file that has lost most of its lines takes no member out, by HUP or by a restart; the operator is told of those that are missing."""
    with Room(5) as group:
        holders = Holders(group, [1, 3, 4, 5])
        last = lock_everywhere(group)
        path = group.directory / "2.conf"
        whole = path.read_text(encoding="utf-8").splitlines()
        path.write_text("\n".join(line for line in whole if line[:4] not in ("1 = ", "3 = ", "4 = ", "5 = ")) + "\n",
                        encoding="utf-8")
        group.kill(2, which=signal.SIGHUP)
        end = time.monotonic() + PATIENCE
        log = group.directory / "2.log"
        while "conclave leave 5" not in log.read_text(encoding="utf-8"):
            assert time.monotonic() < end, log.read_text(encoding="utf-8")
            time.sleep(0.02)
        for node in (1, 3, 4, 5):
            assert log.read_text(encoding="utf-8").count(f"no line for node {node},") == 1, log.read_text()
        time.sleep(2)
        group.await_view([1, 2, 3, 4, 5])
        holders.check()
        group.kill(2)
        group.start(2)
        group.await_view([1, 2, 3, 4, 5])
        time.sleep(2)
        group.await_view([1, 2, 3, 4, 5])
        holders.check()
        assert lock_everywhere(group, last) > last
        holders.close()


def majority_kept():
    """No member is taken out if the others would be no majority; and the group goes on."""
    with Room(5) as group:
        group.kill(4, 5)
        group.await_view([1, 2, 3])
        result = group.run(1, "leave", "3")
        assert result.returncode == 2 and "no majority" in result.stderr, result
        group.members = [1, 2, 3]
        last = lock_everywhere(group)
        group.start(4)
        group.await_view([1, 2, 3, 4])
        group.members = [1, 2, 3, 4]
        group.leave(3)
        group.ended(3)
        assert lock_everywhere(group, last) > last


def refused():
    """Impossible changes are refused in one line."""
    with Room(2) as group:
        for words in (["leave", "9"], ["leave", "x"], ["join", "9"], ["join", "9=nowhere"], ["join"],
                      ["leave", "1", "2"], ["join", "9=127.0.0.1:1,"],
                      ["join", "9=" + ",".join(["127.0.0.1:1"] * 5)], ["join", "--attribute", "x", "3=127.0.0.1:1"]):
            result = group.run(1, *words)
            assert result.returncode == 2 and result.stderr.count("\n") == 1, (words, result)


if __name__ == "__main__":
    try:
        sys.exit(main([joined, joined_by_a_follower, joined_by_the_second_address, left, leader_left, returned, returned_as_it_was, replaced, reloaded, moved, grown_from_one,
                       nine_with_five_votes, vote_given_back, with_keys, stranger, missed, flapping, churned, truncated, majority_kept, refused]))
    except Gone:
        sys.exit("a node ended")
