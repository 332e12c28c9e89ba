# SPDX-License-Identifier: MIT
"""Tries, lock-delay, times to live by any member, and observers that miss nothing."""

import random
import signal
import sys
import time

from harness import Cluster, Gone, Node, Refused, in_parallel, main, stretch

MUTEXES = ["central", "central-deny", "token-ring", "ricart-agrawala", "lamport", "maekawa", "voting"]


def tries():
    """The node inside answers a try, long before two message bounds are over."""
    for algorithm in MUTEXES:
        with Cluster(3, "--algorithm", algorithm, "--set", "group.bound=700") as cluster:
            holder, others = cluster.client(1), [cluster.client(node) for node in (1, 2, 3)]
            fence = holder.ask("LOCK", "a")
            for other in others:
                begun = time.monotonic()
                assert other.ask("LOCK", "a", "WAIT", 0) is None
                assert other.ask("LOCK", "a", "WAIT", 0, "SHARED") is None
                assert time.monotonic() - begun < 0.7, f"{algorithm}: {time.monotonic() - begun} s"
            assert holder.ask("UNLOCK", "a", fence) == 1
            got = others[1].ask("LOCK", "a", "WAIT", 0, "SHARED")
            assert got > fence, f"{algorithm}: it is free"
            assert others[2].ask("LOCK", "a", "WAIT", 0) is None
            assert others[2].ask("LOCK", "a", "WAIT", 0, "SHARED") > fence, "readers share at once"
            for client in [holder, *others]:
                client.close()
        cluster.check()
        cluster.remove()


def campaigns_are_tried():
    with Cluster(3, "--set", "group.bound=700") as cluster:
        leader, other = cluster.client(1), cluster.client(2)
        assert leader.ask("CAMPAIGN", "boss")
        begun = time.monotonic()
        assert other.ask("CAMPAIGN", "boss", "WAIT", 0) is None
        assert time.monotonic() - begun < 0.7
    cluster.check()
    cluster.remove()


def ring_of_a_new_view():
    """A client that still waits is let in, though the member that begins with the token has forgotten the name."""
    with Cluster(3, "--algorithm", "token-ring") as cluster:
        cluster.await_view([1, 2, 3])
        holder, waiting = cluster.client(2), cluster.client(3)
        fence = holder.ask("LOCK", "a")
        waiting.say("LOCK", "a", "WAIT", 5000)
        time.sleep(0.05)
        cluster.kill(2)
        new = waiting.hear()
        assert new is not None and new > fence
    cluster.check()
    cluster.judge()
    cluster.remove()


# ---- observers ----

def lead(cluster, node, name, count, seed):
    client, chance = cluster.client(node), random.Random(seed)
    for _ in range(count):
        assert client.ask("CAMPAIGN", name) > 0
        if chance.random() < 0.1:
            time.sleep(0.002)
        assert client.ask("RESIGN", name) == 1
    client.close()


def observed(observer, changes):
    """The pushes, as (leader, fence), until so many leaders have come and gone."""
    seen = []
    while len(seen) < 2 * changes:
        kind, _, leader, fence = observer.push()
        assert kind == "leader"
        seen.append((leader, fence))
    return seen


def observers():
    """1,200 changes of leadership by six candidates on three nodes: observers everywhere see all of them, in one order."""
    each = 200
    with Cluster(3) as cluster:
        watching = [cluster.client(node) for node in (1, 2, 3)]
        for watcher in watching:
            assert watcher.ask("OBSERVE", "boss") is None
        in_parallel(*[lambda n=n: lead(cluster, n % 3 + 1, "boss", each, n) for n in range(6)])
        stories = [observed(watcher, 6 * each) for watcher in watching]
        assert stories[0] == stories[1] == stories[2], "all see the same"
        fences = [fence for _, fence in stories[0]]
        assert fences[::2] == fences[1::2] and fences[::2] == sorted(set(fences)), "each begins and ends, in order"
        assert all(leader is not None for leader, _ in stories[0][::2])
        assert all(leader is None for leader, _ in stories[0][1::2])
        for watcher in watching:
            assert not watcher.pushes
            watcher.close()
    cluster.check()
    cluster.judge()
    cluster.remove()


