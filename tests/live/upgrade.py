# SPDX-License-Identifier: MIT
"""Sharers that become the only holder and share again: by any node, in any order, and when nodes and clients die meanwhile."""

import contextlib
import json
import random
import signal
import subprocess
import sys
import threading
import time

from harness import CONCLAVE, Cluster, Gone, Node, Refused, in_parallel, main
from recipes import CALM, refused
from shared import waits

SHARED = ("LOCK", "a", "SHARED")
LONG = ("TTL", 60000, "SECRET", "mine")


@contextlib.contextmanager
def started(count, *options, allow=(), calm=CALM, judges=True):
    """A cluster whose recordings are judged at the end."""
    cluster = Cluster(count, *calm, *options)
    with cluster:
        cluster.await_view(range(1, count + 1))
        yield cluster
    cluster.check()
    if judges:
        cluster.judge(allow=allow)
    cluster.remove()


def close(*clients):
    for client in clients:
        client.close()


def turn(node, ttl):
    """Node 1 lends to the others. A client of `node` becomes the only holder, and shares again."""
    with started(3) as cluster:
        sharers = {number: cluster.client(number) for number in (1, 2, 3)}
        fences = {number: sharers[number].ask(*SHARED, *ttl) for number in (1, 2, 3)}
        mate, late, writer = cluster.client(node), cluster.client(3), cluster.client(2)
        extra = mate.ask(*SHARED)
        mine = sharers.pop(node)
        mine.say("UPGRADE", "a", fences[node])
        assert waits(mine)
        for other in [mate, *sharers.values()]:  # each of them would wait for the first, which waits for them
            fence = extra if other is mate else fences[next(number for number, client in sharers.items() if client is other)]
            assert refused(other, "UPGRADE", "a", fence).startswith("UPGRADING"), node
            assert other.ask("RENEW", "a", fence), "it still shares"
        assert late.ask(*SHARED, "WAIT", 0) is None
        late.say(*SHARED)
        assert waits(late), "nobody comes in meanwhile"
        assert mate.ask("UNLOCK", "a", extra) == 1
        for number, other in sharers.items():
            assert waits(mine)
            assert other.ask("UNLOCK", "a", fences[number]) == 1
        alone = mine.hear()
        assert alone > max(*fences.values(), extra)
        assert mine.ask("UNLOCK", "a", fences[node]) == 0, "the former fence holds nothing"
        assert mine.ask("RENEW", "a", alone)
        assert waits(late) and all(other.ask(*SHARED, "WAIT", 0) is None for other in sharers.values())
        back = mine.ask("DOWNGRADE", "a", alone)
        assert back > alone and mine.ask("RENEW", "a", alone) is None and mine.ask("RENEW", "a", back)
        assert late.hear() > alone, "who waits to share comes in"
        assert all(other.ask(*SHARED, "WAIT", 10000) > alone for other in sharers.values())
        writer.say("LOCK", "a")
        assert waits(writer)
        assert mine.ask("UNLOCK", "a", back) == 1
        for client in [late, mate, *sharers.values()]:
            client.close()
        assert writer.hear() > back
        close(mine, writer)


def upgrades():
    turn(1, ())
    turn(2, LONG)


def upgrades_by_a_loan():
    turn(2, ())
    turn(1, LONG)


def taken_alone():
    """A client that took the lock alone shares it, wherever the others wait; it can have it back."""
    with started(3) as cluster:
        one, two, three = (cluster.client(node) for node in (1, 2, 3))
        for client, ttl in ((two, ()), (three, LONG)):
            fence = client.ask("LOCK", "a", *ttl)
            others = [other for other in (one, two, three) if other is not client]
            for other in others:
                other.say(*SHARED)
                assert waits(other)
            shared = client.ask("DOWNGRADE", "a", fence)
            fences = [other.hear() for other in others]
            assert shared > fence and min(fences) > fence
            client.say("UPGRADE", "a", shared, "WAIT", 60000)
            assert waits(client)
            assert others[0].ask("UNLOCK", "a", fences[0]) == 1 and waits(client)
            assert others[1].ask("UNLOCK", "a", fences[1]) == 1
            alone = client.hear()
            assert alone > max(fences) and client.ask("UNLOCK", "a", alone) == 1
        close(one, two, three)


