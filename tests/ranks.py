#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ranks in trouble: started with other words than the first, on a machine without memory to share, or out of each other's sight. Exit
77, which Meson calls skipped, if there is no MPI."""

import os
import pathlib
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(SOURCE / "tests"))
from support import mpi  # noqa: E402  pylint: disable=wrong-import-position

CONCLAVE = os.path.abspath(os.environ.get("CONCLAVE", str(SOURCE / "build" / "conclave")))
PATIENCE = 90
SKIPPED = 77
wrong = []


def expect(what, seen, wanted):
    if seen != wanted:
        wrong.append(what)
        print(f"{what}: {seen!r}, not {wanted!r}")


def run(*words):
    """(exit code, standard output, conclave's own lines on standard error); None: it did not end."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
                               env={**os.environ, **mpi.ENVIRONMENT, "ASAN_OPTIONS": "detect_leaks=0"}, start_new_session=True)
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        for pid in (*mpi.ranks_of(process.pid).values(), process.pid):
            os.kill(pid, 9)
        process.communicate()
        return None
    return process.returncode, out, [line for line in err.splitlines() if line.startswith("conclave: ")]


def job(*lines):
    """mpirun, with a command line for each rank."""
    words = [mpi.MPIRUN]
    for i, line in enumerate(lines):
        words += ([":"] if i else []) + ["-n", "1", *line]
    return words


def sim(line, *before):
    return [*before, CONCLAVE, *line.split()]


def check_words():
    """All ranks have the same work, or none begins: one would wait for what the other never sends, or mix two runs."""
    for first, second in (("sim bully -n 300", "sim bully -n 301"), ("check bully -n 3", "check bully -n 4"), ("sim bully -n 9", "check bully -n 3"),
                          ("sim bully -n 300", "sim bully -n 300 --threads 3"), ("sim bully -n 9 --runs 30", "sim bully -n 9"),
                          ("sim franklin -n 30 --seed 1", "sim franklin -n 30 --seed 2"), ("compare", "sim bully -n 9"), ("run bully -n 3", "sim bully -n 3")):
        expect(f"{first} : {second}", run(*job(sim(first), sim(first), sim(second))),
               (2, "", ["conclave: rank 2 has another command line than rank 0; expected the same words for all ranks"]))
    done = run(*job(*(sim("sim bully -n 9"),) * 3))
    expect("the same words", done and (done[0], len(done[2])), (0, 0))


def check_memory():
    """Ranks of one machine share memory where they can. Nothing depends on it."""
    line = "sim franklin -n 3000 --ids random --start all"
    alone = run(CONCLAVE, *line.split())
    expect("side by side", run(*job(*(sim(line),) * 3)), alone)
    if mpi.is_mpich():
        print("no memory, and out of sight: skipped, as MPICH itself needs them")
        return
    apart = ("unshare", "--pid", "--fork", "--mount-proc")
    if subprocess.run([*apart, "true"], capture_output=True, check=False).returncode:
        print("a rank that sees no other process: skipped, as nobody may make a namespace here")
        return
    expect("a rank that sees no other process", run(*job(sim(line), sim(line), sim(line, *apart))), alone)
    full = "mount -t tmpfs -o size=1m none /dev/shm && { cat /dev/zero >/dev/shm/full 2>/dev/null; exec \"$@\"; }"
    words = ["unshare", "--mount", "sh", "-c", full, "sh", *job(*(sim(line),) * 3)]
    expect("/dev/shm is full", run(*words), alone)


def main():
    missing = mpi.missing(CONCLAVE)
    if missing or not shutil.which("unshare"):
        print(f"skipped: {missing or 'no unshare'}")
        return SKIPPED
    check_words()
    check_memory()
    print(f"ranks: {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