def observers_across_views():
    """Nodes die under the candidates; observers at the others see one order, nothing twice, no leader without end."""
    with Cluster(5) as cluster:
        cluster.await_view([1, 2, 3, 4, 5])
        watching = [cluster.client(node) for node in (1, 2, 3)]
        for watcher in watching:
            watcher.ask("OBSERVE", "boss")
        end = time.monotonic() + 4
        led = []

        def candidate(node):
            client = cluster.client(node)
            try:
                while time.monotonic() < end:
                    try:
                        led.append(client.ask("CAMPAIGN", "boss"))
                    except Refused:
                        continue
                    time.sleep(0.001)
                    client.ask("RESIGN", "boss")
            except (Gone, OSError):
                pass  # killed

        def kill():
            for node in (5, 4):
                time.sleep(1)
                cluster.kill(node)

        in_parallel(kill, *[lambda node=node: candidate(node) for node in (1, 2, 3, 4, 5)])
        last = cluster.client(1).ask("CAMPAIGN", "boss")
        stories = []
        for watcher in watching:
            seen = []
            while not seen or seen[-1][1] != last:
                _, _, leader, fence = watcher.push()
                seen.append((leader, fence))
            stories.append(seen)
        assert stories[0] == stories[1] == stories[2]
        keys = [(fence, leader is None) for leader, fence in stories[0]]
        assert keys == sorted(set(keys)), "in order, and nothing twice"
        missing = set(led) - {fence for _, fence in stories[0]}
        assert not missing, f"{len(missing)} of {len(led)} leaders not told of"
    cluster.check()
    cluster.remove()


def slow_observers():
    """An observer that does not read is disconnected; others notice nothing."""
    with Node() as node:
        name = "n" * 500
        slow, quick, leader = node.client(), node.client(), node.client()
        slow.ask("OBSERVE", name)
        quick.ask("OBSERVE", name)
        for _ in range(1500):
            assert leader.ask("CAMPAIGN", name) and leader.ask("RESIGN", name) == 1
            quick.push()
            quick.push()
        assert "dropped_observers:1\r\n" in quick.ask("INFO", "clients")
        try:
            while True:
                slow.push()
        except (Gone, ConnectionError):
            pass  # a clear end
        for client in (slow, quick, leader):
            client.close()


# ---- lock-delay ----

DELAY = 1.2


def delayed(cluster):
    """Waits until the delay after a start is over."""
    cluster.await_view([1, 2, 3])
    client = cluster.client(1)
    begun = time.monotonic()
    fence = client.ask("LOCK", "slow")
    assert client.ask("UNLOCK", "slow", fence) == 1
    client.close()
    return time.monotonic() - begun


def granted_after(client, name):
    begun = time.monotonic()
    assert client.ask("LOCK", name) > 0
    return time.monotonic() - begun


def lock_delay():
    rule = ["--set", f"lock slow*.delay={1000 * DELAY:.0f}", "--set", "lock slow*.algorithm=central"]
    with Cluster(3, *rule) as cluster:
        delayed(cluster)
        holder, other = cluster.client(2), cluster.client(3)
        assert granted_after(holder, "slow") < DELAY / 2
        fence = holder.ask("LOCK", "slow-2")
        assert holder.ask("UNLOCK", "slow-2", fence) == 1
        assert granted_after(other, "slow-2") < DELAY / 2, "what is released is free at once"
        fence = holder.ask("LOCK", "quick")
        holder.close()
        assert granted_after(other, "quick") < DELAY / 2, "there is none by default"
        assert DELAY * 0.8 < granted_after(other, "slow") < 3 * DELAY, "its holder was lost"
        fence = cluster.client(1).ask("LOCK", "slow-3", "TTL", 50)
        begun = time.monotonic()
        assert other.ask("LOCK", "slow-3") > fence
        assert DELAY * 0.8 < time.monotonic() - begun < 3 * DELAY, "its time ran out"
    cluster.check()
    cluster.judge()
    cluster.remove()


