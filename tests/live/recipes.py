# SPDX-License-Identifier: MIT
"""What is made of locks: semaphores, several names at once, locks that are taken again. Each exact when nodes and clients die."""

import subprocess
import sys
import threading
import time

from harness import CONCLAVE, PATIENCE, Cluster, Node, Refused, in_parallel, main
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
        for words in (("SHARED", "PERMITS", 3), ("PERMITS", 3, "SHARED", "WAIT", 0)):
            assert refused(stranger, "LOCK", "s", *words) == "ERR PERMITS '3': expected it without SHARED", words
            assert refused(stranger, "RENEW", "s", 1, *words[:3]) == "ERR PERMITS '3': expected it without SHARED", words
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


def permits_in_a_shell():
    """Commands on several servers, two at a time; one that counts with another number, or shares, does not run."""
    with Cluster(3, *CALM) as cluster:
        marks = cluster.directory / "marks"
        marks.mkdir()
        script = f"touch {marks}/$$; ls {marks} | wc -l; sleep 0.2; rm {marks}/$$"

        def lock(node, *words):
            return subprocess.Popen([CONCLAVE, "lock", "s", *words, "--server", cluster.address(node), "--", "sh", "-c", script],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        running = [lock(1 + turn % 3, "--permits", "2") for turn in range(8)]
        seen = [process.communicate(timeout=PATIENCE)[0] for process in running]
        assert all(not process.returncode for process in running) and max(map(int, seen)) == 2, seen
        client = cluster.client(2)
        fence = client.ask("LOCK", "s", "PERMITS", 2)
        for words, code, told in ((("--permits", "3"), 125, "expected 2"), (("--shared",), 125, "expected 2"),
                                  (("--permits", "0"), 125, "--permits 0"), (("--permits", "2", "--shared"), 125, "--shared")):
            process = lock(1, *words)
            out, err = process.communicate(timeout=PATIENCE)
            assert process.returncode == code and told in err and not out and err.count("\n") == 1, (words, process.returncode, err)
        assert client.ask("UNLOCK", "s", fence) == 1
        client.close()
    cluster.check()
    cluster.judge()
    cluster.remove()


def held(cluster, name, node=1):
    """Is it held by somebody, as a client of that node sees it?"""
    client = cluster.client(node)
    fence = client.ask("LOCK", name, "WAIT", 0)
    client.close()
    return fence is None


def all_or_none():
    """Several names at once: their fences in the order of the words; nothing is kept of what could not be had as a whole."""
    with Cluster(3, *CALM) as cluster:
        one, two, three = (cluster.client(node) for node in (1, 2, 3))
        fences = one.ask("LOCKALL", "c", "a", "b")
        assert len(fences) == 3 and all(held(cluster, name, 2) for name in "abc")
        assert two.ask("LOCKALL", "WAIT", 0, "b", "free") is None and not held(cluster, "free", 3)
        assert two.ask("LOCKALL", "WAIT", 300, "0", "b", "free") is None and not held(cluster, "0", 3)
        two.say("LOCKALL", "WAIT", 20000, "b", "0", "a")
        assert waits(two)
        assert one.ask("UNLOCK", "a", fences[1]) == 1
        assert waits(two) and held(cluster, "0", 3)
        assert one.ask("UNLOCK", "b", fences[2]) == 1
        more = two.hear()
        assert more[0] > fences[2] and more[2] > fences[1], (fences, more)
        three.say("LOCKALL", "0", "c")
        assert waits(three)
        three.close()  # while it waits for 0: it has nothing, and gets nothing
        two.close()
        one.close()
        four = cluster.client(2)
        assert len(four.ask("LOCKALL", "WAIT", 20000, "0", "a", "b", "c")) == 4
        for words, told in ((("a", "a"), "ERR name 'a'"), (("WAIT", 1), "ERR LOCKALL"), (("WAIT", "x", "a"), "ERR WAIT"),
                            (("TTL", 0, "a"), "ERR TTL"), (("",), "ERR name"), (("d", "a"), "HELD"), (("x" * 513,), "TOOBIG")):
            assert refused(four, "LOCKALL", *words).startswith(told), words
        assert not held(cluster, "d")
        four.close()
    cluster.check()
    cluster.judge(allow=["every-request"])
    cluster.remove()


def all_with_a_ttl():
    """Times to live begin when all names are there. A client that goes before leaves nothing behind; one that goes after, does."""
    with Cluster(3, *CALM) as cluster:
        holder, one, two = (cluster.client(node) for node in (3, 1, 2))
        fence = holder.ask("LOCK", "b")
        one.say("LOCKALL", "TTL", 700, "SECRET", "x", "a", "b")
        two.say("LOCKALL", "TTL", 60000, "a2", "b")
        assert waits(one) and waits(two)
        time.sleep(1.5)
        assert held(cluster, "a", 3), "its time has not begun"
        two.close()
        deadline = time.monotonic() + 20
        while held(cluster, "a2", 3):
            assert time.monotonic() < deadline
        assert holder.ask("UNLOCK", "b", fence) == 1
        fences = one.hear()
        one.close()
        assert holder.ask("LOCK", "b", "WAIT", 20000) > fences[1] and not held(cluster, "a", 3)
        holder.close()
    cluster.check()
    cluster.remove()


def all_against_each_other():
    """Clients of all nodes that want overlapping names, each in its own order: nobody waits for ever, and each is alone."""
    orders = [("a", "b", "c"), ("c", "b", "a"), ("b", "c"), ("c", "a"), ("b", "a"), ("a", "c", "b")]
    users = {name: [] for name in "abc"}
    mutex = threading.Lock()

    def work(cluster, node, names):
        client = cluster.client(node)
        for _ in range(8):
            fences = client.ask("LOCKALL", *names)
            with mutex:
                assert not any(users[name] for name in names), users
                for name in names:
                    users[name].append(node)
            time.sleep(0.001)
            with mutex:
                for name in names:
                    users[name].clear()
            for name, fence in zip(names, fences):
                assert client.ask("UNLOCK", name, fence) == 1
        client.close()

    with Cluster(3, *CALM) as cluster:
        in_parallel(*[lambda turn=turn, names=names: work(cluster, 1 + turn % 3, names) for turn, names in enumerate(orders)])
    cluster.check()
    cluster.judge()
    cluster.remove()


def all_in_line():
    """One that wants names of earlier ones stands back for a moment, and no longer; its wait and its client may end meanwhile."""
    with Node() as node:
        first, second, third, fourth, holder = clients = [node.client() for _ in range(5)]
        b, own = holder.ask("LOCK", "b"), holder.ask("LOCK", "own")
        first.say("LOCKALL", "a", "b")  # has a, and waits for b
        assert waits(first)
        assert second.ask("LOCKALL", "WAIT", 3, "a", "c") is None, "the wait is over before it begins"
        second.say("LOCKALL", "a", "c")  # stands back for the first, then waits for a
        fences = third.ask("LOCKALL", "WAIT", 5000, "c", "d")  # stands back for the second, which has nothing
        assert len(fences) == 2 and waits(second)
        assert len(holder.ask("LOCKALL", "WAIT", 5000, "e", "f")) == 2, "one that holds something does not stand back"
        fourth.say("LOCKALL", "a", "g")
        fourth.close()
        late = [node.client() for _ in range(20)]
        for each in late:
            each.say("LOCKALL", "a", "g")
        for each in late[::2]:
            each.close()
        assert holder.ask("UNLOCK", "b", b) == 1 and holder.ask("UNLOCK", "own", own) == 1
        for client, names in ((first, "ab"), (third, "cd")):
            for name, fence in zip(names, fences if client is third else client.hear()):
                assert client.ask("UNLOCK", name, fence) == 1
        for client, names in ((second, "ac"), *((each, "ag") for each in late[1::2])):
            for name, fence in zip(names, client.hear()):
                assert client.ask("UNLOCK", name, fence) == 1
        for client in (*clients[:3], holder, *late[1::2]):
            client.close()
        last = node.client()
        assert len(last.ask("LOCKALL", "WAIT", 5000, *"abcdefg")) == 7, "nothing is left of anybody"
        last.close()


def again():
    """A connection that holds a lock takes it again, if it says so, and gives it back as often."""
    with Cluster(3, *CALM) as cluster:
        one, two = cluster.client(1), cluster.client(2)
        fence = one.ask("LOCK", "a", "REENTRANT")
        assert refused(one, "LOCK", "a").startswith("HELD")
        assert [one.ask("LOCK", "a", "REENTRANT") for _ in range(3)] == [fence] * 3
        assert refused(one, "LOCK", "a", "REENTRANT", "SHARED").startswith("HELD")
        assert one.ask("LOCK", "a", "REENTRANT", "DEADLINE")[0] == fence
        for _ in range(4):
            assert one.ask("UNLOCK", "a", fence) == 1
            assert two.ask("LOCK", "a", "REENTRANT", "WAIT", 0) is None
        assert one.ask("UNLOCK", "a", fence) == 1
        later = two.ask("LOCK", "a", "REENTRANT", "WAIT", 10000)
        assert later > fence and one.ask("UNLOCK", "a", fence) == 0
        two.ask("LOCK", "a", "REENTRANT")
        two.close()  # all of it ends with the connection
        assert one.ask("LOCK", "a", "WAIT", 10000) > later
        one.close()
    cluster.check()
    cluster.judge()
    cluster.remove()


def numbers():
    """Unique numbers in blocks, from all nodes at once: no two overlap, and whoever asks later gets higher ones."""
    blocks, mutex = [], threading.Lock()

    def work(cluster, node):
        client = cluster.client(node)
        last = -1
        for turn in range(25):
            count = (1, 7, 100, 4096)[turn % 4]
            first = client.ask("SEQUENCE", "ids", count)
            assert last < first and first + count < 1 << 53
            last = first + count - 1
            with mutex:
                blocks.append((first, last))
        client.close()

    with Cluster(3, *CALM) as cluster:
        in_parallel(*[lambda node=node: work(cluster, node) for node in (1, 2, 3)])
        blocks.sort()
        assert len(blocks) == 75 and all(one[1] < other[0] for one, other in zip(blocks, blocks[1:])), blocks
        cluster.kill(3)
        cluster.await_view([1, 2])
        client = cluster.client(1)
        assert client.ask("SEQUENCE", "ids") > blocks[-1][1]
        for words in (("ids", 0), ("ids", 4097), ("ids", "x"), ("",)):
            assert refused(client, "SEQUENCE", *words).startswith("ERR"), words
        assert not held(cluster, "ids")
        client.close()
    cluster.check()
    cluster.judge()
    cluster.remove()


def pushes(client, count):
    return [client.push() for _ in range(count)]


def watched():
    """Clients of every node hear who got a lock and when it was given back, in the order of the fences."""
    with Cluster(3, *CALM) as cluster:
        watchers = [cluster.client(node) for node in (1, 2, 3)]
        one, two = cluster.client(1), cluster.client(2)
        fence = one.ask("LOCK", "a")
        for watcher in watchers:
            known = watcher.ask("WATCH", "a")
            news = ["lock", "a", *known[:2]] if known else watcher.push()
            assert news[3] == fence and news[2].startswith("1/"), news
        assert one.ask("UNLOCK", "a", fence) == 1
        later = two.ask("LOCK", "a")
        for watcher in watchers:
            news = watcher.push()
            if news[3] == fence:  # unless the next grant was faster
                assert news == ["lock", "a", None, fence]
                news = watcher.push()
            assert news[3] == later and news[2].startswith("2/"), news
        assert watchers[0].ask("UNWATCH", "a") == 1 and watchers[0].ask("UNWATCH") == 0
        cluster.kill(2)  # the holder's node: the next view tells
        for watcher in (watchers[2],):
            assert watcher.push() == ["lock", "a", None, later]
        last = one.ask("LOCK", "a", "WAIT", 20000, "TTL", 60000)
        news = watchers[2].push()
        assert news[3] == last and news[2].startswith("1/"), news
        assert not watchers[0].pushes
        plain = cluster.client(3, protocol=2)
        known = plain.ask("WATCH", "a")
        assert known is None or known[1] == last
        assert refused(plain, "LOCK", "b").startswith("ERR 'LOCK'")
        plain.close()
        for client in (one, watchers[0], watchers[2]):
            client.close()
    cluster.check()
    cluster.judge()
    cluster.remove()


if __name__ == "__main__":
    sys.exit(main([permits, permits_agree, permits_outlive_nodes, permits_with_a_ttl, crowd_of_permits, permits_in_a_shell, all_or_none, all_with_a_ttl,
                   all_against_each_other, all_in_line, again, numbers, watched]))
