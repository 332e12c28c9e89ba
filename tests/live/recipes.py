# SPDX-License-Identifier: MIT
"""What is made of locks: semaphores, several names at once, locks that are taken again. Each exact when nodes and clients die."""

import sys
import threading
import time

from harness import Cluster, Refused, in_parallel, main
from shared import waits


CALM = ("--set", "group.lease=2000", "--set", "group.timeout=1500")  # nobody loses anything because the machine is busy


def refused(client, *words):
    try:
        answer = client.ask(*words)
    except Refused as refusal:
        return str(refusal)
    raise AssertionError(f"{words} was answered {answer}")


def permits():
    """Three hold it together, wherever they are. The fourth waits, and a client that counts with another number is refused."""
    with Cluster(3, *CALM) as cluster:
        clients = [cluster.client(node) for node in (1, 2, 3, 1, 2, 3)]
        ask = ("LOCK", "s", "PERMITS", 3)
        fences = [client.ask(*ask) for client in clients[:3]]
        assert len(set(fences)) == 3, fences
        for client in clients[3:]:
            assert client.ask(*ask, "WAIT", 0) is None
            client.say(*ask)
            assert waits(client)
        stranger = cluster.client(2)
        assert refused(stranger, "LOCK", "s", "PERMITS", 4) == "PERMITS expected 3, as other clients say"
        assert refused(stranger, "LOCK", "s", "SHARED").startswith("PERMITS expected 3")
        for words in (("PERMITS", 0), ("PERMITS", "x"), ("PERMITS", 1000001), ("PERMITS",), ("PERMITS", -1)):
            assert refused(stranger, "LOCK", "s", *words).startswith("ERR PERMITS"), words
        for gone, next_one in zip(clients[:3], clients[3:]):  # in the order in which they came
            assert gone.ask("UNLOCK", "s", fences.pop(0)) == 1
            fences.append(next_one.hear())
        assert fences == sorted(set(fences)), fences
        clients[3].close()  # a client that is gone gives its permit back
        assert clients[0].ask(*ask, "WAIT", 10000) > max(fences)
        alone = cluster.client(3)
        alone.say("LOCK", "s")  # without permits: all of them
        assert waits(alone)
        for client in [*clients[:3], *clients[4:]]:
            client.close()
        assert alone.hear() > max(fences)
        assert refused(stranger, "LOCK", "s", "PERMITS", 3, "SHARED", "WAIT", "x").startswith("ERR WAIT")
        alone.close()
        stranger.close()
    cluster.check()
    cluster.judge()
    cluster.remove()


def permits_agree():
    """A node whose own clients do not hold the semaphore asks the one that lends: is it in use, and with which permits?"""
    with Cluster(3, *CALM) as cluster:
        one, two = cluster.client(1), cluster.client(2)
        fence = one.ask("LOCK", "s", "PERMITS", 2)
        for words in (("PERMITS", 3), ("SHARED",), ("PERMITS", 1, "WAIT", 0)):
            assert refused(two, "LOCK", "s", *words) == "PERMITS expected 2, as other clients say", words
        assert one.ask("UNLOCK", "s", fence) == 1
        later = two.ask("LOCK", "s", "PERMITS", 3)
        assert later > fence
        assert refused(one, "LOCK", "s", "PERMITS", 2) == "PERMITS expected 3, as other clients say"
        assert two.ask("UNLOCK", "s", later) == 1
        last = one.ask("LOCK", "s", "SHARED")
        assert last > later
        assert refused(two, "LOCK", "s", "PERMITS", 2) == "PERMITS expected none, as other clients share it without"
        one.close()
        two.close()
    cluster.check()
    cluster.judge()
    cluster.remove()


def permits_outlive_nodes():
    """The node that lends permits is killed, then another: those who live keep theirs, the dead one's are given to others."""
    with Cluster(5, *CALM) as cluster:
        ask = ("LOCK", "s", "PERMITS", 4)
        clients = {node: cluster.client(node) for node in (1, 2, 3, 4, 5)}
        fences = {node: clients[node].ask(*ask) for node in (4, 1, 2, 3)}  # 4 was the first, and lends
        clients[5].say(*ask)
        assert waits(clients[5])
        last = max(fences.values())
        cluster.kill(4)
        fences[5] = clients[5].hear()
        assert fences[5] > last
        cluster.await_view([1, 2, 3, 5])
        late = cluster.client(1)
        assert late.ask(*ask, "WAIT", 0) is None, "1, 2, 3 and 5 hold it"
        late.say(*ask)
        assert waits(late)
        assert clients[2].ask("UNLOCK", "s", fences[2]) == 1
        assert late.hear() > fences[5]
        assert all(clients[node].ask("RENEW", "s", fences[node]) for node in (1, 3, 5))
        cluster.kill(1)  # with two of them
        cluster.await_view([2, 3, 5])
        more = [cluster.client(node) for node in (2, 3, 5)]
        got = [client.ask(*ask, "WAIT", 10000) for client in more[:2]]
        assert min(got) > fences[5] and more[2].ask(*ask, "WAIT", 0) is None
        for client in [clients[2], clients[3], clients[5], *more]:
            client.close()
    cluster.check()
    cluster.judge(allow=["every-request"])
    cluster.remove()


def permits_with_a_ttl():
    """A permit with a time to live outlasts its connection and its node, and is in use until it ends."""
    with Cluster(3, *CALM) as cluster:
        ask = ("LOCK", "s", "PERMITS", 2)
        one, two, three = (cluster.client(node) for node in (1, 2, 3))
        fence = one.ask(*ask, "TTL", 60000, "SECRET", "mine")
        assert two.ask(*ask) > fence
        cluster.kill(1)
        cluster.await_view([2, 3])
        assert three.ask(*ask, "WAIT", 0) is None
        three.say(*ask)
        assert waits(three)
        assert two.ask("UNLOCK", "s", fence, "SECRET", "mine") == 1
        assert three.hear() > fence
        two.close()
        three.close()
    cluster.check()
    cluster.judge()
    cluster.remove()


def crowd_of_permits():
    """Many clients of all nodes at once: never more than the permits, counted by what each saw, and everybody is served."""
    most, inside, seen = 3, [], []
    mutex = threading.Lock()

    def work(cluster, node):
        client = cluster.client(node)
        for _ in range(12):
            fence = client.ask("LOCK", "s", "PERMITS", most)
            with mutex:
                inside.append(fence)
                seen.append(len(inside))
            time.sleep(0.002)
            with mutex:
                inside.remove(fence)
            assert client.ask("UNLOCK", "s", fence) == 1
        client.close()

    with Cluster(3, *CALM) as cluster:
        in_parallel(*[lambda node=node: work(cluster, node) for node in (1, 2, 3) * 4])
        assert max(seen) == most and len(seen) == 144, (max(seen), len(seen))
    cluster.check()
    cluster.judge()
    cluster.remove()


if __name__ == "__main__":
    sys.exit(main([permits, permits_agree, permits_outlive_nodes, permits_with_a_ttl, crowd_of_permits]))
