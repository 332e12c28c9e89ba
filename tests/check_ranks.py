#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`mpirun -n K conclave check` prints what `conclave check` prints, whatever K is: counts, verdicts and counterexamples.

usage: check_ranks.py [--brief]   exit 77, which Meson calls skipped, if there is no MPI"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(SOURCE / "tests"))
from support import mpi  # noqa: E402  pylint: disable=wrong-import-position

CONCLAVE = os.path.abspath(os.environ.get("CONCLAVE", str(SOURCE / "build" / "conclave")))
PATIENCE = 600
SKIPPED = 77

# Whole searches, reductions that learn and repeat, symmetry, orders of requests, arrangements, faults, messages without
# order, bounded delays, synchronizers, 128 bits, nodes whose progress says who owns a state; violations in a step, at an
# end and without end.
CHECKS = [
    "bully -n 4",
    "bully -n 4 --no-reduction",
    "ring-list -n 4",
    "wireless -n 3 --graph ring --crashes 1",
    "multicast -n 3 --crashes 2 --fingerprints 128",
    "central-deny -n 4 --entries 2",
    "ricart-agrawala -n 3 --entries 2",
    "lamport -n 3",
    "maekawa -n 3",
    "token-ring -n 3",
    "chang-roberts -n 3 --crashes 1 --unordered",
    "alpha -n 3 --graph ring --app bfs-tree",
    "maekawa-plain -n 3",
    "maekawa-plain -n 3 --no-reduction",
    "bully -n 3 --timeouts any",
    "bully -n 3 --delay 3",
    "bully -n 3 --cuts 1",
    "ricart-agrawala -n 3 --crashes 1",
    "lamport -n 2 --unordered --property exclusion",
    "ring-basic -n 3 --crashes 1 --missed 1 --property comes-to-rest",
    "bully -n 3 --depth 5",
    "ring-list -n 5",
    "peterson -n 4 --crashes 1",
    "central -n 4 --entries 2 --no-reduction",
    "central -n 4 --crashes 1 --no-reduction",
]
BRIEF = [0, 5, 12, 18, 23, 24]
# The first rank searches alone, and says so.
ALONE = {
    "bully -n 3 --depth-first": "--depth-first goes on from its newest state",
    "bully -n 3 --threads 2": "--threads is for one rank; more ranks do the same",
}
# Ways of searching that change nothing: with files, and with checkpoints as often as possible, in the middle of levels, too.
WAYS = {"--disk .": [1, 5, 8, 10, 12, 13, 17, 19, 20], "--checkpoint file --every 1ms": [1, 2, 6, 7, 8, 12, 17, 20], "--disk . --checkpoint file --every 1ms": [0, 3, 14, 16]}


def without_cost(text):
    """What a check found. The lines about time, memory and files differ from run to run."""
    return "".join(line + "\n" for line in text.splitlines() if not re.match(r"cost |disk ", line))


def roughly(result):
    """The same of a check with --disk and --json, which may tell another one of the shortest counterexamples."""
    code, out, errors = result
    found = json.loads(out)
    for name in ("seconds", "bytes", "disk_bytes"):
        del found[name]
    for finding in found["properties"]:
        del finding["detail"]
    found["counterexample"] = found["counterexample"] and len(found["counterexample"])
    return code, found, errors


def ours(errors):
    """What conclave itself says; mpirun has its own to say about exit codes."""
    return "".join(line + "\n" for line in errors.splitlines() if line.startswith("conclave: "))


def alone(options, directory):
    done = subprocess.run([CONCLAVE, "check", *options.split()], text=True, capture_output=True, check=False, cwd=directory,
                          timeout=PATIENCE)
    return done.returncode, without_cost(done.stdout), done.stderr


def by_ranks(ranks, options, directory):
    process = mpi.start(ranks, CONCLAVE, "check", *options.split(), cwd=directory)
    out, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, without_cost(out), ours(errors)


def main():
    if mpi.missing(CONCLAVE):
        return SKIPPED
    brief = "--brief" in sys.argv
    failures = 0
    with tempfile.TemporaryDirectory() as directory:
        for number, options in enumerate(CHECKS):
            if brief and number not in BRIEF:
                continue
            expected = alone(options, directory)
            assert expected[0] in (0, 1, 2) and "states " in expected[1], (options, expected)
            for ranks in (1, 2, 3, 4) if number in (0, 12, 23) else (2 + number % 2,):
                seen = by_ranks(ranks, options, directory)
                if seen != expected:
                    failures += 1
                    print(f"FAILED: mpirun -n {ranks} conclave check {options}\n{expected}\n{seen}")
        for way, numbers in WAYS.items():
            for number in numbers[:1] if brief else numbers:
                options = f"{CHECKS[number]} {way}" + (" --json" if "--disk" in way else "")
                expected, seen = alone(options, directory), by_ranks(2 + number % 2, options, directory)
                same = roughly(seen) == roughly(expected) if "--disk" in way else seen == expected
                if not same:
                    failures += 1
                    print(f"FAILED: mpirun -n {2 + number % 2} conclave check {options}\n{expected}\n{seen}")
        for place in ("missing", "."):
            options = f"bully -n 3 --disk {place}"
            if by_ranks(2, options, directory)[::2] != alone(options, directory)[::2]:
                failures += 1
                print(f"FAILED: mpirun -n 2 conclave check {options}: {by_ranks(2, options, directory)}")
        for options, reason in ALONE.items():
            code, out, errors = by_ranks(2, options, directory)
            wanted = alone(options, directory)
            if (code, out, errors) != (*wanted[:2], f"conclave: the first rank searches alone: {reason}\n"):
                failures += 1
                print(f"FAILED: mpirun -n 2 conclave check {options}\n{wanted}\n{(code, out, errors)}")
        code, out, errors = by_ranks(2, "bully -n 99", directory)
        if (code, out, errors.count("\n")) != (2, "", 1) or "--nodes 99: expected at most" not in errors:
            failures += 1
            print(f"FAILED: wrong usage: {(code, out, errors)}")
    print(f"{failures} failures")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
