#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long a lock cannot be had after the coordinator is gone: from kill -9 or SIGSTOP to the next grant.

usage: bench/live/failover.py [--rounds N] [--nodes N] [--json]
       bench/live/failover.py --long-lived [--faults N] [--kinds LIST] [--peace S] [--seed S] [--set G.K=V] [--nodes N] [--json]

Each round is a cluster of its own, `group raft`. A client of a node that stays asks for a lock in the moment the
coordinator is killed or stopped; what it takes until the answer counts. Half of the time the coordinator leads the log,
too, so that both have to be replaced. With --long-lived it is one cluster that lives through all faults (long_lived.py).
"""

import argparse
import json
import os
import pathlib
import random
import signal
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
os.environ.setdefault("CONCLAVE", str(ROOT / "build" / "conclave"))
sys.path.insert(0, str(ROOT / "tests" / "live"))

import long_lived  # noqa: E402  pylint: disable=wrong-import-position
from harness import Cluster, Refused  # noqa: E402  pylint: disable=wrong-import-position

CONFIGURATIONS = {
    "default": {},
    "tuned": {"lease": 60, "heartbeat": 10, "timeout": 50, "bound": 10},
}
FAULTS = {"kill -9": signal.SIGKILL, "SIGSTOP": signal.SIGSTOP}
WANTED = {"default": 500, "tuned": 100}


def coordinate(cluster, node):
    """Has that node coordinate."""
    client = cluster.client(node)
    client.ask("STEPDOWN", node)
    while client.ask("VIEW")["coordinator"] != node:
        time.sleep(0.01)
    client.close()


def one_round(nodes, settings, fault, same):
    """Milliseconds."""
    options = [word for key, value in settings.items() for word in ("--set", f"group.{key}={value}")]
    with Cluster(nodes, "--group", "raft", *options, record=False) as cluster:
        members = list(range(1, nodes + 1))
        cluster.await_view(members)
        leader = cluster.views([1])[1]["raft_leader"]
        victim = leader if same else next(node for node in members if node != leader)
        coordinate(cluster, victim)
        client = cluster.client(next(node for node in members if node != victim))
        client.ask("UNLOCK", "before", client.ask("LOCK", "before"))
        time.sleep(0.2 + random.random() * 0.1)
        begun = time.perf_counter()
        cluster.kill(victim, fault)
        while True:
            try:
                client.ask("LOCK", "after")
                break
            except Refused:  # no majority for a moment: it counts, too
                time.sleep(0.001)
        took = (time.perf_counter() - begun) * 1000
        client.close()
    return took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--long-lived", action="store_true", help="one cluster through all faults")
    parser.add_argument("--faults", type=int, default=50)
    parser.add_argument("--kinds", default=",".join(long_lived.KINDS), help="of kill, stop, cut")
    parser.add_argument("--peace", type=float, default=60, help="seconds without faults at the end")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="a setting of all nodes")
    options = parser.parse_args()
    if set(options.kinds.split(",")) - set(long_lived.KINDS):
        parser.error(f"--kinds {options.kinds}: expected some of {', '.join(long_lived.KINDS)}")
    if options.long_lived:
        settings = [word for setting in options.set for word in ("--set", setting)]
        return long_lived.run(options, settings,
                              lambda report: print(json.dumps(report)) if options.json else long_lived.show(report))
    cases = [(name, fault) for name in CONFIGURATIONS for fault in FAULTS]
    took = {case: [] for case in cases}
    load = os.getloadavg()[0]
    for turn in range(options.rounds):
        for name, fault in cases:
            if sys.stderr.isatty():
                print(f"\r\033[K{turn + 1} of {options.rounds}: {name}, {fault}", end="", file=sys.stderr, flush=True)
            took[name, fault].append(one_round(options.nodes, CONFIGURATIONS[name], FAULTS[fault], turn % 2 == 0))
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    rows = [{"configuration": name, "fault": fault, "median_ms": round(statistics.median(times), 1),
             "least_ms": round(min(times), 1), "most_ms": round(max(times), 1), "wanted_ms": WANTED[name]}
            for (name, fault), times in took.items()]
    if options.json:
        print(json.dumps({"schema": 1, "rounds": options.rounds, "nodes": options.nodes, "load": load, "rows": rows}))
        return 0
    print(f"{options.nodes} nodes, {options.rounds} rounds each, load {load:.1f} before; milliseconds until the next grant\n")
    print(f"{'':10}{'':10}{'median':>10}{'least':>10}{'most':>10}")
    for row in rows:
        print(f"{row['configuration']:10}{row['fault']:10}{row['median_ms']:10,.1f}{row['least_ms']:10,.1f}"
              f"{row['most_ms']:10,.1f}  wanted <= {row['wanted_ms']}"
              f"{'' if row['median_ms'] <= row['wanted_ms'] else ', missed'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
