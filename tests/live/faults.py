# SPDX-License-Identifier: MIT
"""Real processes that die, stop and come back, with everything they did recorded and judged by the properties."""

import signal
import sys
import threading
import time

from harness import PATIENCE, Cluster, Gone, Refused, in_parallel, main, stretch


SETTLED = 1.0  # seconds, after which a ring has told everybody: twice n message times, and some


class Register:
    """What the lock protects: it counts the clients inside, and knows the highest fence that it has seen."""

    def __init__(self):
        self.guard = threading.Lock()
        self.inside = 0
        self.fences = []
        self.overlaps = 0

    def enter(self, fence):
        with self.guard:
            self.inside += 1
            self.overlaps += self.inside > 1
            self.fences.append(fence)

    def leave(self):
        with self.guard:
            self.inside -= 1


def take_turns(cluster, register, name, node, ended):
    """Locks and unlocks by one node until it is told to end; goes on with another node when that one dies."""
    client = None
    while not ended():
        try:
            if not client:
                client = cluster.client(node)
            fence = client.ask("LOCK", name, "WAIT", 5000)
            if fence is None:
                continue
            register.enter(fence)
            register.leave()
            client.ask("UNLOCK", name, fence)
        except (OSError, Gone):
            client = None
            node = node % cluster.count + 1
    if client:
        client.close()


def under_load(cluster, seconds, disturb, name="x"):
    """Two clients at every node while something happens to the nodes."""
    register = Register()
    begun = time.monotonic()
    disturbed = threading.Event()

    def ended():
        took = time.monotonic() - begun
        return took > PATIENCE or (took > seconds and disturbed.is_set() and len(register.fences) > 50)

    def disturb_once():
        try:
            disturb()
        finally:
            disturbed.set()

    in_parallel(*[lambda node=node: take_turns(cluster, register, name, node, ended)
                  for node in list(range(1, cluster.count + 1)) * 2], disturb_once)
    assert register.overlaps == 0, f"{register.overlaps} times two were inside"
    assert sorted(register.fences) == register.fences, register.fences
    assert len(set(register.fences)) == len(register.fences) > 50, register.fences


def finish(cluster, allow=()):
    cluster.check()
    report = cluster.judge(allow=allow)
    cluster.remove()
    return report


def leader_killed_after_its_election():
    for algorithm in ("central", "ricart-agrawala", "token-ring", "maekawa", "lamport", "voting"):
        with Cluster(5, "--algorithm", algorithm) as cluster:

            def disturb(cluster=cluster):
                time.sleep(0.3)
                cluster.kill(5)
                cluster.await_view([1, 2, 3, 4], coordinator=4)

            under_load(cluster, 0.9, disturb)
        report = finish(cluster)
        assert report["views"] >= 2


def leader_killed_during_an_election():
    for election in ("bully", "ring-list", "chang-roberts", "wireless", "franklin"):
        with Cluster(5, "--election", election) as cluster:
            cluster.kill(5)
            time.sleep(0.02)  # bully waits 100 ms for an answer, rings have just begun
            cluster.kill(4)
            cluster.await_view([1, 2, 3], coordinator=3)
            client = cluster.client(1)
            assert client.ask("LOCK", "x") > 0
            client.close()
            time.sleep(SETTLED * stretch())
        finish(cluster)


def ring_successor_killed():
    for algorithm, election in (("token-ring", "ring-list"), ("token-ring", "chang-roberts"),
                                ("token-ring", "peterson")):
        with Cluster(5, "--algorithm", algorithm, "--election", election) as cluster:

            def disturb(cluster=cluster):
                time.sleep(0.2)
                cluster.kill(2)  # the successor of 1
                cluster.await_view([1, 3, 4, 5])
                cluster.kill(4)
                cluster.await_view([1, 3, 5])

            under_load(cluster, 1, disturb)
            time.sleep(SETTLED * stretch())
        finish(cluster)


def node_restarted_with_the_same_id():
    with Cluster(3, "--restart") as cluster:

        def disturb():
            for victim in (1, 3, 2):
                time.sleep(0.3)
                cluster.pids = cluster.find()
                cluster.kill(victim)
                time.sleep(0.1)
                cluster.await_view([1, 2, 3], coordinator=3)

        under_load(cluster, 3, disturb)
    finish(cluster)


