#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How fast live locks are, beside Redis and etcd where they are installed. bench/README.md explains the figures.

usage: bench/live/bench.py [--quick] [--json] [--repeat R] [--seconds S] [--share]

Starts every server itself, on ports of its own, in a temporary directory. Nothing here is a test: slow figures fail
nothing; a lock held twice, or an answer that is none, does.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = str(pathlib.Path(os.environ.get("CONCLAVE", ROOT / "build" / "conclave")).resolve())
SOURCES = [str(ROOT / "bench" / "live" / name) for name in ("client.c", "protocols.c", "recipes.c")]
CORES = sorted(os.sched_getaffinity(0))
RECIPES = [("permits", 16, "one"), ("all", 16, "own"), ("permits", 3, "one"), ("all", 16, "ring")]
TITLES = {"permits": "a semaphore of 3", "all": "3 names at once"}


def free_ports(count):
    """Ports that were free a moment ago."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def answers(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
        return True
    return False


class Service:
    """Servers of one kind: their processes, and where clients find them."""

    def __init__(self, label, protocol, commands, ports, directory, ready=None):
        self.label, self.protocol = label, protocol
        self.addresses = [f"127.0.0.1:{port}" for port in ports]
        self.log = open(directory / f"{label.replace(' ', '-')}.log", "w+", encoding="utf-8")
        self.processes = [subprocess.Popen(command, stdout=self.log, stderr=self.log, cwd=directory) for command in commands]
        end = time.monotonic() + 20
        while not (all(map(answers, ports)) and (not ready or ready(self))):
            if time.monotonic() > end or any(process.poll() is not None for process in self.processes):
                self.stop()
                raise SystemExit(f"{label} does not start; its log: {self.log.name}")
            time.sleep(0.05)

    def stop(self):
        for process in self.processes:
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def pids(self):
        """The servers' processes, and theirs."""
        found = [process.pid for process in self.processes]
        for pid in found:
            with contextlib.suppress(OSError):
                for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
                    found += map(int, (task / "children").read_text(encoding="utf-8").split())
        return found

    def cpu_seconds(self):
        """What the servers have computed so far: unlike wall time, it hardly depends on who else computes."""
        total = 0
        for pid in self.pids():
            with contextlib.suppress(OSError):
                for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
                    total += int((task / "schedstat").read_text(encoding="utf-8").split()[0])
        return total / 1e9

    def pin(self, cores):
        for pid in self.pids():
            subprocess.run(["taskset", "-apc", ",".join(map(str, cores)), str(pid)], stdout=subprocess.DEVNULL, check=False)


# ---- services ----


def conclave_one(directory):
    port, = free_ports(1)
    return Service("conclave", "conclave", [[PROGRAM, "node", "--listen", f"127.0.0.1:{port}"]], [port], directory)


def conclave_three(directory, group):
    first = next(port for port in range(17700, 60000, 10) if not any(answers(port + i) for i in range(3)))
    command = [PROGRAM, "cluster", "3", "--port", str(first), "--algorithm", "central", "--group", group, "--dir",
               str(directory / f"cluster-{group}")]

    def ready(service):
        service.log.flush()
        return pathlib.Path(service.log.name).read_text(encoding="utf-8").strip() != ""
    return Service(f"conclave, 3 {group}", "conclave", [command], [first, first + 1, first + 2], directory, ready)


def redis_one(directory):
    port, = free_ports(1)
    command = ["redis-server", "--port", str(port), "--save", "", "--appendonly", "no", "--dir", str(directory)]
    return Service("Redis", "redis", [command], [port], directory)


def etcd(directory, count):
    ports = free_ports(2 * count)
    clients, peers = ports[:count], ports[count:]
    cluster = ",".join(f"n{i}=http://127.0.0.1:{peer}" for i, peer in enumerate(peers))
    commands = [["etcd", "--name", f"n{i}", "--data-dir", str(directory / f"etcd{count}-{i}"), "--log-level", "error",
                 "--listen-client-urls", f"http://127.0.0.1:{client}", "--advertise-client-urls", f"http://127.0.0.1:{client}",
                 "--listen-peer-urls", f"http://127.0.0.1:{peer}", "--initial-advertise-peer-urls",
                 f"http://127.0.0.1:{peer}", "--initial-cluster", cluster]
                for i, (client, peer) in enumerate(zip(clients, peers))]

    def ready(service):
        done = subprocess.run(["etcdctl", "--endpoints", service.addresses[0], "put", "x", "y"], capture_output=True,
                              env={**os.environ, "ETCDCTL_API": "3"}, check=False)
        return done.returncode == 0
    label = "etcd" if count == 1 else f"etcd, {count} nodes"
    return Service(label, "etcd", commands, clients, directory, ready)


# ---- measuring ----


