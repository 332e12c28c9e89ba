#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sweeps, `conclave sim --runs` and `conclave compare`, by several threads and by several ranks: the same bytes whatever their number.

usage: sweep.py [--mpi]   by threads, or by the ranks of mpirun: exit 77, which Meson calls skipped, if there is no MPI"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(SOURCE / "tests"))
from support import mpi  # noqa: E402  pylint: disable=wrong-import-position

CONCLAVE = os.path.abspath(os.environ.get("CONCLAVE", str(SOURCE / "build" / "conclave")))
BUILD = pathlib.Path(os.environ.get("CONCLAVE_BUILD", str(SOURCE / "build")))
PATIENCE = 600
SKIPPED = 77
EXAMPLE = (SOURCE / "examples" / "roll_call.c").read_text(encoding="utf-8")

failures = []


def expect(what, truth, shown=""):
    if not truth:
        failures.append(what)
        print(f"FAILED: {what}\n{str(shown)[:4000]}")


# ---- running ----


def run(*words, directory=None):
    done = subprocess.run([CONCLAVE, *words], capture_output=True, text=True, check=False, timeout=PATIENCE, stdin=subprocess.DEVNULL,
                          cwd=directory)
    return done.returncode, done.stdout, done.stderr


def run_ranks(directory, ranks, *words, program=CONCLAVE):
    process = mpi.start(ranks, program, *words, cwd=directory)
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, ours(err)


def ours(err):
    """What conclave itself says; mpirun has its own to say about exit codes."""
    return "".join(line + "\n" for line in err.splitlines() if line.startswith("conclave: "))


def without_launcher(out):
    """MPICH's mpiexec tells on standard output what it does with signals, and how ranks end."""
    return "".join(line + "\n" for line in out.splitlines() if line.startswith("{"))


def make_plugin(directory, name, find, replace):
    source, target = directory / f"{name}.c", directory / f"{name}.so"
    assert find in EXAMPLE
    source.write_text(EXAMPLE.replace(find, replace), encoding="utf-8")
    subprocess.run([os.environ.get("CC", "cc"), "-std=c17", "-O1", "-shared", "-fPIC", "-I", str(SOURCE / "include"), "-o", str(target),
                    str(source)], check=True)
    return f"./{target.name}"


# What is swept; every line with the exit code that it must have.
SWEEPS = [
    (0, "sim chang-roberts -n 60 --ids random --start all --delay 1..9 --runs 300 --seed 5"),
    (0, "sim bully -n 9 --crash 9@3 --delay 1..4 --runs 40 --json"),
    (1, "sim maekawa-plain -n 9 --delay 1..9 --runs 60"),
    (2, "sim bully -n 4 --until 2 --runs 20 --json"),
    (2, "sim wireless -n 9 --graph random:4 --runs 20"),
    (0, "sim alpha -n 12 --graph random:20 --runs 7"),
]
COMPARISONS = [
    (0, "compare mutex --nodes 4,9 --json"),
    (0, "compare election --nodes 3..5"),
    (0, "compare synchronizers --nodes 16 --csv"),
]


def same(what, expected, seen):
    expect(f"{what}: the same exit code, output and errors", seen == expected, f"expected {expected}\nseen     {seen}")


# ---- threads ----


def by_threads(directory):
    late = make_plugin(directory, "late", "    my->heard++;\n", "    my->heard++;\n    assert(cv_choose(me, 150));\n")
    own = make_plugin(directory, "own", "    my->heard++;\n", "    my->heard += 1;\n")
    sweeps = [*SWEEPS, *COMPARISONS, (1, f"sim {late} -n 4 --runs 200 --json"), (0, f"compare election --nodes 4,5 --with {own} --json")]
    for code, line in sweeps:
        words = line.split()
        expected = run(*words, directory=directory)
        expect(f"{line}: exit code {code}", expected[0] == code, expected)
        for threads in ("1", "2", "3", "4"):
            same(f"{line} --threads {threads}", expected, run(*words, "--threads", threads, directory=directory))
    runs = json.loads(run(*f"sim {late} -n 4 --runs 200 --json --threads 3".split(), directory=directory)[1])["runs"]
    expect("a handler that fails ends the sweep at the first such seed", 1 < runs < 200, runs)
    for words in (["sim", "bully", "--runs", "9"], ["compare", "mutex"]):
        for value in ("0", "x", "-1", "257", ""):
            code, out, err = run(*words, "--threads", value)
            expect(f"{words} --threads {value} is refused", code == 2 and not out and err.count("\n") == 1 and "--threads" in err, (code, out, err))
    one = run(*"sim bully -n 5 --diagram --threads 3".split())
    same("one run", run(*"sim bully -n 5 --diagram".split()), one)
    expect("the command that repeats a run names no threads", "--threads" not in one[1], one)


