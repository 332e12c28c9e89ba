# SPDX-License-Identifier: MIT
"""Latches, barriers, members of a name, and work that is done once: exact when nodes and clients die at bad moments."""

import json
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from harness import CONCLAVE, PATIENCE, Cluster, Gone, Node, Refused, in_parallel, main
from shared import waits
from starvation import Broken

FAST = ("--restart", "--set", "group.lease=600", "--set", "group.timeout=400")
UNSURE = object()  # nobody knows whether it was done: the client's node died, or left the group


def must(holds, *what):
    """No excuse: it has to hold however slow the machine is."""
    if not holds:
        raise Broken(what)


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
    except (Gone, OSError):
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
    must(count - len(tries) <= left <= count - sure, name, count, left, answers)
    must(insist(cluster, dice.choice((1, 2, 3)), "LATCH", name, "AWAIT", "WAIT", 0) is None, name, "is open early")
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
            must(seen == {expected}, name, seen, expected)
            seen = {insist(cluster, node, "LATCH", name, "AWAIT", "WAIT", 0) for node in (1, 2, 3)}
            must(seen == {0 if name in opened else None}, name, seen)
    cluster.remove()


# ---- once ----


def once():
    """Its words, at three nodes. A period is a day, which does not end while this runs, or a millisecond."""
    day = 24 * 3600 * 1000
    while time.time() % (day / 1000) > day / 1000 - PATIENCE:
        time.sleep(1)
    with Cluster(3) as cluster:
        one, two, three = (cluster.client(node) for node in (1, 2, 3))
        one.ask("CLIENT", "SETNAME", "alice")
        assert two.ask("ONCE", "x") == [None, None, None, None]
        fence = one.ask("ONCE", "x", "EVERY", day)
        assert fence and two.ask("ONCE", "x", "EVERY", day) is None and one.ask("ONCE", "x", "EVERY", day) is None
        assert three.ask("ONCE", "x") == [None, None, None, "alice"]
        assert two.ask("ONCE", "x", "DONE", fence) == 0 and one.ask("ONCE", "x", "DONE", fence + 1) == 0
        before = int(time.time() * 1000)
        assert one.ask("ONCE", "x", "DONE", fence) == 1 and one.ask("ONCE", "x", "DONE", fence) == 0
        ended, *rest = three.ask("ONCE", "x")
        assert rest == [fence, "alice", None] and before <= ended <= time.time() * 1000, (before, ended, rest)
        assert three.ask("ONCE", "x", "EVERY", day) is None
        later = three.ask("ONCE", "x", "EVERY", 1)
        assert later > fence, "another period"
        assert two.ask("ONCE", "x", "EVERY", 1) is None
        three.close()  # without DONE
        while (last := two.ask("ONCE", "x", "EVERY", 1)) is None:
            time.sleep(0.01)
        assert last > later and two.ask("ONCE", "x", "DONE", last) == 1
        for words in (("EVERY",), ("EVERY", 0), ("EVERY", "x"), ("DONE",), ("DONE", "x"), ("AGAIN", 1), ("EVERY", 1, 2)):
            assert refused(one, "ONCE", "x", *words).startswith("ERR "), words
        assert one.ask("ONCE", "x", "DONE", 2 ** 62) == 0
        one.close()
        two.close()
    cluster.check()
    cluster.remove()
    with Node() as node:
        client = node.client()
        assert refused(client, "ONCE", "x", "EVERY", 1000).startswith("NODISK")
        client.close()


def run_once(cluster, dice, name, done, unsure):
    """Asks for the run of this period; does it, or dies, or is told that it is lost."""
    try:
        client = cluster.client(dice.choice((1, 2, 3)))
    except (Gone, OSError):
        return
    try:
        fence = client.ask("ONCE", name, "EVERY", 10 ** 12)
        if fence is None or dice.random() < 0.3:
            return
        time.sleep(dice.random() * 0.02)
        unsure.append(fence)
        if client.ask("ONCE", name, "DONE", fence) == 1:
            done.append(fence)
        unsure.remove(fence)
    except (Gone, OSError, Refused):
        pass
    finally:
        client.close()