def alone_at_once():
    """One node, no others: each exchange is one command. A lock that is taken again stays so; errors name what is wrong."""
    with Node() as node:
        one, two = node.client(), node.client()
        fence = one.ask(*SHARED, "REENTRANT")
        one.ask(*SHARED, "REENTRANT")
        last = fence
        for _ in range(5):
            alone = one.ask("UPGRADE", "a", fence)
            fence = one.ask("DOWNGRADE", "a", alone)
            assert last < alone < fence
            last = fence
        assert one.ask("UNLOCK", "a", fence) == 1 and one.ask("UNLOCK", "a", fence) == 1 and one.ask("UNLOCK", "a", fence) == 0
        fence = one.ask(*SHARED)
        other = two.ask(*SHARED, "TTL", 60000)
        for words, told in ((("UPGRADE", "a", 1), "NOTHELD"), (("UPGRADE", "b", fence), "NOTHELD"), (("UPGRADE", "a", other), "NOTHELD"),
                            (("UPGRADE", "a", "x"), "ERR fence"), (("UPGRADE", "a"), "ERR wrong number"), (("UPGRADE", "", 1), "ERR name"),
                            (("UPGRADE", "a", fence, "WAIT"), "ERR 'WAIT'"), (("UPGRADE", "a", fence, "WAIT", "x"), "ERR WAIT"),
                            (("UPGRADE", "a", fence, "NOW", 1), "ERR 'NOW'"), (("DOWNGRADE", "a", fence), "HELD"),
                            (("DOWNGRADE", "a", 1), "NOTHELD"), (("DOWNGRADE", "a", fence, "WAIT", 1), "ERR wrong number")):
            assert refused(one, *words).startswith(told), (words, refused(one, *words))
        assert one.ask("UPGRADE", "a", fence, "WAIT", 0) is None and one.ask("UPGRADE", "a", fence, "WAIT", 100) is None
        two.say("UPGRADE", "a", other)
        assert waits(two)
        one.close()
        alone = two.hear()
        assert refused(two, "UPGRADE", "a", alone).startswith("HELD")
        three = node.client()
        permit = three.ask("LOCK", "p", "PERMITS", 2)
        assert refused(three, "UPGRADE", "p", permit).startswith("ERR UPGRADE")
        three.close()
        two.close()


def given_up():
    """Who has waited enough shares as before, and so do those that came meanwhile. A client that goes is no upgrader any more."""
    for node in (1, 2):
        with started(3) as cluster:
            sharers = [cluster.client(number) for number in (1, 2, 3)]
            fences = [sharer.ask(*SHARED) for sharer in sharers]
            mine, fence = sharers[node - 1], fences[node - 1]
            late = [cluster.client(number) for number in (1, 2, 3)]
            assert mine.ask("UPGRADE", "a", fence, "WAIT", 0) is None
            mine.say("UPGRADE", "a", fence, "WAIT", 1500)
            assert waits(mine)
            for client in late:
                client.say(*SHARED)
            assert mine.hear() is None
            assert len({client.hear() for client in late} - set(fences)) == 3
            assert mine.ask("RENEW", "a", fence)
            mine.say("UPGRADE", "a", fence)
            assert waits(mine)
            mine.close()
            assert cluster.client(node).ask(*SHARED, "WAIT", 20000)
            other = sharers[2]
            other.say("UPGRADE", "a", fences[2], "WAIT", 60000)
            for client in [sharers[2 - node], *late]:
                assert waits(other)
                client.close()
            alone = other.hear()
            assert alone > max(fences)
            close(other)