def lock_delay_outlasts_nodes():
    """The node that knew of the delay dies, and so does one whose client held something."""
    rule = ["--set", f"lock slow*.delay={1000 * DELAY:.0f}", "--set", "lock slow*.algorithm=central"]
    with Cluster(3, *rule) as cluster:
        delayed(cluster)
        kept, doomed, other = cluster.client(1), cluster.client(2), cluster.client(3)
        fence = kept.ask("LOCK", "slow-kept")
        doomed.ask("LOCK", "slow-1")
        doomed.close()  # the delay begins, and only node 2 knows of it
        time.sleep(0.1)
        begun = time.monotonic()
        cluster.kill(2)
        assert granted_after(other, "slow-1") > DELAY * 0.8
        assert time.monotonic() - begun < 3 * DELAY
        assert kept.ask("RENEW", "slow-kept", fence) > 0, "who lives keeps what it has"
        assert kept.ask("UNLOCK", "slow-kept", fence) == 1
    cluster.check()
    cluster.judge()
    cluster.remove()


# ---- time to live ----

SECRET = ("SECRET", "of the grant")

def patiently(client, *words):
    """Waits for a new view, in which all members can be asked."""
    while True:
        try:
            return client.ask(*words)
        except Refused as refused:
            assert str(refused).startswith("NOQUORUM"), refused


def renewed_by_any_member():
    with Cluster(3) as cluster:
        cluster.await_view([1, 2, 3])
        one, two, three = (cluster.client(node) for node in (1, 2, 3))
        ttl = 400 * stretch()
        fence = one.ask("LOCK", "a", "TTL", ttl, *SECRET)
        shared = [client.ask("LOCK", "b", "TTL", ttl, "SHARED", *SECRET) for client in (one, two)]
        one.close()
        end = time.monotonic() + 3 * ttl / 1000
        while time.monotonic() < end:  # three times as long as it would last
            for name, number in (("a", fence), *(("b", reader) for reader in shared)):
                left = three.ask("RENEW", name, number, *SECRET)
                assert left is not None and 0 < left <= ttl, (name, left)
            time.sleep(0.1)
        assert two.ask("LOCK", "a", "WAIT", 0) is None
        assert two.ask("LOCK", "a") > fence, "not renewed any more"
        assert three.ask("RENEW", "a", fence, *SECRET) is None
        other = cluster.client(1)
        gone = other.ask("LOCK", "c", "TTL", 60000, *SECRET)
        readers = [client.ask("LOCK", "d", "TTL", 60000, "SHARED", *SECRET) for client in (other, three)]
        plain = other.ask("LOCK", "e")
        assert three.ask("RENEW", "c", gone, *SECRET) > 0
        cluster.kill(1)
        cluster.await_view([2, 3])
        for client in (two, three):
            assert patiently(client, "RENEW", "c", gone, *SECRET) > 0, "it outlasts its node"
            assert all(client.ask("RENEW", "d", reader, *SECRET) > 0 for reader in readers)
            assert client.ask("RENEW", "e", plain, *SECRET) is None, "what has no time to live does not"
        assert two.ask("LOCK", "c", "WAIT", 100) is None and two.ask("LOCK", "d", "WAIT", 100) is None
        assert three.ask("UNLOCK", "c", gone, *SECRET) == 1 and three.ask("UNLOCK", "c", gone, *SECRET) == 0
        assert two.ask("LOCK", "c", "WAIT", 5000) > gone
        assert all(two.ask("UNLOCK", "d", reader, *SECRET) == 1 for reader in readers)
        assert two.ask("LOCK", "d", "WAIT", 5000) > max(readers) and two.ask("LOCK", "e", "WAIT", 5000) > plain
    cluster.check()
    cluster.judge()
    cluster.remove()


def only_names_in_use():
    with Cluster(3) as cluster:
        one, two = cluster.client(1), cluster.client(2)
        fence = one.ask("LOCK", "a", "SHARED")
        assert [lock["name"] for lock in one.ask("LOCKS", "LOCAL")] == ["a"] and two.ask("LOCKS", "LOCAL") == []
        two.say("LOCK", "a")
        looking = cluster.client(2)
        while [lock["waiters"] for lock in looking.ask("LOCKS", "LOCAL")] != [1]:
            time.sleep(0.01)
        assert one.ask("UNLOCK", "a", fence) == 1
        assert two.ask("UNLOCK", "a", two.hear()) == 1
        assert one.ask("LOCKS") == two.ask("LOCKS") == []
    cluster.check()
    cluster.remove()


if __name__ == "__main__":
    sys.exit(main([tries, campaigns_are_tried, ring_of_a_new_view, observers, observers_across_views, slow_observers, lock_delay,
                   lock_delay_outlasts_nodes, renewed_by_any_member, only_names_in_use]))
