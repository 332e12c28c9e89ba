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
voting -n 300
lamport -n 300
ricart-agrawala -n 400 --seed 439 --until 59
multicast -n 300 --start 1,150,299
chang-roberts -n 300 --start 1 --until 149
beta -n 300 --graph star --app bfs-tree --until 2
wireless -n 300 --graph star --until 1
"""

# Long delays: workers that promise each other one tick after the other would take hours.
LONG = ["chang-roberts -n 300 --ids random --start 1,100,200 --delay 1..16777216",
        "franklin -n 260 --ids random --start all --delay exp:1000000",
        "wireless -n 260 --graph ring --delay 1..1000000",
        "lamport -n 260 --request 1@0,9@1,200@700000 --delay 1..1000000",
        "bellman-ford-async -n 260 --graph grid:20x13 --delay 5..900000"]

# Something is violated, and the report must say the same of it: the run is played again by one worker.
DOUBTFUL = ["abd --app bellman-ford -n 300 --set rounds=9 --delay 1..9 --set bound=3",
            "lockstep --app bellman-ford -n 300 --set rounds=9 --delay 1..3",
            "bfs-tree -n 300 --graph line --delay 2..2 --set rounds=3 --until 1"]

# Runs that are interrupted, again and again, and go on from a checkpoint.
SAVED = ["franklin -n 60000 --ids random --start all",
         "chang-roberts -n 20000 --ids random --start all --delay 1..20",
         "chang-roberts -n 20000 --ids random --start all --delay exp:9",
         "alpha --app flood-max -n 4000 --set rounds=40",
         "wireless -n 60000 --delay 1..9",
         "ricart-agrawala -n 500 --entries 60",
         "ricart-agrawala -n 300 --request 5@0,3@0,7@9,3@12+4,300@50000,300@50001",
         "central -n 1000 --entries 9 --think 3"]

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


def is_shared(lines):
    """--timing tells of the shares: nobody may play it all alone, as happens where a promise was wrong."""
    for line in (line for line in lines if "announce=multicast" not in line):
        code, out, err = run(*line.split(), "--json", "--timing", "--threads", "4")
        report = json.loads(out) if out else {}
        shares = report.get("shares", [])
        expect(f"{line}: four shares", len(shares) == 4 and sum(share["nodes"] for share in shares) == report["nodes"], (code, shares, err))
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


def interrupt(process, delay):
    """Interrupts a run after so many seconds. Its exit code, and what it has printed."""
    try:
        out, err = process.communicate(timeout=delay)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


def goes_on(line, chance, directory):
    """Interrupted up to eight times, each time with another number of threads. How often it went on."""
    saved = directory / "run"
    expected = run(*line.split(), "--json")
    resumed, delay = 0, 0.02
    for attempt in range(9):
        words = [*line.split(), "--json", "--threads", str(chance.randint(1, 4)), "--checkpoint", str(saved), "--every", "5ms"]
        if saved.exists():
            words += ["--resume", str(saved)]
            resumed += 1
        process = subprocess.Popen([CONCLAVE, "sim", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        code, out, err = interrupt(process, PATIENCE if attempt == 8 else delay * chance.uniform(0.5, 3))
        if code == expected[0]:
            break
        printing = "standard output: Interrupted" in err  # in the middle of the result
        told = f"go on: conclave sim {line}" in err and f"--resume {saved}" in err
        expect(f"{line}: interrupted, it says how to go on", code == -signal.SIGINT or (code == 2 and (told or printing)), (code, err))
        delay *= 1.5
    expect(f"{line}: the same after {resumed} interruptions", (code, out) == expected[:2], f"expected {expected[1][:400]}\nseen {code} {out[:400]} {err}")
    saved.unlink(missing_ok=True)
    return resumed


def go_on(chance):
    with tempfile.TemporaryDirectory() as name:
        resumed = [goes_on(line, chance, pathlib.Path(name)) for line in SAVED]
    expect("most runs are interrupted and go on", sum(count > 0 for count in resumed) > len(SAVED) // 2, resumed)


def kill_with_checkpoint(start, saved, kill):
    """Kills a run when it has a checkpoint. Runs become longer until one lives to see it. The run, and what it printed."""
    for nodes in (30_000, 120_000, 500_000, 2_000_000):
        line = f"chang-roberts -n {nodes} --ids random --start all --delay 1..40"
        process = start(*line.split(), "--json", "--checkpoint", str(saved), "--every", "5ms")
        while process.poll() is None and not saved.exists():
            time.sleep(0.002)
        kill(process)
        out, _ = process.communicate(timeout=PATIENCE)
        if saved.exists() and '"verdict"' not in out:
            return line
        saved.unlink(missing_ok=True)
    raise AssertionError("no run took long enough for a checkpoint")


def kill_a_rank(process):
    ranks = mpi_ranks(process.pid)
    if ranks:
        os.kill(max(ranks), signal.SIGKILL)


def ranks_go_on():
    """A rank is killed; another number of ranks, or of threads, goes on."""
    with tempfile.TemporaryDirectory() as name:
        saved = pathlib.Path(name) / "run"
        line = kill_with_checkpoint(lambda *words: mpi.start(3, CONCLAVE, "sim", *words), saved, kill_a_rank)
        expected = run(*line.split(), "--json")
        for seen in (run_ranks(2, *line.split(), "--json", "--resume", str(saved)), run(*line.split(), "--json", "--threads", "3", "--resume", str(saved))):
            expect("others go on where the killed job was, and get the same", seen[:2] == expected[:2], seen)


def computed(process):
    """Seconds of processor that a process has had."""
    try:
        fields = pathlib.Path(f"/proc/{process}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0


def ranks_tell():
    """A rank dies in a run without a checkpoint: the first one says that it is over. mpirun gives it a second for that."""
    told = []
    for _ in range(6):
        process = mpi.start(2, CONCLAVE, "sim", "flood-max", "-n", "20000", "--graph", "ring", "--set", "rounds=1000000")
        while process.poll() is None and min(map(computed, mpi_ranks(process.pid)), default=0) < 0.5:
            time.sleep(0.02)
        kill_a_rank(process)
        told.append(process.communicate(timeout=PATIENCE)[1])
        if "conclave: interrupted" in told[-1]:
            return
    expect("the first rank tells of the end", mpi.is_mpich(), told)


def too_few_threads():
    """The system starts two threads and no more. Only root can try that: its own number is not limited."""
    if os.geteuid():
        print("fewer threads than asked for: skipped, as this is not root")
        return
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        program = shutil.copy(CONCLAVE, name)
        for words, wanted in (("--threads 9", (2, "", "conclave: the system starts no more threads; expected fewer, or a higher limit of processes\n")),
                              ("--threads 9 --runs 20", run(*"franklin -n 300 --runs 20".split()))):
            done = subprocess.run(["prlimit", "--nproc=2", program, "sim", "franklin", "-n", "300", *words.split()], capture_output=True, text=True,
                                  check=False, timeout=PATIENCE, user=65531, extra_groups=[], cwd="/")
            expect(f"two threads and no more: {words}", (done.returncode, done.stdout, done.stderr) == wanted, done)


def mpi_ranks(launcher):
    """The processes of conclave that this mpirun has started, in any generation."""
    found, parents = [], {launcher}
    for _ in range(3):
        children = set()
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                words = path.read_text(encoding="utf-8").rsplit(")", 1)
            except OSError:
                continue
            if int(words[1].split()[1]) in parents:
                children.add(int(path.parent.name))
                if words[0].endswith("(conclave"):
                    found.append(int(path.parent.name))
        parents = children
    return found


def not_saved():
    """What has no checkpoints, and files that are none."""
    with tempfile.TemporaryDirectory() as name:
        saved = pathlib.Path(name) / "run"
        for words, why in (("bully -n 300 --crash 3@2", "faults"), ("bully -n 9", "so few nodes"), ("franklin -n 300 --diagram", "its events"),
                           ("token-ring -n 300", "it ends with the last exit")):
            code, out, err = run(*words.split(), "--checkpoint", str(saved))
            expect(f"{words}: no checkpoint", code == 2 and not out and err.startswith(f"conclave: --checkpoint {saved}: this run has no checkpoints: {why}")
                   and err.count("\n") == 1, err)
        line = kill_with_checkpoint(lambda *words: subprocess.Popen([CONCLAVE, "sim", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                                                    stdin=subprocess.DEVNULL), saved, lambda process: process.kill())
        whole = saved.read_bytes()
        for what, content in (("short", whole[:len(whole) // 2]), ("turned", whole[:999] + bytes([whole[999] ^ 4]) + whole[1000:]), ("empty", b"")):
            saved.write_bytes(content)
            code, out, err = run(*line.split(), "--resume", str(saved))
            expect(f"a {what} file is told", code == 2 and not out and str(saved) in err and err.count("\n") == 1, err)
        saved.write_bytes(whole)
        code, out, err = run(*line.split(), "--seed", "2", "--resume", str(saved))
        expect("a checkpoint of another run is told", code == 2 and not out and str(saved) in err, err)


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
    lines = [line for line in SHARED.splitlines() if line] + DOUBTFUL + LONG + [random_line(chance) for _ in range(options.random)]
    if options.mpi:
        for number, line in enumerate(lines[::3]):
            shared_by([((2, 1), (3, 1), (4, 1), (2, 2))[number % 4]], line)
        refused([(2, 1)])
        ranks_go_on()
        ranks_tell()
    else:
        for line in lines:
            shared_by([(0, 2), (0, 3), (0, 7)], line)
        is_shared([line for line in lines if line not in DOUBTFUL])
        refused([(0, 2)])
        go_on(chance)
        not_saved()
        too_few_threads()
    print(f"{len(lines)} runs, {len(failures)} differences")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
