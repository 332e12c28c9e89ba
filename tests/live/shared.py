# SPDX-License-Identifier: MIT
"""Locks that readers of several nodes share: together, after writers, and after the loss of the lender or a borrower."""

import random
import signal
import sys
import threading
import time

from harness import Cluster, Gone, Refused, in_parallel, main

ORDERLY = ["central", "central-deny", "token-ring", "ricart-agrawala", "lamport", "maekawa"]  # voting has no queue
SOON = 0.15  # a lock that is not granted by then waits for another holder


def waits(client):
    """The client gets no answer for a while."""
    client.socket.settimeout(SOON)
    try:
        answer = client.hear()
    except TimeoutError:
        client.socket.settimeout(20)
        client.file = client.socket.makefile("rb")
        return True
    raise AssertionError(f"answered {answer}")


SECRET = ("SECRET", "of the grant")


def together(algorithm):
    with Cluster(3, "--algorithm", algorithm) as cluster:
        readers = [cluster.client(node) for node in (1, 2, 3, 1, 2, 3)]
        fences = [reader.ask("LOCK", "a", "SHARED") for reader in readers]
        assert len(set(fences)) == 6, fences
        writer, late = cluster.client(2), [cluster.client(node) for node in (1, 2, 3)]
        writer.say("LOCK", "a")
        assert waits(writer)
        for reader in late:
            reader.say("LOCK", "a", "SHARED", *SECRET)
        for reader in late:
            assert waits(reader), "who comes after a waiting writer waits behind it"
        for reader, fence in zip(readers, fences):
            assert reader.ask("UNLOCK", "a", fence) == 1
        written = writer.hear()
        assert written > max(fences), "writers' fences rise"
        for reader in late:
            assert waits(reader), "a writer is alone"
        assert writer.ask("UNLOCK", "a", written) == 1
        later = [reader.hear() for reader in late]
        assert min(later) > written and len(set(later)) == 3
        # By another member than the one that granted it.
        assert readers[1].ask("UNLOCK", "a", later[2], *SECRET) == 1 and readers[0].ask("UNLOCK", "a", later[1], *SECRET) == 1
        for client in [*readers, writer, *late]:
            client.close()
    cluster.check()
    cluster.judge()
    cluster.remove()


def algorithms():
    for algorithm in ORDERLY:
        together(algorithm)


def crowd(algorithm, seconds, seed):
    """Readers and writers on every node, as fast as they can; their reads must be consistent."""
    inside = {"readers": 0, "writers": 0, "most": 0}
    counts = {"read": 0, "written": 0}
    guard = threading.Lock()
    with Cluster(3, "--algorithm", algorithm) as cluster:
        end = time.monotonic() + seconds

        def work(node, number):
            chance = random.Random(seed * 1000 + number)
            client = cluster.client(node)
            while time.monotonic() < end:
                writes = chance.random() < 0.2
                fence = client.ask("LOCK", "a", *([] if writes else ["SHARED"]))
                with guard:
                    inside["writers" if writes else "readers"] += 1
                    assert inside["writers"] <= 1 and not (inside["writers"] and inside["readers"]), inside
                    inside["most"] = max(inside["most"], inside["readers"])
                    counts["written" if writes else "read"] += 1
                time.sleep(chance.random() * 0.003)
                with guard:
                    inside["writers" if writes else "readers"] -= 1
                assert client.ask("UNLOCK", "a", fence) == 1
            client.close()

        in_parallel(*[lambda n=n: work(n % 3 + 1, n) for n in range(9)])
    cluster.check()
    cluster.judge()
    cluster.remove()
    assert inside["most"] > 1 and counts["written"] > 10 and counts["read"] > 10, (inside, counts)


def crowds():
    for algorithm in ("central", "ricart-agrawala", "voting"):
        crowd(algorithm, 1.5, 1)