def lost_meanwhile():
    """An operator ends the hold of one that waits; another one's is unlocked by its secret; a time to live waits for the answer."""
    with started(3) as cluster:
        one, two, admin = cluster.client(1), cluster.client(2), cluster.client(3)
        fences = one.ask(*SHARED), two.ask(*SHARED, "TTL", 60000, "SECRET", "mine")
        one.say("UPGRADE", "a", fences[0])
        assert waits(one)
        assert admin.ask("FORCE", "a", fences[0], "because") == "OK"
        try:
            raise AssertionError(one.hear())
        except Refused as refusal:
            assert str(refusal).startswith("LOST"), refusal
        assert one.push()[:3] == ["lost", "a", fences[0]]
        one.close()
        two.say("UPGRADE", "a", fences[1])
        alone = two.hear()
        back = two.ask("DOWNGRADE", "a", alone)
        third = admin.ask(*SHARED, "TTL", 400)
        two.say("UPGRADE", "a", back)
        assert waits(two)
        assert admin.ask("UNLOCK", "a", back, "SECRET", "mine") == 1
        try:
            raise AssertionError(two.hear())
        except Refused as refusal:
            assert str(refusal).startswith("LOST"), refusal
        other = cluster.client(2)
        fence = other.ask(*SHARED)
        admin.say("UPGRADE", "a", third)
        time.sleep(1.2)  # longer than its time to live
        assert other.ask("UNLOCK", "a", fence) == 1
        alone = admin.hear()
        assert alone > fence
        close(two, other, admin)


# ---- nodes die ----

def dies(victim, upgrader, phase, ttl):
    """Node 1 lends to 2 and 3; a client of the upgrader's node waits, is alone, or shares again, and a node is killed."""
    with started(5, allow=["every-request"]) as cluster:
        sharers = {node: cluster.client(node) for node in (1, 2, 3)}
        fences = {node: sharers[node].ask(*SHARED, *ttl) for node in (1, 2, 3)}
        mine = sharers.pop(upgrader)
        writer = cluster.client(4)
        mine.say("UPGRADE", "a", fences[upgrader])
        assert waits(mine)
        if phase != "waits":
            for node, client in sharers.items():
                assert client.ask("UNLOCK", "a", fences[node]) == 1
            fence = mine.hear()
            if phase == "shares":
                fence = mine.ask("DOWNGRADE", "a", fence)
        cluster.kill(victim)
        alive = [node for node in (1, 2, 3, 4, 5) if node != victim]
        cluster.await_view(alive)
        writer.say("LOCK", "a")
        lives = victim != upgrader
        if lives or ttl:
            assert waits(writer), "what is held outlasts the node that lent it"
        if phase == "waits":
            for node, client in sharers.items():
                if node != victim:
                    assert client.ask("UNLOCK", "a", fences[node]) == 1
                elif ttl:
                    assert end_by_secret(cluster, fences[node]) == 1
            if lives:
                fence = mine.hear()
                assert fence > max(fences.values())
            else:
                fence = fences[upgrader]
        if lives:
            assert waits(writer)
            if phase != "shares":
                late = cluster.client(4)
                assert late.ask(*SHARED, "WAIT", 0) is None, "it is alone"
                late.close()
                fence = mine.ask("DOWNGRADE", "a", fence)
                assert waits(writer)
            assert mine.ask("UNLOCK", "a", fence) == 1
        elif ttl:
            assert end_by_secret(cluster, fence) == 1
        written = writer.hear()
        assert written > max(fence, *fences.values())
        close(writer, mine, *sharers.values())


def end_by_secret(cluster, fence):
    """Ends a hold of a dead node by its secret."""
    client = cluster.client(4)
    result = client.ask("UNLOCK", "a", fence, "SECRET", "mine")
    client.close()
    return result


def lender_dies():
    dies(1, 2, "waits", ())
    dies(1, 2, "alone", ())
    dies(1, 3, "alone", LONG)


def lender_dies_later():
    dies(1, 2, "shares", ())
    dies(1, 3, "waits", LONG)


def upgraders_node_dies():
    dies(2, 2, "alone", ())
    dies(2, 2, "waits", LONG)
    dies(3, 3, "alone", LONG)


def lender_that_upgrades_dies():
    dies(1, 1, "waits", LONG)
    dies(1, 1, "alone", LONG)
    dies(1, 1, "shares", LONG)


