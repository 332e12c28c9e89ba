# SPDX-License-Identifier: MIT
"""Failover on one cluster that lives through many faults: does it stay as fast as the first time?

Each node is in a network namespace of its own, so that the network between them can be cut. A fault hits whoever
coordinates: it is killed (and started again), stopped (and continued) or cut off (and connected again). What it takes a
client of another node from that moment to its next grant counts. Then a minute without faults, and a few more faults.
"""

import fcntl
import os
import pathlib
import random
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "torment"))
sys.path.append(str(ROOT / "tests" / "live"))

from isolation import die_with_parent, run_isolated  # noqa: E402  pylint: disable=wrong-import-position
from network import Namespaces  # noqa: E402  pylint: disable=wrong-import-position
from harness import PATIENCE, Client, Gone, Refused  # noqa: E402  pylint: disable=wrong-import-position

KINDS = ("kill", "stop", "cut")
AFTER_PEACE = 2  # faults of each kind
EDGE = 10  # the first so many and the last so many are compared
WANTED = {"median_ms": 350, "most_ms": 1000}
GET_FLAGS, SET_FLAGS, UP = 0x8913, 0x8914, 1  # of a network interface


def switch(interface, up):
    """By one system call: a command would take longer than what is measured."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        name = interface.encode()
        flags = struct.unpack("16xH22x", fcntl.ioctl(any_socket, GET_FLAGS, struct.pack("16s24x", name)))[0]
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sH22x", name, flags | UP if up else flags & ~UP))


class LongLived:
    """Three nodes or more, each in its namespace; clients come by Unix sockets, which no cut reaches."""

    def __init__(self, count, settings):
        self.count, self.settings = count, settings
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="conclave-failover-"))
        self.network = Namespaces(count)
        self.processes = {}

    def __enter__(self):
        members = "".join(f"{node} = {self.network.host(node)}:7800\n" for node in self.nodes())
        for node in self.nodes():
            (self.directory / f"node{node}.conf").write_text(
                f"[node]\nid = {node}\nlisten = {self.address(node)}\ndirectory = {self.directory}/node{node}\n"
                f"[security]\nplaintext = yes\n[members]\n{members}", encoding="utf-8")
            self.start(node)
        self.await_whole()
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            process.kill()
            process.wait()
        self.network.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def nodes(self):
        return range(1, self.count + 1)

    def address(self, node):
        return f"{self.directory}/node{node}.sock"

    def start(self, node):
        with open(self.directory / f"node{node}.log", "ab") as log:
            self.processes[node] = subprocess.Popen(
                [*self.network.prefix(node), os.environ["CONCLAVE"], "node", "--config",
                 f"{self.directory}/node{node}.conf", *self.settings], stdout=log, stderr=log,
                preexec_fn=die_with_parent)

    def strike(self, kind, node):
        if kind == "kill":
            self.processes[node].kill()
        elif kind == "stop":
            self.processes[node].send_signal(signal.SIGSTOP)
        else:
            switch(f"n{node}-0", up=False)  # its end at the bridge

    def mend(self, kind, node):
        if kind == "kill":
            self.processes[node].wait()
            self.start(node)
        elif kind == "stop":
            self.processes[node].send_signal(signal.SIGCONT)
        else:
            switch(f"n{node}-0", up=True)

    def view(self, node):
        client = Client(self.address(node))
        try:
            return client.ask("VIEW")
        finally:
            client.close()

    def await_whole(self):
        """Until all are in one view."""
        end = time.monotonic() + PATIENCE
        views = []
        while time.monotonic() < end:
            try:
                views = [self.view(node) for node in self.nodes()]
            except (OSError, Gone):
                time.sleep(0.02)
                continue
            if (len({view["epoch"] for view in views}) == 1 and views[0]["coordinator"] in self.nodes() and all(
                    member["state"] != "suspected" for view in views for member in view["members"])):
                return
            time.sleep(0.02)
        raise AssertionError(f"no common view: {views}")

    def coordinate(self, node):
        client = Client(self.address(node))
        while client.ask("VIEW")["coordinator"] != node:
            try:
                client.ask("STEPDOWN", node)
            except Refused:
                pass
            time.sleep(0.05)
        client.close()

    def patience_ms(self):
        """The longest silence that any node allows another."""
        longest = 0
        for node in self.nodes():
            client = Client(self.address(node))
            facts = dict(line.split(":", 1) for line in client.ask("INFO", "detector").split("\r\n") if ":" in line)
            longest = max([longest, *(int(value) for key, value in facts.items() if key.startswith("timeout_ms_of"))])
            client.close()
        return longest


def one_fault(cluster, kind, dice):
    """Milliseconds until the next grant."""
    victim = dice.choice(list(cluster.nodes()))
    cluster.await_whole()
    cluster.coordinate(victim)
    client = Client(cluster.address(dice.choice([node for node in cluster.nodes() if node != victim])))
    client.ask("UNLOCK", "before", client.ask("LOCK", "before"))
    time.sleep(dice.uniform(0.3, 0.5))
    begun = time.perf_counter()
    cluster.strike(kind, victim)
    while True:
        try:
            fence = client.ask("LOCK", "after")
            break
        except Refused:  # no majority for a moment: it counts, too
            time.sleep(0.001)
    took = (time.perf_counter() - begun) * 1000
    client.ask("UNLOCK", "after", fence)
    client.close()
    time.sleep(dice.uniform(0, 1))  # the fault lasts on for a while
    cluster.mend(kind, victim)
    return took


def summary(kind, times):
    return {"fault": kind, "faults": len(times), "median_ms": round(statistics.median(times), 1),
            "most_ms": round(max(times), 1), "first_ms": round(statistics.median(times[:EDGE]), 1),
            "last_ms": round(statistics.median(times[-EDGE:]), 1)}


def measure(options, settings):
    """What there is to report."""
    dice = random.Random(options.seed)
    kinds = [kind for kind in options.kinds.split(",") if kind]
    took, after, every = {kind: [] for kind in kinds}, {kind: [] for kind in kinds}, []
    with LongLived(options.nodes, settings) as cluster:
        patience = {"begin": cluster.patience_ms()}
        for number in range(options.faults):
            kind = kinds[number % len(kinds)]
            every.append(one_fault(cluster, kind, dice))
            took[kind].append(every[-1])
            if sys.stderr.isatty():
                print(f"\r\033[K{number + 1} of {options.faults}: {kind}, {took[kind][-1]:.0f} ms", end="",
                      file=sys.stderr, flush=True)
        cluster.await_whole()
        patience["end"] = cluster.patience_ms()
        time.sleep(options.peace)
        patience["after peace"] = cluster.patience_ms()
        for kind in kinds * AFTER_PEACE:
            after[kind].append(one_fault(cluster, kind, dice))
    return {"schema": 1, "nodes": options.nodes, "seed": options.seed, "peace_s": options.peace,
            "rows": [summary(kind, times) for kind, times in took.items()] + [summary("all", every)],
            "after_peace": [summary(kind, times) for kind, times in after.items()], "patience_ms": patience,
            "wanted": WANTED}


def show(report):
    print(f"{report['nodes']} nodes, one cluster, seed {report['seed']}, load {report['load']:.1f} before and "
          f"{report['load_after']:.1f} after; milliseconds until the next grant\n")
    print(f"{'':14}{'faults':>8}{'median':>10}{'most':>10}{'first ' + str(EDGE):>10}{'last ' + str(EDGE):>10}")
    for row in report["rows"]:
        missed = [name for name, limit in report["wanted"].items() if row[name] > limit]
        print(f"{row['fault']:14}{row['faults']:8}{row['median_ms']:10,.1f}{row['most_ms']:10,.1f}"
              f"{row['first_ms']:10,.1f}{row['last_ms']:10,.1f}{'  missed' if missed else ''}")
    print(f"\nafter {report['peace_s']:g} s without faults")
    for row in report["after_peace"]:
        print(f"{row['fault']:14}{row['faults']:8}{row['median_ms']:10,.1f}{row['most_ms']:10,.1f}")
    patience = report["patience_ms"]
    print(f"\nthe longest silence allowed to a peer: {patience['begin']} ms at the beginning, {patience['end']} after the "
          f"faults, {patience['after peace']} after the peace")
    print("wanted: median <= {median_ms}, most <= {most_ms}".format(**report["wanted"]))


def run(options, settings, tell):
    """In namespaces of its own, where that is possible; otherwise nothing can be cut."""
    def main(isolated):
        if not isolated:
            print("failover.py: --long-lived: expected network namespaces, which take root or user namespaces",
                  file=sys.stderr)
            return 2
        load = os.getloadavg()[0]
        report = measure(options, settings)
        tell(report | {"load": round(load, 2), "load_after": round(os.getloadavg()[0], 2)})
        return 0
    return run_isolated(main)
