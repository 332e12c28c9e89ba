#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a cluster that nobody uses costs, and how often its leases lapse beside a load.

usage: bench/live/idle.py [--nodes N] [--seconds S] [--load N] [--set G.K=V]... [--json]

Tells each node's share of a core, how often it woke up (voluntary context switches, all threads), and how many leases
lapsed and views began meanwhile. With --load N, `stress-ng --cpu N` runs beside the cluster for that time.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
os.environ.setdefault("CONCLAVE", str(ROOT / "build" / "conclave"))
sys.path.insert(0, str(ROOT / "tests" / "live"))

from harness import Cluster  # noqa: E402  pylint: disable=wrong-import-position

TICK = os.sysconf("SC_CLK_TCK")


def used(pid):
    """(seconds of processor, voluntary context switches) of all threads so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    switches = 0
    for status in pathlib.Path(f"/proc/{pid}/task").glob("*/status"):
        lines = dict(line.split(":", 1) for line in status.read_text(encoding="utf-8").splitlines() if ":" in line)
        switches += int(lines["voluntary_ctxt_switches"])
    return (int(fields[11]) + int(fields[12])) / TICK, switches


def facts(cluster, node):
    client = cluster.client(node)
    lines = client.ask("INFO").split("\r\n")
    client.close()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def measure(options):
    words = [word for setting in options.set for word in ("--set", setting)]
    nodes = range(1, options.nodes + 1)
    with Cluster(options.nodes, "--group", "raft", *words, record=False) as cluster:
        cluster.await_view(list(nodes))
        time.sleep(1)
        before, began = {node: used(cluster.pids[node]) for node in nodes}, time.monotonic()
        told = {node: facts(cluster, node) for node in nodes}
        load = options.load and subprocess.Popen(["stress-ng", "--quiet", "--cpu", str(options.load), "--timeout",
                                                  f"{options.seconds:.0f}s"])
        time.sleep(options.seconds)
        if load:
            load.wait()
        seconds = time.monotonic() - began
        after = {node: used(cluster.pids[node]) for node in nodes}
        now = {node: facts(cluster, node) for node in nodes}
    rows = [{"node": node, "percent": round(100 * (after[node][0] - before[node][0]) / seconds, 2),
             "wakeups_per_second": round((after[node][1] - before[node][1]) / seconds, 1),
             **{name: int(now[node][name]) - int(told[node][name]) for name in ("lapses", "suspicions", "views")},
             "late_ms": int(now[node]["loop_late_ms"])} for node in nodes]
    return {"schema": 1, "seconds": round(seconds, 1), "load": options.load, "settings": options.set, "rows": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--load", type=int, default=0, metavar="N", help="processes that want a processor")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    before = os.getloadavg()[0]
    report = measure(options) | {"load_before": round(before, 1)}
    if options.json:
        print(json.dumps(report))
        return 0
    print(f"{options.nodes} nodes, {report['seconds']} s, --load {options.load}, load {before:.1f} before"
          f"{', ' + ' '.join(options.set) if options.set else ''}\n")
    columns = [name for name in report["rows"][0] if name != "node"]
    print(f"{'node':>6}" + "".join(f"{name:>20}" for name in columns))
    for row in report["rows"]:
        print(f"{row['node']:6}" + "".join(f"{row[name]:20}" for name in columns))
    return 0


if __name__ == "__main__":
    sys.exit(main())
