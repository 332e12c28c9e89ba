#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The same seed and options print the same bytes: in another process, at other addresses, in another environment.

Also keeps the results of some runs, as hashes in determinism.txt, so that an unintended change of results shows. --fix writes
that file anew, after an intended change."""

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CONCLAVE = os.environ.get("CONCLAVE", str(HERE.parent / "build" / "conclave"))
PINS = HERE / "determinism.txt"

ALGORITHMS = ["bully", "ring-list", "ring-basic", "chang-roberts", "chang-roberts-token", "franklin", "peterson",
              "multicast", "multicast-lean", "wireless"]

WORLDS = [
    "-n 9 --ids random --start all",
    "-n 9 --ids random --delay 1..9 --seed 7",
    "-n 7 --delay exp:4 --attr 3,1,3,2,2,3,0 --seed 12345678901234567890",
    "-n 6 --start all --loss 0.3 --duplicate 0.3 --reorder --delay 1..4 --seed 3",
    "-n 8 --crash 8@0 --crash 3@4 --delay 1..3 --seed 9",
    "-n 8 --start 2,5 --crash 7@2 --recover 7@30 --partition 1,2,3/4,5,6,7,8@5..25 --delay 1..6 --until 2000",
]

SYNCHRONIZERS = ["abd", "alpha", "beta", "gamma", "bellman-ford-async"]

ROUND_WORLDS = [
    "-n 9 --ids random --delay 1..9 --seed 7",
    "-n 7 --graph geometric:0.5 --delay exp:4 --seed 12345678901234567890",
    "-n 6 --loss 0.3 --duplicate 0.3 --reorder --delay 1..4 --seed 3",
    "--graph gadget:4",
]

LARGE = ["chang-roberts -n 20000 --ids random --start all", "peterson -n 5000 --ids random --start all --delay 1..1024",
         "wireless -n 2000 --graph geometric:0.05 --start 5", "franklin -n 3000 --ids random --delay exp:100",
         "alpha --app bfs-tree -n 5000 --graph random:20000 --set rounds=15 --delay 1..50",
         "gamma --app flood-max -n 2000 --graph geometric:0.06 --set rounds=10 --set clusters=3"]

failures = []


def fail(what):
    failures.append(what)
    print(f"FAILED: {what}")


def run(line, *extra, environment=None, before=()):
    done = subprocess.run([*before, CONCLAVE, "sim", *line.split(), *extra], capture_output=True, check=False,
                          env={**os.environ, **(environment or {})})
    if done.returncode not in (0, 1, 2) or not done.stdout:
        fail(f"{line}: exit code {done.returncode}, {done.stderr.decode().strip()}")
    return done.stdout


def outputs(line, directory, number, **more):
    """Every byte a run writes."""
    names = [directory / f"{number}{suffix}" for suffix in (".jsonl", ".svg", ".shiviz")]
    written = [run(line, "--json", "--trace", str(names[0]), "--svg", str(names[1]), "--shiviz", str(names[2]), **more)]
    written[0] = written[0].replace(f"/{number}.".encode(), b"/N.")  # the command that repeats it names the files
    for name in names:
        written.append(name.read_bytes())
        name.unlink()
    written.append(run(line, "--transcript", "--diagram", **more))
    return written


def without_aslr():
    """The words before a command that give it the same addresses every time; none if that is not allowed."""
    command = ["setarch", "-R"]
    try:
        allowed = subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        allowed = False
    return command if allowed else []


def check_bytes(line, directory, fixed):
    one = outputs(line, directory, 1, environment={"MALLOC_PERTURB_": "85"})
    other = outputs(line, directory, 2, environment={"MALLOC_PERTURB_": "170", "PADDING": "x" * 5000, "TZ": "Asia/Tokyo"},
                    before=fixed)
    for what, first, second in zip(("JSON", "trace", "SVG", "ShiViz", "text"), one, other):
        if first != second:
            fail(f"{line}: {what} differs from one process to the next")


def digest(line):
    """The hash of a run's results, without its wording."""
    result = json.loads(run(line, "--json"))
    kept = {key: result[key] for key in ("verdict", "leader", "elected", "messages", "time", "decided")}
    kept.update({key: result[key] for key in ("preparing", "rounds", "distances") if key in result})
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def check_pins(lines, rewrite):
    if rewrite:
        PINS.write_text("".join(f"{digest(line)}  {line}\n" for line in lines), encoding="utf-8")
        return
    pinned = dict(reversed(line.split("  ", 1)) for line in PINS.read_text(encoding="utf-8").splitlines())
    for line in lines:
        if pinned.get(line) != digest(line):
            fail(f"conclave sim {line}: other results than before; if that was meant, tests/determinism.py --fix")
    if set(pinned) != set(lines):
        fail(f"{PINS.name} and this test differ in their runs; tests/determinism.py --fix")


def check_seeds():
    """Another seed, another run."""
    for line in ("bully -n 9 --delay 1..9", "chang-roberts -n 20 --ids random --start all", "wireless -n 30",
                 "gamma -n 30 --app flood-max --delay 1..9"):
        results = {digest(f"{line} --seed {seed}") for seed in range(8)}
        if len(results) < 4:
            fail(f"{line}: 8 seeds give only {len(results)} different runs")


def main(arguments):
    lines = [f"{algorithm} {world}" for algorithm in ALGORITHMS for world in WORLDS]
    lines += [f"{algorithm} {world}" for algorithm in SYNCHRONIZERS for world in ROUND_WORLDS]
    fixed = without_aslr()
    with tempfile.TemporaryDirectory() as name:
        for number, line in enumerate(lines):
            if number % 2 == 0 or "--partition" in line:
                check_bytes(line, pathlib.Path(name), fixed)
    for line in LARGE[:2]:
        if run(line, "--json") != run(line, "--json", before=fixed):
            fail(f"{line}: JSON differs from one process to the next")
    for line in lines[:12]:
        if run(line, "--runs", "20", "--json") != run(line, "--runs", "20", "--json", before=fixed):
            fail(f"{line} --runs 20: differs from one process to the next")
    check_seeds()
    check_pins(lines + LARGE, "--fix" in arguments)
    print(f"{len(lines)} runs, {len(failures)} surprises")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