def sharer_dies():
    dies(3, 2, "waits", ())
    dies(3, 1, "waits", ())
    dies(5, 2, "alone", ())  # a member without a part in it: the lender lives, and the next view finds who is alone


def lender_stopped():
    """The lender stands still while another node's client is alone by its loan. Back again, it has lent nothing to anybody else.

    It is inside, by its own recording, until it is back; none of its clients are.
    """
    with started(3, judges=False) as cluster:
        one, two, three = (cluster.client(node) for node in (1, 2, 3))
        fences = [client.ask(*SHARED) for client in (one, two)]
        two.say("UPGRADE", "a", fences[1])
        assert one.ask("UNLOCK", "a", fences[0]) == 1
        alone = two.hear()
        one.say(*SHARED)
        assert waits(one)
        cluster.kill(1, signal.SIGSTOP)
        cluster.await_view([2, 3])
        three.say(*SHARED)
        assert waits(three)
        cluster.kill(1, signal.SIGCONT)
        cluster.await_view([1, 2, 3])
        assert waits(three) and two.ask("RENEW", "a", alone)
        shared = two.ask("DOWNGRADE", "a", alone)
        assert three.hear() > alone and shared > alone
        close(one, two, three)


# ---- random rounds ----

class Model:
    """Who is inside, by the simplest rules: a writer is alone. Fences rise from each writer to whoever comes later."""

    def __init__(self):
        self.mutex = threading.Lock()
        self.readers, self.writers, self.highest = set(), set(), 0
        self.counts = {"shared": 0, "alone": 0, "upgraded": 0, "refused": 0, "late": 0, "downgraded": 0, "most": 0}

    def enter(self, fence, alone, former=None):
        with self.mutex:
            self.readers.discard(former)
            self.writers.discard(former)
            (self.writers if alone else self.readers).add(fence)
            assert len(self.writers) <= 1 and not (self.writers and self.readers), (self.writers, self.readers)
            assert fence > self.highest
            if alone:
                self.highest = fence
            self.counts["most"] = max(self.counts["most"], len(self.readers))

    def leave(self, fence):
        with self.mutex:
            self.readers.discard(fence)
            self.writers.discard(fence)

    def count(self, what):
        with self.mutex:
            self.counts[what] += 1


def upgrade(client, model, fence, chance):
    """The fence by which it holds afterwards, and whether it is alone."""
    try:
        alone = client.ask("UPGRADE", "a", fence, "WAIT", chance.choice([0, 20, 5000]))
    except Refused as refusal:
        assert str(refusal).startswith("UPGRADING"), refusal
        model.count("refused")
        return fence, False
    if alone is None:
        model.count("late")
        return fence, False
    model.count("upgraded")
    model.enter(alone, True, fence)
    return alone, True


def downgrade(client, model, fence):
    """It shares as soon as it says so: others may be told before it is."""
    with model.mutex:
        model.writers.discard(fence)
        model.readers.add(fence)
    shared = client.ask("DOWNGRADE", "a", fence)
    model.count("downgraded")
    model.enter(shared, False, fence)
    return shared


def visit(client, model, chance):
    alone = chance.random() < 0.15
    ttl = LONG if chance.random() < 0.3 else ()
    fence = client.ask("LOCK", "a", *(() if alone else ("SHARED",)), *ttl)
    model.enter(fence, alone)
    model.count("alone" if alone else "shared")
    for _ in range(chance.randrange(4)):
        time.sleep(chance.random() * 0.002)
        if alone:
            fence, alone = downgrade(client, model, fence), False
        else:
            fence, alone = upgrade(client, model, fence, chance)
    model.leave(fence)
    assert client.ask("UNLOCK", "a", fence) == 1


def crowd(algorithm, rounds, seed):
    model = Model()
    with started(3, "--algorithm", algorithm) as cluster:

        def work(number):
            chance = random.Random(f"{seed} {number}")
            client = cluster.client(number % 3 + 1)
            for _ in range(rounds):
                visit(client, model, chance)
            client.close()

        in_parallel(*[lambda number=number: work(number) for number in range(6)])
        assert min(model.counts.values()) > 1, model.counts


