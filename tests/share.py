#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One run, shared out among threads and ranks: the same bytes as by one of them.

usage: share.py [--mpi] [--random COUNT] [--seed S]   by threads, or by the ranks of mpirun: exit 77, which Meson calls
                                                      skipped, if there is no MPI"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys

SOURCE = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(SOURCE / "tests"))
from support import mpi  # noqa: E402  pylint: disable=wrong-import-position

CONCLAVE = os.path.abspath(os.environ.get("CONCLAVE", str(SOURCE / "build" / "conclave")))
PATIENCE = 600
SKIPPED = 77
ALONE = "conclave: one thread of one rank plays this run: "

failures = []

# Runs that are shared, of every algorithm and shape: rings, graphs, groups in which everybody talks to everybody.
SHARED = """
chang-roberts -n 700 --ids random --start all
chang-roberts -n 300 --ids random --start all --delay 1..20
chang-roberts -n 300 --ids random --start all --delay exp:7
chang-roberts -n 300 --ids random --start all --until 400
chang-roberts-token -n 300 --ids random --start 1,2,3,99
franklin -n 700 --ids random --start all
franklin -n 300 --ids random --start all --delay 3..20
peterson -n 300 --ids random --start all --delay 1..3
ring-basic -n 300 --ids random
ring-list -n 300 --ids random --start all --set announce=multicast
bully -n 300 --start 1,7,100
multicast-lean -n 300 --delay 1..3
wireless -n 400
wireless -n 400 --graph geometric:0.1 --delay 1..9
flood-max -n 600 --set rounds=20
flood-max -n 400 --graph grid:20x20 --set rounds=70
flood-max -n 400 --set rounds=70
alpha --app flood-max -n 300 --set rounds=9
beta --app bellman-ford -n 300 --set rounds=9
gamma --app bellman-ford -n 300 --set rounds=9 --delay 1..5
abd --app bellman-ford -n 300 --set rounds=9 --delay 1..5
bellman-ford-async -n 500 --delay 1..5
ricart-agrawala -n 300 --entries 2
ricart-agrawala -n 300 --request 5@0,3@0,7@9,3@12+4
lamport -n 300 --delay 1..4
central -n 300 --entries 2 --think 3
maekawa -n 300
voting -n 300 --request 1@0,2@3,300@5
"""

# Something is violated, and the report must say the same of it: the run is played again by one worker.
DOUBTFUL = ["abd --app bellman-ford -n 300 --set rounds=9 --delay 1..9 --set bound=3",
            "lockstep --app bellman-ford -n 300 --set rounds=9 --delay 1..3"]

# Runs that one worker plays, and what it says about it.
REFUSED = [("token-ring -n 300", "it ends with the last exit"),
           ("bully -n 300 --crash 300@5", "faults"),
           ("bully -n 20", None),
           ("chang-roberts -n 300 --loss 0.1", "faults")]


def expect(what, truth, shown=""):
    if not truth:
        failures.append(what)
        print(f"FAILED: {what}\n{str(shown)[:2000]}")


def run(*words):
    done = subprocess.run([CONCLAVE, "sim", *words], capture_output=True, text=True, check=False, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def run_ranks(ranks, *words):
    process = mpi.start(ranks, CONCLAVE, "sim", *words)
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, "".join(line + "\n" for line in err.splitlines() if line.startswith("conclave: "))


def shared_by(ways, line):
    """Runs a line in every way: number of ranks (0: no mpirun) and of threads."""
    words = [*line.split(), "--json"]
    alone = run(*words)
    for ranks, threads in ways:
        more = [*words, "--threads", str(threads)] if threads > 1 else words
        seen = run_ranks(ranks, *more) if ranks else run(*more)
        what = f"conclave sim {line}: {ranks} ranks, {threads} threads"
        expect(f"{what}: the same", seen == alone, f"expected {alone[0]} {alone[1][:400]} {alone[2]}\nseen     {seen[0]} {seen[1][:400]} {seen[2]}")


def is_shared():
    """--timing tells of the shares: nobody may play it all alone."""
    for line in (line for line in SHARED.splitlines() if line and "multicast" not in line):
        code, out, err = run(*line.split(), "--json", "--timing", "--threads", "3")
        report = json.loads(out) if out else {}
        shares = report.get("shares", [])
        expect(f"{line}: three shares", len(shares) == 3 and sum(share["nodes"] for share in shares) == report["nodes"], (code, shares, err))
        counted = report.get("messages", {}).get("total", 0)
        expect(f"{line}: the shares add up", sum(share["messages"] for share in shares) >= counted, shares)


def refused(ways):
    for line, why in REFUSED:
        alone = run(*line.split(), "--json")
        for ranks, threads in ways:
            more = [*line.split(), "--json", *(["--threads", str(threads)] if threads > 1 else [])]
            code, out, err = run_ranks(ranks, *more) if ranks else run(*more)
            told = err.startswith(ALONE + why) if why else not err
            expect(f"{line}: the same, and a line says why nobody helped in a large group", (code, out) == alone[:2] and told, err)


def random_line(chance):
    """A run of some algorithm that is shared."""
    delay = chance.choice(["unit", "unit", f"1..{chance.randint(1, 40)}", f"{chance.randint(2, 5)}..9", f"exp:{chance.randint(1, 9)}"])
    nodes = chance.randint(257, 600)
    line = chance.choice(["chang-roberts --ids random --start all", "franklin --ids random --start all", "peterson --ids random --start all",
                          "chang-roberts --ids random", "franklin --ids random --start 1,5,9", "ring-list --ids random --start 3,9", "wireless",
                          "wireless --start 1,2,200", "alpha --app bfs-tree --set rounds=12", "beta --app flood-max --set rounds=7",
                          "gamma --app bellman-ford --set rounds=6", "bellman-ford-async", "lamport --request 1@0,9@1,200@2+9",
                          "central --entries 1", "maekawa --request 1@0,2@0,3@0,100@7", "voting --request 1@0,9@1,200@30",
                          "ricart-agrawala --request 1@0,9@1,200@2+9,9@3"])
    return f"{line} -n {nodes} --delay {delay} --seed {chance.randint(1, 10**9)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--mpi", action="store_true")
    parser.add_argument("--random", type=int, default=12, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.mpi and mpi.missing(CONCLAVE):
        print(f"skipped: {mpi.missing(CONCLAVE)}")
        sys.exit(SKIPPED)
    chance = random.Random(options.seed)
    lines = [line for line in SHARED.splitlines() if line] + DOUBTFUL + [random_line(chance) for _ in range(options.random)]
    if options.mpi:
        for number, line in enumerate(lines[::3]):
            shared_by([((2, 1), (3, 1), (4, 1), (2, 2))[number % 4]], line)
        refused([(2, 1)])
    else:
        for line in lines:
            shared_by([(0, 2), (0, 3), (0, 7)], line)
        is_shared()
        refused([(0, 2)])
    print(f"{len(lines)} runs, {len(failures)} differences")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