def once_and_crashes():
    """In each period one run is done, whoever dies, and over kill -9 of all nodes; a runner that dies leaves it to the next."""
    dice = random.Random(time.time_ns())
    with Cluster(3, *FAST) as cluster:
        runs = {}
        for name in ("nightly 1", "nightly 2", "nightly 3"):
            done, unsure = runs[name] = ([], [])
            for _ in range(2):
                work = [lambda: run_once(cluster, dice, name, done, unsure)] * 4
                in_parallel(lambda: strike(cluster, dice), *work)
            come_back(cluster)
        for victim in sorted(cluster.pids):
            cluster.kill(victim)
        come_back(cluster)
        for name, (done, unsure) in runs.items():
            end = time.monotonic() + PATIENCE
            while insist(cluster, 1, "ONCE", name)[1] is None and time.monotonic() < end:
                run_once(cluster, dice, name, done, unsure)
            must(len(done) <= 1, name, done)
            told = {tuple(insist(cluster, node, "ONCE", name)[1:]) for node in (1, 2, 3)}
            must(len(told) == 1 and min(told)[0] in (done or unsure), name, told, done, unsure)
            again = {insist(cluster, node, "ONCE", name, "EVERY", 10 ** 12) for node in (1, 2, 3)}
            must(again == {None}, name, again)
    cluster.remove()


# ---- barriers ----


def barrier():
    """Its words, at three nodes."""
    with Cluster(3) as cluster:
        clients = [cluster.client(node) for node in (1, 2, 3)]
        one, two, three = clients
        meetings = []
        for _ in range(3):  # cyclic
            for client in clients:
                client.say("BARRIER", "x", 3)
            meetings.append({client.hear() for client in clients})
        assert all(len(meeting) == 1 for meeting in meetings), meetings
        assert [*map(min, meetings)] == sorted(map(min, meetings)) and len(set(map(min, meetings))) == 3, meetings
        assert one.ask("BARRIER", "x", 1) > min(meetings[2])
        assert one.ask("BARRIER", "x", 2, "WAIT", 0) is None and two.ask("BARRIER", "x", 3, "WAIT", 20) is None
        one.say("BARRIER", "x", 3)
        assert waits(one)
        told = refused(two, "BARRIER", "x", 2, "WAIT", 1)
        assert told == "PARTIES expected 3, as other clients say", told
        two.say("BARRIER", "x", 3)
        assert waits(two)
        two.close()  # it does not count any more
        two = cluster.client(2)
        three.say("BARRIER", "x", 3)
        assert waits(three)
        assert waits(one)
        two.say("BARRIER", "x", 3)
        assert len({one.hear(), two.hear(), three.hear()}) == 1
        for words in ((), (0,), ("x",), (501,), (2, "WAIT"), (2, "ENTER", "WAIT", "x"), ("LEAVE", "ENTER"), (2, "ENTER", "LEAVE")):
            assert refused(one, "BARRIER", "x", *words).startswith("ERR "), words
        for client in (one, two, three):
            client.close()
    cluster.check()
    cluster.remove()


def double_barrier():
    """All enter together, and nobody has left before everybody has; a client that is gone has left."""
    with Cluster(3) as cluster:
        clients = one, two, three = [cluster.client(node) for node in (1, 2, 3)]
        assert refused(one, "BARRIER", "x", "LEAVE").startswith("OUTSIDE")
        assert one.ask("BARRIER", "x", 3, "ENTER", "WAIT", 0) is None
        for client in clients:
            client.say("BARRIER", "x", 3, "ENTER")
        meeting = {client.hear() for client in clients}
        assert len(meeting) == 1
        assert refused(one, "BARRIER", "x", 3, "ENTER").startswith("INSIDE")
        other = cluster.client(1)
        other.say("BARRIER", "x", 1, "ENTER")  # the next meeting begins when this one is over
        assert one.ask("BARRIER", "x", "LEAVE", "WAIT", 0) is None
        one.say("BARRIER", "x", "LEAVE")
        two.say("BARRIER", "x", "LEAVE")
        assert waits(one)
        assert waits(other)
        another = cluster.client(2)
        another.say("BARRIER", "x", 1, "ENTER")
        assert waits(another)
        three.close()
        assert {one.hear(), two.hear()} == meeting
        assert other.hear() > max(meeting)
        assert waits(another)  # no more meet than there are parties
        last = other.ask("BARRIER", "x", "LEAVE")
        assert last > max(meeting)
        assert another.hear() > last
        for client in (one, two, other, another):
            client.close()
    cluster.check()
    cluster.remove()


