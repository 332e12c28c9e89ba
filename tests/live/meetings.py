# SPDX-License-Identifier: MIT
"""Latches, barriers, members of a name, and work that is done once: exact when nodes and clients die at bad moments."""

import random
import sys
import threading
import time

from harness import PATIENCE, Cluster, Gone, Refused, in_parallel, main

FAST = ("--restart", "--set", "group.lease=600", "--set", "group.timeout=400")
UNSURE = object()  # nobody knows whether it was done: the client's node died, or left the group


def refused(client, *words):
    try:
        answer = client.ask(*words)
    except Refused as refusal:
        return str(refusal)
    raise AssertionError(f"{words} was answered {answer}")


def attempt(cluster, node, *words):
    """The answer of a node that may be dead, or die; UNSURE if it does not say."""
    try:
        client = cluster.client(node)
    except OSError:
        return UNSURE
    try:
        return client.ask(*words)
    except (Gone, OSError):
        return UNSURE
    except Refused as refusal:
        if str(refusal).startswith(("NOQUORUM", "LOST", "BUSY")):
            return UNSURE
        raise
    finally:
        client.close()


def insist(cluster, node, *words):
    """The answer, however often it has to be asked."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        answer = attempt(cluster, node, *words)
        if answer is not UNSURE:
            return answer
        time.sleep(0.02)
    raise AssertionError(f"node {node} does not answer {words}")


def come_back(cluster):
    """Until all nodes run again, in one view."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        cluster.pids = cluster.find()
        try:
            if len(cluster.pids) == cluster.count:
                cluster.await_view(range(1, cluster.count + 1), patience=5)
                return
        except (AssertionError, OSError, Gone, Refused):
            pass
        time.sleep(0.05)
    raise AssertionError(f"only {cluster.pids} run")


def strike(cluster, dice, most=0.03):
    """Kills a node at some moment."""
    time.sleep(dice.random() * most)
    cluster.kill(dice.choice(sorted(cluster.pids)))


# ---- latches ----


def latch():
    """Its words, at three nodes."""
    with Cluster(3) as cluster:
        one, two, three = (cluster.client(node) for node in (1, 2, 3))
        assert one.ask("LATCH", "x") is None
        for words in (("DOWN",), ("AWAIT",), ("AWAIT", "WAIT", 0)):
            assert refused(two, "LATCH", "x", *words).startswith("NOLATCH")
        assert one.ask("LATCH", "x", "SET", 3) == 1 and two.ask("LATCH", "x", "SET", 9) == 0
        assert three.ask("LATCH", "x") == 3 and three.ask("LATCH", "x", "DOWN") == 2
        assert two.ask("LATCH", "x", "AWAIT", "WAIT", 0) is None and two.ask("LATCH", "x", "AWAIT", "WAIT", 20) is None
        two.say("LATCH", "x", "AWAIT")
        assert one.ask("LATCH", "x", "DOWN", 5) == 0 and two.hear() == 0
        assert three.ask("LATCH", "x", "DOWN") == 0 and three.ask("LATCH", "x", "AWAIT", "WAIT", 0) == 0
        assert three.ask("LATCH", "x", "SET", 1) == 1, "an open one may be set again"
        two.say("LATCH", "x", "AWAIT")
        while cluster.client(2).ask("CLIENT", "LIST").count("waits=1") != 1:
            time.sleep(0.01)
        assert one.ask("LATCH", "x", "CLEAR") == 1 and one.ask("LATCH", "x", "CLEAR") == 0
        try:
            raise AssertionError(two.hear())
        except Refused as refusal:
            assert str(refusal).startswith("NOLATCH")
        for words in (("SET",), ("SET", 0), ("SET", 1000001), ("DOWN", "x"), ("DOWN", 1, 2), ("UP",), ("AWAIT", "WAIT"), ("AWAIT", "WAIT", -1)):
            assert refused(one, "LATCH", "x", *words).startswith("ERR "), words
        for client in (one, two, three):
            client.close()
    cluster.check()
    cluster.remove()


def latch_round(cluster, dice, name):
    """Some count down while a node dies. Each DOWN that was answered counts once, the others once at most."""
    count = dice.randrange(4, 9)
    tries, answers, mutex = [], [], threading.Lock()

    def work():
        for _ in range(2):
            with mutex:
                if len(tries) == count - 1:
                    return
                tries.append(1)
            answers.append(attempt(cluster, dice.choice((1, 2, 3)), "LATCH", name, "DOWN"))

    while insist(cluster, dice.choice((1, 2, 3)), "LATCH", name) is None:
        attempt(cluster, dice.choice((1, 2, 3)), "LATCH", name, "SET", count)
    in_parallel(lambda: strike(cluster, dice), work, work, work, work)
    come_back(cluster)
    sure = sum(answer is not UNSURE for answer in answers)
    left = insist(cluster, dice.choice((1, 2, 3)), "LATCH", name)
    assert count - len(tries) <= left <= count - sure, (name, count, left, answers)
    assert insist(cluster, dice.choice((1, 2, 3)), "LATCH", name, "AWAIT", "WAIT", 0) is None
    return left


def latches_and_crashes():
    """Nothing is lost or counted twice, whoever dies; an open latch is open for good, over kill -9 of all nodes."""
    dice = random.Random(time.time_ns())
    with Cluster(3, *FAST) as cluster:
        left = {f"latch {i}": latch_round(cluster, dice, f"latch {i}") for i in range(4)}
        opened = sorted(left)[:2]
        for name in opened:
            while insist(cluster, dice.choice((1, 2, 3)), "LATCH", name, "DOWN", left[name]):
                pass
            left[name] = 0
        for victim in sorted(cluster.pids):
            cluster.kill(victim)
        come_back(cluster)
        for name, expected in left.items():
            seen = {insist(cluster, node, "LATCH", name) for node in (1, 2, 3)}
            assert seen == {expected}, (name, seen, expected)
            seen = {insist(cluster, node, "LATCH", name, "AWAIT", "WAIT", 0) for node in (1, 2, 3)}
            assert seen == {0 if name in opened else None}, (name, seen)
    cluster.remove()


if __name__ == "__main__":
    sys.exit(main([latch, latches_and_crashes]))