def gone(which, victim, *options):
    """The lender (node 1) or a borrower (node 2) is gone; the other readers keep what they hold, the writer waits."""
    with Cluster(3, *options) as cluster:
        cluster.await_view([1, 2, 3])
        lender, borrowers = cluster.client(1), [cluster.client(2), cluster.client(2)]
        fences = [client.ask("LOCK", "a", "SHARED", *SECRET) for client in [lender, *borrowers]]
        writer = cluster.client(3)
        writer.say("LOCK", "a")
        assert waits(writer)
        cluster.kill(victim, which)
        survivor = 3 - victim
        cluster.await_view([survivor, 3])
        assert waits(writer), "a reader that lives keeps the writer out"
        mine = fences[0] if survivor == 1 else fences[1]
        client = lender if survivor == 1 else borrowers[0]
        assert client.ask("RENEW", "a", mine) != 0
        late = cluster.client(survivor)
        late.say("LOCK", "a", "SHARED")
        assert waits(late), "in the new view, too, readers wait behind a writer"
        for fence in [fences[0]] if survivor == 1 else fences[1:]:
            assert client.ask("UNLOCK", "a", fence, *SECRET) == 1
        written = writer.hear()
        assert written > max(fences)
        if which == signal.SIGSTOP:
            cluster.kill(victim, signal.SIGCONT)
            loser, lost = (lender, fences[0]) if victim == 1 else (borrowers[1], fences[2])
            assert loser.push() == ["lost", "a", lost], "told before anything else"
        assert writer.ask("UNLOCK", "a", written) == 1
        assert late.hear() > written
    cluster.check()
    if which == signal.SIGKILL:
        cluster.judge()
    cluster.remove()


def lender_killed():
    gone(signal.SIGKILL, 1)


def lender_killed_in_a_static_group():
    gone(signal.SIGKILL, 1, "--group", "static")


def borrower_killed():
    gone(signal.SIGKILL, 2)


def lender_stopped():
    gone(signal.SIGSTOP, 1)


def borrower_stopped():
    gone(signal.SIGSTOP, 2)


def readers_go_on():
    """No writer waits: after the lender is gone, and after a new view, readers of all nodes still share."""
    with Cluster(3) as cluster:
        cluster.await_view([1, 2, 3])
        first, second = cluster.client(1), cluster.client(2)
        fences = [first.ask("LOCK", "a", "SHARED"), second.ask("LOCK", "a", "SHARED")]
        cluster.kill(1)
        cluster.await_view([2, 3])
        third, fourth = cluster.client(3), cluster.client(2)
        fences += [third.ask("LOCK", "a", "SHARED", "WAIT", 5000), fourth.ask("LOCK", "a", "SHARED", "WAIT", 5000)]
        assert None not in fences and len(set(fences)) == 4, fences
        writer = cluster.client(3)
        assert writer.ask("LOCK", "a", "WAIT", 50) is None
        for client, fence in zip((second, third, fourth), fences[1:]):
            assert client.ask("UNLOCK", "a", fence) == 1
        assert writer.ask("LOCK", "a", "WAIT", 5000) > max(fences)
    cluster.check()
    cluster.judge()
    cluster.remove()


def views_change():
    """Nodes are killed again and again while readers and writers of the others go on; judged by the recording."""
    with Cluster(5) as cluster:
        cluster.await_view([1, 2, 3, 4, 5])
        end = time.monotonic() + 4
        done = {"read": 0, "written": 0}

        def work(node, number):
            chance = random.Random(number)
            try:
                client = cluster.client(node)
                while time.monotonic() < end:
                    writes = chance.random() < 0.2
                    try:
                        fence = client.ask("LOCK", "a", "WAIT", 2000, *([] if writes else ["SHARED"]))
                    except Refused:
                        continue
                    if fence is None:
                        continue
                    done["written" if writes else "read"] += 1
                    time.sleep(chance.random() * 0.01)
                    client.ask("UNLOCK", "a", fence)
            except (Gone, OSError):
                pass  # its node was killed

        def kill():
            for node in (5, 4):
                time.sleep(1)
                cluster.kill(node)

        in_parallel(kill, *[lambda n=n: work(n % 5 + 1, n) for n in range(10)])
    cluster.check()
    cluster.judge()
    cluster.remove()
    assert done["written"] > 20 and done["read"] > 50, done


if __name__ == "__main__":
    sys.exit(main([algorithms, crowds, lender_killed, lender_killed_in_a_static_group, borrower_killed, lender_stopped, borrower_stopped,
                   readers_go_on, views_change]))