def locks_held_over_restarts():
    """Under every algorithm a survivor keeps its lock, and a node that comes back learns of it."""
    algorithms = ["central", "central-deny", "token-ring", "ricart-agrawala", "lamport", "maekawa-plain", "maekawa",
                  "voting"]
    options = [word for algorithm in algorithms for word in ("--algorithm", f"{algorithm}={algorithm}")]
    with Cluster(3, "--restart", *options) as cluster:
        holder = cluster.client(1)
        fences = {algorithm: holder.ask("LOCK", algorithm) for algorithm in algorithms}
        for victim in (3, 2):
            cluster.pids = cluster.find()
            cluster.kill(victim)
            time.sleep(0.3)
            cluster.await_view([1, 2, 3], coordinator=3)
        other = cluster.client(3)
        for algorithm, fence in fences.items():
            assert other.ask("LOCK", algorithm, "WAIT", 50) is None, algorithm
            assert holder.ask("UNLOCK", algorithm, fence) == 1, algorithm
            assert other.ask("LOCK", algorithm) > fence, algorithm
        other.close()
        holder.close()
    finish(cluster)


def holder_stopped():
    """A stopped node does not know that it has lost the lock; the fence tells the resource."""
    for stopped, other in ((1, 2), (2, 1), (3, 1)):  # a member, another, the coordinator
        with Cluster(3, "--group", "static") as cluster:
            holder, rival = cluster.client(stopped), cluster.client(other)
            old = holder.ask("LOCK", "x")
            rival.say("LOCK", "x")
            cluster.kill(stopped, signal.SIGSTOP)
            new = rival.hear()
            assert new > old
            cluster.await_view({1, 2, 3} - {stopped})
            cluster.kill(stopped, signal.SIGCONT)
            assert holder.push() == ["lost", "x", old], "it is told as soon as it can be"
            assert holder.ask("UNLOCK", "x", old) == 0, "and cannot release what is another's now"
            cluster.await_view([1, 2, 3])
            assert rival.ask("RENEW", "x", new) == -1
            assert rival.ask("UNLOCK", "x", new) == 1
            assert holder.ask("LOCK", "x") > new
            holder.close()
            rival.close()
        report = finish(cluster, allow={"exclusion"})  # that is what group static does not promise
        overlapping = [name for name in report["names"] if name["name"] == "x" and name["verdict"] == "violated"]
        assert overlapping, "the recording shows that two were inside"


def client_killed():
    """While holding, while waiting, during release."""
    with Cluster(3) as cluster:
        for node in (1, 3):  # a member, and the coordinator
            holder, waiting, last = cluster.client(node), cluster.client(2), cluster.client(node)
            first = holder.ask("LOCK", "x")
            waiting.say("LOCK", "x")
            time.sleep(0.05)
            last.say("LOCK", "x")
            time.sleep(0.05)
            waiting.close()  # leaves the queue
            holder.close()  # releases
            second = last.hear()
            assert second > first
            last.say("UNLOCK", "x", second)
            last.socket.close()  # does not wait for the answer
            last.file.close()
            after = cluster.client(2)
            assert after.ask("LOCK", "x") > second
            after.close()
        again = cluster.client(1)
        assert again.ask("LOCK", "x", "WAIT", 2000) is not None
        again.close()
    finish(cluster)


def two_hundred_names():
    with Cluster(3) as cluster:
        registers = {f"name-{i}": Register() for i in range(200)}

        def play(node, offset):
            client = cluster.client(node)
            for turn in range(200):
                name = f"name-{(turn * 7 + offset) % 200}"
                fence = client.ask("LOCK", name)
                registers[name].enter(fence)
                registers[name].leave()
                assert client.ask("UNLOCK", name, fence) == 1
            client.close()

        in_parallel(*[lambda node=node, offset=offset: play(node, offset)
                      for node in (1, 2, 3) for offset in (0, 50, 100)])
        for name, register in registers.items():
            assert register.overlaps == 0, name
            assert sorted(register.fences) == register.fences, name
            assert len(register.fences) == 9
        status = cluster.client(1)
        assert status.ask("LOCKS", "name-*") == [], "unused names are still listed"
        status.close()
    report = finish(cluster)
    held = [name for name in report["names"] if name["name"].startswith("name-") and name["of"] == "nodes"]
    assert len(held) == 200 and all(name["verdict"] == "held" for name in held)


def released_by_another_member():
    """A client that shows the secret may renew and release, by any member."""
    with Cluster(3, "--group", "static") as cluster:
        one, two = cluster.client(1), cluster.client(2)
        fence = one.ask("LOCK", "x", "TTL", 60000, "SECRET", "s")
        one.close()
        assert two.ask("RENEW", "x", fence, "SECRET", "s") == 60000
        assert two.ask("RENEW", "x", fence + 1) is None and two.ask("UNLOCK", "x", fence + 1, "SECRET", "s") == 0
        assert two.ask("UNLOCK", "y", fence, "SECRET", "s") == 0
        two.say("UNLOCK", "x", fence, "SECRET", "s")
        two.say("PING", "behind")
        assert two.hear() == 1 and two.hear() == "behind"
        assert two.ask("LOCK", "x") > fence
        two.close()
    finish(cluster)


