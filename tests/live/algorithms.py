# SPDX-License-Identifier: MIT
"""Every algorithm between real processes; it sends as many messages as the texts count."""

import sys
import time

from harness import Cluster, in_parallel, main

ELECTIONS = ["bully", "ring-list", "ring-basic", "chang-roberts", "chang-roberts-token", "franklin", "peterson",
             "multicast", "multicast-lean", "wireless"]
MUTEXES = ["central", "central-deny", "token-ring", "ricart-agrawala", "lamport", "maekawa-plain", "maekawa", "voting"]
NODES = 4
WORLD = ["--group", "static"]  # as in the textbooks: no lease adds to an algorithm's time
PATIENT = ["--set", "group.timeout=20000"]  # nobody dies: a node that starves for a while is not to be suspected


def elections():
    """The best live node leads: at first, after a crash, after its return."""
    for election in ELECTIONS:
        with Cluster(NODES, *WORLD, "--election", election, "--restart") as cluster:
            cluster.await_view([1, 2, 3, 4], coordinator=4)
            cluster.kill(4)
            time.sleep(0.3)
            cluster.await_view([1, 2, 3, 4], coordinator=4)
        cluster.check()
        report = cluster.judge(allow={"textbook-messages"})
        group = [name for name in report["names"] if name["subject"] == "group"]
        assert len(group) == 1 and group[0]["algorithm"] == election
        cluster.remove()


def enter(cluster, node, name, times):
    client = cluster.client(node)
    for _ in range(times):
        fence = client.ask("LOCK", name)
        assert client.ask("UNLOCK", name, fence) == 1
    client.close()


def cost(algorithm, node):
    """Messages of an entry without contention, by the texts: n nodes, the last coordinates."""
    n = NODES
    return {"central": 0 if node == n else 3, "central-deny": 0 if node == n else 3, "ricart-agrawala": 2 * (n - 1),
            "lamport": 3 * (n - 1), "maekawa-plain": 3 * 2, "maekawa": 3 * 2, "voting": 3 * 2}[algorithm]


def mutexes_alone():
    """One entry after the other: exactly the texts' number of messages. Quorums of four are rows and columns: K = 3."""
    options = [word for algorithm in MUTEXES for word in ("--algorithm", f"{algorithm}={algorithm}")]
    with Cluster(NODES, *WORLD, *PATIENT, *options) as cluster:
        for algorithm in MUTEXES:
            for node in (1, 4, 2):
                enter(cluster, node, algorithm, 3)
                time.sleep(0.02)  # the last release arrives everywhere
    cluster.check()
    report = cluster.judge()
    for algorithm in MUTEXES:
        run, = [name for name in report["names"] if name["name"] == algorithm and name["of"] == "nodes"]
        assert run["algorithm"] == algorithm and run["entries"] == 9 and run["verdict"] == "held", run
        if algorithm != "token-ring":  # its token goes round even if no node enters
            expected = 3 * sum(cost(algorithm, node) for node in (1, 4, 2))
            assert run["messages"]["total"] == expected, (algorithm, expected, run["messages"])
    cluster.remove()


def mutexes_contended():
    """All nodes at once: they enter one at a time, fences rise, every node has its turn, and the counts keep the formulas."""
    for algorithm in MUTEXES:
        if algorithm == "maekawa-plain":
            continue  # may deadlock: scenarios/maekawa-deadlock.scenario
        with Cluster(NODES, *WORLD, *PATIENT, "--algorithm", algorithm) as cluster:
            cluster.await_view([1, 2, 3, 4])  # a view in the middle of the entries would leave them without a formula
            in_parallel(*[lambda node=node: enter(cluster, node, "x", 20) for node in (1, 2, 3, 4) * 2])
        cluster.check()
        report = cluster.judge()
        nodes, clients = [name for name in report["names"] if name["name"] == "x"]
        assert nodes["verdict"] == clients["verdict"] == "held", (algorithm, nodes, clients)
        assert clients["entries"] == 160
        judged = {p["name"]: p["verdict"] for p in nodes["properties"]}
        if algorithm in ("central", "central-deny", "ricart-agrawala", "lamport", "maekawa"):
            assert judged.get("textbook-messages") == "held", (algorithm, report["views"], nodes)
        assert judged["exclusion"] == judged["fences-rise"] == "held"
        cluster.remove()


if __name__ == "__main__":
    sys.exit(main([elections, mutexes_alone, mutexes_contended]))