def barrier_round(cluster, dice, name, history):
    """Some arrive, some go away, a node dies. What each client saw."""
    parties, mutex = dice.randrange(2, 5), threading.Lock()

    def come(node, fate):
        try:
            client = cluster.client(node)
        except (Gone, OSError):
            return
        try:
            with mutex:
                history.append(("comes", client, None))
            client.say("BARRIER", name, parties, *([] if fate else ["WAIT", dice.randrange(60)]))
            if fate == "dies":
                time.sleep(dice.random() * 0.02)
                with mutex:
                    history.append(("dies", client, None))
                return
            answer = client.hear()
            with mutex:
                history.append(("passes" if answer else "gives up", client, answer))
        except (Gone, OSError, Refused) as error:
            assert not isinstance(error, Refused) or str(error).startswith(("NOQUORUM", "LOST")), error
            with mutex:
                history.append(("dies", client, None))
        finally:
            client.close()

    fates = [dice.choice(("", "", "dies")) for _ in range(parties * 2)]
    in_parallel(lambda: strike(cluster, dice), *[lambda f=fate: come(dice.choice((1, 2, 3)), f) for fate in fates])
    return parties


def judge_barrier(parties, history):
    """The naive judge: a meeting has as many as were agreed, each of whom has come, and nobody in it has given up. Of those who
    pass, so many have to be told; the others were in it and died."""
    meetings = {}
    for event, client, number in history:
        if event == "passes":
            meetings.setdefault(number, []).append(client)
    dead = sum(event == "dies" for event, _, _ in history)
    missing = sum(parties - len(passed) for passed in meetings.values())
    must(all(len(passed) <= parties for passed in meetings.values()), parties, history)
    must(missing <= dead, "somebody who lives was in a meeting and was not told", parties, history)
    for number, passed in meetings.items():
        first = next(i for i, (event, _, told) in enumerate(history) if event == "passes" and told == number)
        came = {client for event, client, _ in history[:first] if event == "comes"}
        must(len(came) >= parties and set(passed) <= came, "somebody passes before all have come", parties, history)


def barriers_and_crashes():
    """Nobody passes before all have come, and all of a meeting pass or none, whoever dies."""
    dice = random.Random(time.time_ns())
    with Cluster(3, *FAST) as cluster:
        for i in range(6):
            history = []
            parties = barrier_round(cluster, dice, f"barrier {i}", history)
            judge_barrier(parties, history)
            come_back(cluster)
            if i % 2:
                continue
            # Nobody is left in it.
            clients = [cluster.client(node) for node in (1, 2, 3)]
            for client in clients:
                client.say("BARRIER", f"barrier {i}", 3)
            numbers = {client.hear() for client in clients}
            assert len(numbers) == 1, numbers
            for client in clients:
                client.close()
    cluster.remove()


# ---- members ----


def members():
    """Its words, at three nodes."""
    with Cluster(3) as cluster:
        one, two, three = (cluster.client(node) for node in (1, 2, 3))
        one.ask("CLIENT", "SETNAME", "alice")
        assert three.ask("MEMBERS", "x") == [] and three.ask("MEMBERS", "x", "WATCH") == []
        first = one.ask("MEMBERS", "x", "JOIN", "VALUE", "10.0.0.1:80")
        assert one.ask("MEMBERS", "x", "JOIN") == first, "it is one already"
        assert one.ask("MEMBERS", "x", "JOIN", "VALUE", "10.0.0.1:80") == first
        for other in ("10.0.0.2:80", ""):
            assert refused(one, "MEMBERS", "x", "JOIN", "VALUE", other).startswith("HELD"), "others would not see it"
        second = two.ask("MEMBERS", "x", "JOIN")
        rows = [[first, "alice", "10.0.0.1:80"], [second, None, None]]
        assert second > first and {repr(client.ask("MEMBERS", "x")) for client in (one, two, three)} == {repr(rows)}
        assert [three.push(), three.push()] == [["members", "x", rows[:1]], ["members", "x", rows]]
        assert one.ask("MEMBERS", "x", "LEAVE") == 1 and one.ask("MEMBERS", "x", "LEAVE") == 0
        assert three.push() == ["members", "x", rows[1:]]
        two.close()
        assert three.push() == ["members", "x", []]
        assert three.ask("MEMBERS", "x", "UNWATCH") == 1 and three.ask("MEMBERS", "x", "UNWATCH") == 0
        one.ask("MEMBERS", "x", "JOIN")
        assert three.ask("PING") == "PONG" and not three.pushes
        for words in (("JOIN", "VALUE"), ("JOIN", "x"), ("GO",), ("LEAVE", 1), ("WATCH", 1), ("JOIN", "VALUE", "x", "y")):
            assert refused(one, "MEMBERS", "x", *words).startswith("ERR "), words
        assert refused(one, "MEMBERS", "x", "JOIN", "VALUE", "x" * 1025).startswith("TOOBIG")
        crowd = [cluster.client(dice) for dice in (1, 2, 3) * 3]
        numbers = [client.ask("MEMBERS", "y", "JOIN") for client in crowd]
        assert [row[0] for row in agreed_list(cluster, "y")] == sorted(numbers) == numbers
        for client in (one, three, *crowd):
            client.close()
    cluster.check()
    cluster.remove()