def names_forgotten():
    """A member with many idle names asks for a view without them."""
    with Cluster(3, "--group", "static", "--set", "node.names=400") as cluster:
        client, holder = cluster.client(1), cluster.client(2)
        held = holder.ask("LOCK", "held")
        for turn in range(12):
            for number in range(80):
                fence = client.ask("LOCK", f"name-{turn}-{number}")
                client.ask("UNLOCK", f"name-{turn}-{number}", fence)
            time.sleep(0.08)
        assert holder.ask("RENEW", "held", held) == -1
        assert client.ask("LOCK", "held", "WAIT", 0) is None
        client.close()
        holder.close()
    assert finish(cluster)["views"] > 2


def candidates_of_all_nodes():
    """With an election to choose between them, the best candidate of all leads next, wherever it is."""
    elections = ["bully", "ring-list", "ring-basic", "chang-roberts", "chang-roberts-token", "franklin", "peterson",
                 "multicast", "multicast-lean", "wireless"]
    options = [word for e in elections for word in ("--set", f"election {e}-*.algorithm={e}")]
    with Cluster(4, *options) as cluster:
        for election in elections:
            name = f"{election}-x"
            first = cluster.client(2)
            fences = [first.ask("CAMPAIGN", name)]
            waiting = {}
            for node, priority in ((1, 5), (3, -7), (4, 0), (2, 9)):
                waiting[priority] = cluster.client(node)
                waiting[priority].say("CAMPAIGN", name, "PRIORITY", priority)
            time.sleep(0.4)
            assert first.ask("RENEW", name, fences[0]) is not None, "nobody is deposed"
            for priority in sorted(waiting, reverse=True):
                first.close()
                first = waiting[priority]
                fences.append(first.hear())
            assert fences == sorted(fences), (election, fences)
            first.close()
        observer = cluster.client(1)
        leader, kept = cluster.client(4), cluster.client(3)
        kept_fence = kept.ask("CAMPAIGN", "bully-kept")
        fence = leader.ask("CAMPAIGN", "bully-dies")
        heir = cluster.client(2)
        heir.say("CAMPAIGN", "bully-dies")
        cluster.kill(4)
        assert heir.hear() > fence
        assert kept.ask("RENEW", "bully-kept", kept_fence) is not None
        for client in (observer, leader, kept, heir):
            client.close()
    finish(cluster)


def leadership_moves():
    with Cluster(3) as cluster:
        first, second, watcher = cluster.client(1), cluster.client(2), cluster.client(3)
        fence = first.ask("CAMPAIGN", "boss")
        leader = None
        while leader is None:  # the news takes a moment
            leader = watcher.ask("LEADER", "boss")
        assert leader == [leader[0], fence, 1] and leader[0].startswith("1/"), leader
        assert watcher.ask("OBSERVE", "boss") == leader
        second.say("CAMPAIGN", "boss")
        first.close()
        higher = second.hear()
        assert higher > fence
        assert watcher.push() == ["leader", "boss", None, fence]
        news = watcher.push()
        assert news[2].startswith("2/") and news[3] == higher, news
        other = cluster.client(1)
        steady = other.ask("CAMPAIGN", "steady")
        cluster.kill(2)
        assert watcher.push() == ["leader", "boss", None, higher]
        cluster.await_view([1, 3])
        assert watcher.ask("LEADER", "steady")[1] == steady, "what is known of a leader outlasts the view"
        other.close()
        third = cluster.client(1)
        assert third.ask("CAMPAIGN", "boss") > higher
        assert third.ask("RESIGN", "boss") == 1
        try:
            third.ask("CAMPAIGN", "boss", "PRIORITY", "high")
            raise AssertionError("a priority is a number")
        except Refused:
            pass
        third.close()
        watcher.close()
    finish(cluster)


if __name__ == "__main__":
    sys.exit(main([leader_killed_after_its_election, leader_killed_during_an_election, ring_successor_killed,
                   node_restarted_with_the_same_id, locks_held_over_restarts, holder_stopped, client_killed,
                   two_hundred_names, released_by_another_member, names_forgotten, candidates_of_all_nodes,
                   leadership_moves]))