def interrupted(what, process, directory, total, *signals):
    """The table has the completed runs, from the first on, and says how many."""
    for number in signals:
        process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    out = without_launcher(out)
    said = re.findall(r"conclave: interrupted: (\d+) of (\d+) runs are in the table", err)
    expect(f"{what}: one line says how many runs there were", len(said) == 1 and said[0][1] == str(total), (process.returncode, out, err))
    if len(said) == 1:
        seen = json.loads(out)["runs"] if out else None
        again = run(*f"sim bully -n 8 --delay 1..9 --json --runs {said[0][0]}".split(), directory=directory)
        expect(f"{what}: the table is that of the first {said[0][0]} runs", out == again[1] and seen == int(said[0][0]), (out, again))


def wait_for_work(pid, seconds):
    """Till the process has used that much processor time."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
        if (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") >= seconds:
            return
        time.sleep(0.02)
    expect("the program works", False, pid)


ENDLESS = "sim bully -n 8 --delay 1..9 --json --runs 10000000".split()


def interrupt_threads(directory):
    for threads in ("1", "3"):
        with subprocess.Popen([CONCLAVE, *ENDLESS, "--threads", threads], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            wait_for_work(process.pid, 0.3)
            interrupted(f"{threads} threads", process, directory, 10000000, signal.SIGINT)
            expect("an interrupted sweep ends with 2", process.returncode == 2, process.returncode)


# ---- ranks ----


def by_ranks(directory):
    for code, line in [SWEEPS[0], SWEEPS[2], SWEEPS[4], COMPARISONS[0]]:
        expected = run(*line.split())
        for ranks in (2, 3, 4) if line == SWEEPS[0][1] else (3,):
            same(f"mpirun -n {ranks} conclave {line}", (code, *expected[1:]), run_ranks(directory, ranks, *line.split()))
    line = SWEEPS[1][1].split()
    same("ranks with threads", run(*line), run_ranks(directory, 2, *line, "--threads", "2"))
    same("one run under mpirun", run(*"sim bully -n 5 --diagram".split()), run_ranks(directory, 2, *"sim bully -n 5 --diagram".split()))
    same("bad input is told once", run(*"sim bully -n x".split()), run_ranks(directory, 3, *"sim bully -n x".split()))
    same("one rank", run(*SWEEPS[1][1].split()), run_ranks(directory, 1, *SWEEPS[1][1].split()))


def exchange_blocks(directory):
    """tests/ranks.c, which looks for the module beside itself."""
    program = directory / "ranks"
    shutil.copy(BUILD / "tests" / "ranks", program)
    shutil.copy(mpi.module(CONCLAVE), directory)
    for ranks in (1, 2, 4):
        process = mpi.start(ranks, str(program))
        out, err = process.communicate(timeout=PATIENCE)
        expect(f"{ranks} ranks exchange blocks", process.returncode == 0 and out == f"{ranks} ranks: ok\n", (process.returncode, out, err))


def ranks_at_work(process):
    deadline = time.monotonic() + PATIENCE
    while len(mpi.ranks_of(process.pid)) < 2 and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
    ranks = mpi.ranks_of(process.pid)
    for pid in ranks.values():
        wait_for_work(pid, 1)
    return ranks


def interrupt_ranks(directory):
    process = mpi.start(2, CONCLAVE, *ENDLESS)
    ranks_at_work(process)
    interrupted("Ctrl-C at mpirun", process, directory, 10000000, signal.SIGINT)
    if not mpi.is_mpich():
        expect("an interrupted job does not end with 0", process.returncode != 0, process.returncode)


def kill_rank(directory):
    """Open MPI lets the first rank say what is known; MPICH kills it, too, and says which was killed first."""
    process = mpi.start(2, CONCLAVE, *ENDLESS)
    ranks = ranks_at_work(process)
    os.kill(ranks[1], signal.SIGKILL)
    out, err = process.communicate(timeout=PATIENCE)
    table, shown = without_launcher(out), (process.returncode, out, err)
    expect("a killed rank ends the job", process.returncode != 0, shown)
    if mpi.is_mpich():
        expect("MPICH names it", re.search("KILLED BY SIGNAL: 9|EXIT CODE: 9", out), shown)
        return
    expect("Open MPI names it", re.search(r"process rank 1 with PID \d+ .* exited on signal 9", err), shown)
    expect("what is known is told", table and json.loads(table)["runs"] > 0 and
           len(re.findall("conclave: interrupted: .* runs are in the table", err)) == 1, shown)


def without_mpi(directory):
    """A program without its module says what to install, once."""
    alone = directory / "alone"
    alone.mkdir()
    shutil.copy(CONCLAVE, alone / "conclave")
    for command in ("sim bully --runs 5", "compare mutex"):
        code, out, err = run_ranks(directory, 2, *command.split(), program=str(alone / "conclave"))
        expect(f"{command} without MPI says what to install", code == 2 and not out and err.count("\n") == 1 and
               "mpirun -n 2: this conclave was built without MPI; install lib" in err, (code, out, err))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mpi", action="store_true")
    options = parser.parse_args()
    missing = mpi.missing(CONCLAVE) if options.mpi else None
    if missing:
        print(f"skipped: {missing}")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        for test in (exchange_blocks, by_ranks, interrupt_ranks, kill_rank, without_mpi) if options.mpi else (by_threads, interrupt_threads):
            test(directory)
    print("FAILED" if failures else "ok")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