def agreed_list(cluster, name):
    """The list, which is the same at all nodes."""
    lists = [insist(cluster, node, "MEMBERS", name) for node in (1, 2, 3)]
    assert lists[0] == lists[1] == lists[2], lists
    return lists[0]


def members_and_crashes():
    """After quiet all nodes have the same list: everybody who lives, under its number, and nobody who is gone."""
    dice = random.Random(time.time_ns())
    with Cluster(3, *FAST) as cluster:
        alive = {}
        for _ in range(5):
            def come(node):
                try:
                    client = cluster.client(node)
                except (Gone, OSError):
                    return
                try:
                    alive[client] = client.ask("MEMBERS", "x", "JOIN", "VALUE", node)
                    if dice.random() < 0.3:
                        del alive[client]
                        client.close()
                except (Gone, OSError, Refused):
                    alive.pop(client, None)

            in_parallel(lambda: strike(cluster, dice), *[lambda n=dice.choice((1, 2, 3)): come(n) for _ in range(6)])
            come_back(cluster)
            for client in list(alive):
                try:
                    client.ask("PING")
                except (Gone, OSError):
                    del alive[client]
            end = time.monotonic() + PATIENCE
            while True:
                lists = [insist(cluster, node, "MEMBERS", "x") for node in (1, 2, 3)]
                numbers = [[row[0] for row in rows] for rows in lists]
                if all(seen == sorted(alive.values()) for seen in numbers):
                    break
                assert time.monotonic() < end, (numbers, sorted(alive.values()))
                time.sleep(0.05)
        for client in alive:
            client.close()
    cluster.remove()


# ---- bad moments, one by one ----


def stopped_member():
    """A node hangs while the others go on. What it has is old when it comes back; its clients' places are not held for it."""
    with Cluster(3, "--set", "group.lease=600", "--set", "group.timeout=400") as cluster:
        names = [f"latch {i}" for i in range(9)]
        one, two, three = (cluster.client(node) for node in (1, 2, 3))
        assert {one.ask("LATCH", name, "SET", 3) for name in names} == {1}
        numbers = [client.ask("MEMBERS", "x", "JOIN") for client in (one, two, three)]
        runs = {name: three.ask("ONCE", name, "EVERY", 10 ** 12) for name in names}
        three.say("BARRIER", "b", 3)
        waiter = cluster.client(1)
        waiter.say("BARRIER", "b", 2, "WAIT", 1)
        while "PARTIES expected 3" not in str(heard := told(waiter)):  # the third waits at the barrier
            assert heard is None, heard
            waiter.say("BARRIER", "b", 2, "WAIT", 1)
        cluster.kill(3, signal.SIGSTOP)
        cluster.await_view([1, 2])
        assert {two.ask("LATCH", name, "DOWN") for name in names} == {2}
        assert [row[0] for row in two.ask("MEMBERS", "x")] == numbers[:2]
        again = {name: one.ask("ONCE", name, "EVERY", 10 ** 12) for name in names}
        must(all(again[name] > runs[name] for name in names), runs, again)
        assert {one.ask("ONCE", name, "DONE", again[name]) for name in names} == {1}
        cluster.kill(3, signal.SIGCONT)
        cluster.await_view([1, 2, 3])
        assert told(three, Refused).startswith("LOST"), "it may have been counted"
        lost = sorted(three.push()[1:] for _ in names)
        assert lost == sorted([name, runs[name]] for name in names), (lost, runs)
        must({three.ask("ONCE", name, "DONE", runs[name]) for name in names} == {0}, "done twice")
        must({three.ask("LATCH", name) for name in names} == {2}, "old states")
        end = time.monotonic() + PATIENCE
        while [row[0] for row in one.ask("MEMBERS", "x")] != numbers:  # it comes back under its number
            assert time.monotonic() < end, (one.ask("MEMBERS", "x"), numbers)
            time.sleep(0.02)
        for client in (one, two):
            client.say("BARRIER", "b", 2)
        assert one.hear() == two.hear()
        for client in (one, two, three, waiter):
            client.close()
    cluster.remove()


