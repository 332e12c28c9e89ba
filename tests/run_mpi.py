#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mpirun conclave run: the ranks are the places where processes run; one report, printed once. Exit code 77, which Meson
calls skipped, if there is no MPI."""

import json
import os
import signal
import subprocess
import sys

from support import mpi
from support.experiments import CONCLAVE, ENVIRONMENT, PATIENCE, expect, ours, verdict, wait_until

SKIPPED = 77


def start(ranks, *words):
    return subprocess.Popen([mpi.MPIRUN, "-n", str(ranks), CONCLAVE, "run", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**ENVIRONMENT, **mpi.ENVIRONMENT}, stdin=subprocess.DEVNULL)


def run(ranks, *words):
    process = start(ranks, *words)
    out, err = process.communicate(timeout=PATIENCE * 4)
    return process.returncode, out, err


def main():
    missing = mpi.missing(CONCLAVE)
    if missing:
        print(f"skipped: {missing}")
        return SKIPPED
    code, out, err = run(3, "chang-roberts", "-n", "7", "--json")
    told = json.loads(out) if code == 0 else {}
    expect("three ranks, one report", code == 0 and told["leader"] == 7 and told["messages"]["total"] == 20, (out, err))
    code, out, err = run(2, "central", "-n", "4", "--entries", "2", "--hold", "10", "--crash", "4@50", "--detect", "10")
    expect("views", code == 0 and out.count("\nverdict") == 1 and "held" in out, (out, err))
    code, out, err = run(2, "bully", "-n", "x")
    ours_of = [line for line in err.splitlines() if line.startswith("conclave: ")]
    expect("bad input is told once", code == 2 and not out and len(ours_of) == 1 and "--nodes x" in ours_of[0], (code, out, err))
    code, out, err = run(1, "peterson", "-n", "4", "--json")
    expect("one rank", code == 0 and json.loads(out)["leader"] == 4, (out, err))
    process = start(2, "central", "-n", "3", "--request", "2@500000", "--until", "600000")
    wait_until("three nodes", lambda: sum("conclave run" in words for _, words in ours()) >= 3 + 3 + 1 or process.poll() is not None, ours)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=PATIENCE)
    wait_until("nothing outlives mpirun", lambda: not ours(), ours)
    for pid, _ in ours():
        os.kill(pid, signal.SIGKILL)
    return verdict()


if __name__ == "__main__":
    sys.exit(main())