def crowds():
    for algorithm in ("central", "ricart-agrawala"):
        crowd(algorithm, 40, 1)


def views_change(seed=1):
    """Nodes are killed while clients of all of them upgrade and downgrade. The recordings tell what was held, and by whom."""
    with started(5, allow=["every-request"], calm=()) as cluster:
        end = time.monotonic() + 4
        done = {"upgraded": 0, "downgraded": 0}

        def work(node, number):
            chance = random.Random(f"{seed} {number}")
            try:
                client = cluster.client(node)
                while time.monotonic() < end:
                    try:
                        ttl = ("TTL", 300, "SECRET", "mine") if chance.random() < 0.4 else ()
                        fence = client.ask("LOCK", "a", "WAIT", 2000, *(() if chance.random() < 0.2 else ("SHARED",)), *ttl)
                        for _ in range(chance.randrange(5)):
                            upgrades = fence is not None and chance.random() < 0.5
                            words = ("UPGRADE", "a", fence, "WAIT", 300) if upgrades else ("DOWNGRADE", "a", fence)
                            got = client.ask(*words) if fence is not None else None
                            if got is not None:
                                done["upgraded" if upgrades else "downgraded"] += 1
                                fence = got
                        time.sleep(chance.random() * 0.01)
                        if fence is not None:
                            client.ask("UNLOCK", "a", fence)
                    except Refused:
                        if chance.random() < 0.3:  # whatever it holds ends with its connection, or its time to live
                            client.close()
                            client = cluster.client(node)
                client.close()
            except (Gone, OSError):
                pass  # its node is dead

        def kill():
            for victim in (random.Random(seed).sample((1, 2, 3, 4, 5), 2)):
                time.sleep(1)
                cluster.kill(victim)

        in_parallel(kill, *[lambda node=node, number=number: work(node, number) for number, node in enumerate((1, 2, 3, 4, 5, 1, 2))])
        assert done["upgraded"] and done["downgraded"] and sum(done.values()) > 4, done


# ---- the judge ----

def judged():
    """A recording in which somebody else is inside between the two grants of an exchange is violated, and only then."""
    with started(1) as cluster:
        client = cluster.client(1)
        fence = client.ask(*SHARED)
        alone = client.ask("UPGRADE", "a", fence)
        client.ask("DOWNGRADE", "a", alone)
        client.close()
        file = next((cluster.directory / "record").glob("*.jsonl"))
        lines = [json.loads(line) for line in file.read_text().splitlines()]
    grants = [line for line in lines if line.get("event") == "grant"]
    assert [line.get("replaces") for line in grants] == [None, fence, alone], grants

    def verdict(*without):
        """The first grant ends early, and another client is inside alone until the second begins."""
        told, shift = [], 0
        for line in lines:
            line = {key: value + shift if key == "time" else value for key, value in line.items() if key not in without}
            if line.get("event") in ("grant", "end"):
                line |= {key: line[key] * 8 for key in ("fence", "replaces") if key in line}
            told.append(line)
            if line.get("event") == "end" and line["fence"] == fence * 8:
                thief = {**line, "session": 99, "fence": fence * 8 + 4, "shared": False}
                told += [{**thief, "event": event, "time": line["time"] + later} for event, later in (("grant", 10), ("end", 20))]
                shift = 1000
        result = subprocess.run([CONCLAVE, "judge", "--json", "/dev/stdin"], capture_output=True, text=True, check=False,
                                input="".join(json.dumps(line) + "\n" for line in told))
        names = json.loads(result.stdout)["names"]
        return {p["name"] for name in names for p in name["properties"] if p["verdict"] == "violated"}

    assert "exclusion" in verdict(), verdict()
    assert not verdict("replaces"), verdict("replaces")


TESTS = [upgrades, upgrades_by_a_loan, taken_alone, alone_at_once, given_up, lost_meanwhile, lender_dies, lender_dies_later,
         upgraders_node_dies, lender_that_upgrades_dies, sharer_dies, lender_stopped, crowds, views_change, judged]

if __name__ == "__main__":
    sys.exit(main(TESTS))