class Case:
    """One line of the table: a service under a load, and what each repetition measured."""

    def __init__(self, service, connections, name, recipe=""):
        self.service, self.connections, self.name = service, connections, name  # name: own, one or ring
        self.recipe = recipe  # of locks: permits or all
        self.results = []

    def measure(self, client, seconds, pinned):
        prefix = ["taskset", "-c", str(CORES[-1])] if pinned else []
        before = self.service.cpu_seconds()
        done = subprocess.run([*prefix, client, "-".join(filter(None, (self.service.protocol, self.recipe))), str(self.connections), str(seconds), self.name,
                               *self.service.addresses], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{self.service.label}, {self.connections} clients, {self.recipe} {self.name}: {done.stderr.strip()}")
        result = json.loads(done.stdout)
        result["cpu_us"] = (self.service.cpu_seconds() - before) / result["all_cycles"] * 1e6
        self.results.append(result)

    def median(self, key):
        return statistics.median(result[key] for result in self.results)

    def row(self):
        return {"service": self.service.label, "connections": self.connections, "lock": self.name, "recipe": self.recipe,
                **{key: self.median(key) for key in ("cycles_per_second", "p50_us", "p99_us", "cpu_us")}}


def measure_all(cases, client, options):
    pinned = not options.share and len(CORES) > 1
    for case in cases:
        case.service.pin(CORES[:-1] if pinned else CORES)
    for repetition in range(options.repeat):
        for case in cases:
            if sys.stderr.isatty():
                print(f"\r\033[K{repetition + 1} of {options.repeat}: {case.service.label}, {case.connections} clients",
                      end="", file=sys.stderr, flush=True)
            case.measure(client, options.seconds, pinned)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def measure_starts(commands, repeat):
    """Milliseconds that each command takes, the median; they alternate."""
    took = {label: [] for label in commands}
    for _ in range(repeat):
        for label, (command, environment) in commands.items():
            began = time.perf_counter()
            subprocess.run(command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, check=True)
            took[label].append((time.perf_counter() - began) * 1000)
    return {label: statistics.median(times) for label, times in took.items()}


class Ratios:
    """What the project wants to reach, as ratios of figures from this run."""

    def __init__(self):
        self.lines = []

    def add(self, what, value, relation, target, unit=""):
        good = value >= target if relation == ">=" else value <= target
        self.lines.append({"what": what, "value": round(value, 3), "relation": relation, "target": target, "reached": good,
                           "unit": unit})


def recipe_cases(services, options):
    """The recipes at each of the services, in turn."""
    return [Case(service, count, name, recipe) for recipe, count, name in RECIPES[:options.recipes] for service in services]


def compare_recipes(cases, mine, theirs, whose, ratios, wanted):
    """How many times as many cycles as the other service, whose name is `whose`, and how much computing for each."""
    for recipe, count, name in RECIPES:
        pair = [[case for case in cases if (case.service, case.recipe, case.connections, case.name) ==
                 (service, recipe, count, name)] for service in (mine, theirs)]
        if all(pair):
            (ours,), (other,) = pair
            title = ("three nodes: " if whose == "etcd" else "") + TITLES[recipe] + (" on a ring" if name == "ring" else "")
            ratios.add(f"{title}, {count} clients, over {whose}'s",
                       ours.median("cycles_per_second") / other.median("cycles_per_second"), ">=", wanted)
            ratios.add("  computing per cycle", ours.median("cpu_us") / other.median("cpu_us"), "<=", 1)


def one_node(directory, client, options, ratios):
    services = [conclave_one(directory)]
    if shutil.which("redis-server"):
        services.append(redis_one(directory))
    try:
        cases = [Case(service, count, "own") for count in (1, 16, 64) for service in services]
        cases.append(Case(services[0], 16, "one"))
        cases += recipe_cases(services, options)
        measure_all(cases, client, options)
        found = {(case.service.label, case.connections, case.name): case for case in cases if not case.recipe}
        if len(services) > 1:
            mine, theirs = found["conclave", 64, "own"], found["Redis", 64, "own"]
            ratios.add("cycles/s with 64 clients, over Redis's", mine.median("cycles_per_second") /
                       theirs.median("cycles_per_second"), ">=", 1)
            ratios.add("computing per cycle with 64 clients, over Redis's", mine.median("cpu_us") / theirs.median("cpu_us"), "<=", 1)
            mine, theirs = found["conclave", 1, "own"], found["Redis", 1, "own"]
            ratios.add("p50 with 1 client, over Redis's", mine.median("p50_us") / theirs.median("p50_us"), "<=", 1.1)
            compare_recipes(cases, *services, "Redis", ratios, 1)
        ratios.add("hand-offs of one lock among 16 clients", found["conclave", 16, "one"].median("cycles_per_second"), ">=",
                   10000, "/s")
        return [case.row() for case in cases]
    finally:
        for service in services:
            service.stop()


def three_nodes(directory, client, options, ratios):
    services = [conclave_three(directory, "raft"), conclave_three(directory, "static")]
    if shutil.which("etcd") and shutil.which("etcdctl"):
        services.append(etcd(directory, 3))
    try:
        cases = [Case(service, count, "own") for count in (1, 64) for service in services]
        cases += [Case(service, 16, "one") for service in services]
        cases += recipe_cases([service for service in services if "static" not in service.label], options)
        measure_all(cases, client, options)
        found = {(case.service.label.split(" ")[-1] if case.service.protocol == "conclave" else "etcd", case.connections,
                  case.name): case for case in cases if not case.recipe}
        ratios.add("three nodes: cycles/s with 64 clients, raft over static", found["raft", 64, "own"].median("cycles_per_second") /
                   found["static", 64, "own"].median("cycles_per_second"), ">=", 0.9)
        ratios.add("three nodes: computing per cycle, raft over static", found["raft", 64, "own"].median("cpu_us") /
                   found["static", 64, "own"].median("cpu_us"), "<=", 1.1)
        if len(services) > 2:
            ratios.add("three nodes: cycles/s with 64 clients, over etcd's", found["raft", 64, "own"].median("cycles_per_second") /
                       found["etcd", 64, "own"].median("cycles_per_second"), ">=", 20)
            for count in (1, 64):
                ratios.add(f"three nodes: p50 with {count} client{'s' if count > 1 else ''}, over etcd's",
                           found["raft", count, "own"].median("p50_us") / found["etcd", count, "own"].median("p50_us"), "<=",
                           0.2)
            compare_recipes(cases, services[0], services[2], "etcd", ratios, 5)
        return [case.row() for case in cases]
    finally:
        for service in services:
            service.stop()


def starting(directory, options, ratios):
    services = [conclave_one(directory)]
    commands = {"conclave lock NAME -- true": ([PROGRAM, "lock", "name", "--", "true"],
                                               {"CONCLAVE_SERVER": services[0].addresses[0]}),
                "true": (["true"], {})}
    if shutil.which("etcd") and shutil.which("etcdctl"):
        services.append(etcd(directory, 1))
        commands["etcdctl lock NAME true"] = (["etcdctl", "--endpoints", services[1].addresses[0], "lock", "name", "true"],
                                              {"ETCDCTL_API": "3"})
    try:
        took = measure_starts(commands, 10 * options.repeat)
        ratios.add("conclave lock NAME -- true", took["conclave lock NAME -- true"], "<=", 5, " ms")
        return took
    finally:
        for service in services:
            service.stop()


# ---- telling ----


def show(rows, started, ratios):
    print(f"{'service':20}{'clients':>8}  {'lock':12}{'cycles/s':>10}{'p50 us':>9}{'p99 us':>9}{'cpu us':>9}")
    for row in rows:
        lock = " ".join(filter(None, (row["lock"], row["recipe"])))
        print(f"{row['service']:20}{row['connections']:8}  {lock:12}{row['cycles_per_second']:10,.0f}{row['p50_us']:9,.0f}"
              f"{row['p99_us']:9,.0f}{row['cpu_us']:9,.1f}")
    print()
    for label, took in started.items():
        print(f"{label:30}{took:8.1f} ms")
    print()
    for line in ratios.lines:
        print(f"{line['what']:62}{line['value']:10,.2f}{line['unit']:3}  wanted {line['relation']} {line['target']}"
              f"{line['unit']}{'' if line['reached'] else ', missed'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one short repetition")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.5, help="of each measurement")
    parser.add_argument("--share", action="store_true", help="client and servers on all cores, not the client on one of its own")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.quick:
        options.repeat, options.seconds = 1, 0.5
    options.recipes = 2 if options.quick else len(RECIPES)
    ratios = Ratios()
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        client = str(directory / "client")
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-std=c17", "-D_GNU_SOURCE", "-o", client, *SOURCES], check=True)
        load = os.getloadavg()[0]
        rows = one_node(directory, client, options, ratios) + three_nodes(directory, client, options, ratios)
        started = starting(directory, options, ratios)
    if options.json:
        print(json.dumps({"schema": 1, "cores": len(CORES), "shared": options.share, "load": load, "rows": rows, "start_ms": started,
                          "ratios": ratios.lines}))
        return 0
    arrangement = "shared by all" if options.share else "the last one the client's alone" if len(CORES) > 1 else "all on one"
    print(f"{len(CORES)} cores, {arrangement}; load {load:.1f} before; medians of {options.repeat} alternating repetitions of "
          f"{options.seconds} s\n")
    show(rows, started, ratios)
    for package, what in (("redis-server", "Redis"), ("etcd", "etcd")):
        if not shutil.which(package):
            print(f"\n{what} is not installed: nothing to compare with.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