def told(client, kind=None):
    """The answer, or the error as text."""
    try:
        answer = client.hear()
        assert not kind, answer
        return answer
    except Refused as refusal:
        return str(refusal)


def kept_on_disk():
    """A single node with a directory remembers; a damaged file is refused, half a file is not looked at; a disk that fails ends it."""
    with tempfile.TemporaryDirectory() as place:
        options = ("--set", f"node.directory={place}/data")
        with Node(*options) as node:
            client = node.client()
            assert client.ask("LATCH", "a", "SET", 2) == 1 and client.ask("LATCH", "a", "DOWN") == 1
            fence = client.ask("ONCE", "n", "EVERY", 10 ** 12)
            assert client.ask("ONCE", "n", "DONE", fence) == 1
            client.close()
        files = sorted(pathlib.Path(place, "data", "recipes").iterdir())
        assert len(files) == 2, files
        files[0].with_suffix(".new").write_bytes(b"half")
        with Node(*options) as node:
            client = node.client()
            assert client.ask("LATCH", "a") == 1 and client.ask("ONCE", "n")[1] == fence
            assert client.ask("ONCE", "n", "EVERY", 10 ** 12) is None
            client.close()
        bytes_ = files[0].read_bytes()
        for damaged in (bytes_[:-1], bytes_[:30] + bytes([bytes_[30] ^ 1]) + bytes_[31:], b"", b"x" * 100):
            files[0].write_bytes(damaged)
            failed = subprocess.run([CONCLAVE, "node", "--listen", f"{place}/s", *options], capture_output=True, text=True, check=False)
            assert failed.returncode == 2 and failed.stderr.count("\n") == 1 and files[0].name in failed.stderr, failed
        files[0].write_bytes(bytes_)
    with Cluster(3, "--set", "group.lease=600", "--set", "group.timeout=400") as cluster:
        one = cluster.client(1)
        assert one.ask("LATCH", "a", "SET", 9) == 1
        shutil.rmtree(next(pathlib.Path(cluster.directory).glob("**/node3*/recipes"), cluster.directory / "none"))
        assert one.ask("LATCH", "a", "DOWN") == 8, "two of three have it"
        cluster.await_view([1, 2])
        assert one.ask("LATCH", "a", "DOWN") == 7 and "disk-failed" in (cluster.directory / "node3.log").read_text(encoding="utf-8")
        one.close()
    cluster.remove()


def without_agreement():
    """A single node, and `group static`: in memory."""
    with Cluster(3, "--set", "group.mode=static") as cluster:
        clients = one, two, three = [cluster.client(node) for node in (1, 2, 3)]
        assert one.ask("LATCH", "a", "SET", 2) == 1 and two.ask("LATCH", "a", "DOWN") == 1 and three.ask("LATCH", "a") == 1
        for client in clients:
            client.say("BARRIER", "b", 3)
        assert len({client.hear() for client in clients}) == 1
        numbers = [client.ask("MEMBERS", "x", "JOIN") for client in clients]
        assert refused(one, "ONCE", "n", "EVERY", 1).startswith("NODISK")
        cluster.kill(1)
        cluster.await_view([2, 3])
        assert [row[0] for row in two.ask("MEMBERS", "x")] == numbers[1:] and three.ask("LATCH", "a", "DOWN") == 0
        for client in clients:
            client.close()
    cluster.remove()
    with Node() as node:
        clients = [node.client() for _ in range(40)]
        for client in clients:
            client.say("BARRIER", "b", 40)
        assert len({client.hear() for client in clients}) == 1
        for client in clients:
            assert client.ask("MEMBERS", "x", "JOIN", "VALUE", "v")
        assert len(clients[0].ask("MEMBERS", "x")) == 40
        big = [client.ask("MEMBERS", "y", "JOIN", "VALUE", "v" * 1024) for client in clients[:20]]
        assert sorted(big) == big
        assert any(str(answer).startswith("BUSY") for answer in [attempt_join(client) for client in clients[20:]])
        for client in clients:
            client.close()


def attempt_join(client):
    client.say("MEMBERS", "y", "JOIN", "VALUE", "v" * 1024)
    return told(client)


# ---- in a shell ----


def in_a_shell():
    """conclave latch, barrier, once and members: what they print, and their exit codes."""
    with Cluster(3) as cluster:
        server = ("--server", f"{cluster.address(1)},{cluster.address(2)}")

        def run(*words):
            done = subprocess.run([CONCLAVE, *words[:2], *server, *words[2:]], capture_output=True, text=True, check=False)
            assert done.stderr.count("\n") <= 1, done.stderr
            return done.returncode, done.stdout.strip()

        assert run("latch", "t") == (1, "")
        for words in (("down",), ("down", "2"), ("await",), ("await", "--wait", "0"), ("clear",)):
            done = subprocess.run([CONCLAVE, "latch", "t", *server, *words], capture_output=True, text=True, check=False)
            assert (done.returncode, done.stderr) == (1, "conclave: latch t: there is none\n"), (words, done)
        assert run("latch", "t", "set", "2") == (0, "2") and run("latch", "t", "set", "2")[0] == 1
        assert run("latch", "t", "down") == (0, "1") and run("latch", "t", "await", "--wait", "50ms")[0] == 124
        assert run("latch", "t", "down") == (0, "0") and run("latch", "t", "await") == (0, "")
        assert run("latch", "t") == (0, "0") and run("latch", "t", "clear")[0] == 0 and run("latch", "t", "clear")[0] == 1
        for words in (("latch", "t", "frob"), ("latch", "t", "set"), ("latch", "t", "set", "0"), ("barrier", "b"), ("once", "n", "--", "true"),
                      ("once", "n", "--every", "0", "--", "true"), ("once", "n", "--every", "1h"), ("members", "m", "--join"),
                      ("members", "m", "--value", "x"), ("members", "m", "--", "true"), ("barrier", "b", "--parties", "501")):
            assert run(*words)[0] == 125, words
        told = []
        in_parallel(*[lambda: told.append(run("barrier", "b", "--parties", "2"))] * 2)
        assert told[0] == told[1] and told[0][0] == 0 and int(told[0][1]), told
        assert run("barrier", "b", "--parties", "2", "--wait", "50ms")[0] == 124
        every = ("once", "n", "--every", "10000h", "--")
        assert run(*every, "sh", "-c", "echo fails; exit 3") == (3, "fails")
        code, fence = run(*every, "sh", "-c", "echo $CONCLAVE_FENCE")
        assert code == 0 and int(fence) and run(*every, "echo", "twice") == (0, "")
        listed = f"{CONCLAVE} members m {' '.join(server)}"
        code, rows = run("members", "m", "--join", "--value", "a b", "--client", "me", "--", "sh", "-c", f"{listed} && echo $CONCLAVE_FENCE")
        row, number = rows.splitlines()
        assert code == 0 and row == f"{number}\tme\ta b", rows
        assert run("members", "m") == (0, "") and run("members", "m", "--json") == (0, '{"name":"m","members":[]}')
        watch = subprocess.Popen([CONCLAVE, "members", "m", "--watch", "--json", *server], stdout=subprocess.PIPE, text=True)
        lines = [watch.stdout.readline()]
        assert run("members", "m", "--join", "--", "true")[0] == 0
        lines += [watch.stdout.readline(), watch.stdout.readline()]
        watch.terminate()
        watch.wait()
        watch.stdout.close()
        assert [len(json.loads(line)["members"]) for line in lines] == [0, 1, 0], lines
    cluster.check()
    cluster.remove()


if __name__ == "__main__":
    sys.exit(main([latch, latches_and_crashes, once, once_and_crashes, barrier, double_barrier, barriers_and_crashes, members,
                   members_and_crashes, stopped_member, kept_on_disk, without_agreement, in_a_shell]))
