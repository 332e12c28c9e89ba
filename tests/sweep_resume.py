#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A sweep, `conclave sim --runs R --checkpoint FILE`, that is killed again and again and goes on with other numbers of threads and
ranks prints the bytes of one that was left alone. Damaged and foreign checkpoints are refused; a full disk leaves the last good one.

usage: sweep_resume.py [--brief] [--mpi]   by threads, or by the ranks of mpirun: exit 77, which Meson calls skipped, if there is no MPI"""

import argparse
import os
import pathlib
import random
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(SOURCE / "tests"))
from support import mpi  # noqa: E402  pylint: disable=wrong-import-position

CONCLAVE = os.path.abspath(os.environ.get("CONCLAVE", str(SOURCE / "build" / "conclave")))
PATIENCE = 300
LARGE = 10000  # bytes of a checkpoint, a few hundred runs
SKIPPED = 77

# Held, violated, and ended by the first run that cannot be made; with a table and as JSON.
SWEEPS = [
    "sim chang-roberts -n 40 --ids random --start all --delay 1..9 --runs 12000 --seed 5",
    "sim maekawa-plain -n 9 --delay 1..9 --runs 10000 --json",
    "sim bully -n 6 --until 6 --delay 1..4 --runs 12000",
]


def run(words, **how):
    done = subprocess.run([CONCLAVE, *words], capture_output=True, text=True, check=False, timeout=PATIENCE, stdin=subprocess.DEVNULL, **how)
    return done.returncode, done.stdout, done.stderr


def start(words):
    return subprocess.Popen([CONCLAVE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)


def stamp(file):
    """Which checkpoint is there."""
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns


def wait_for_another(process, file):
    """Till there is a checkpoint that was not there before, or the process has ended."""
    before, deadline = stamp(file), time.monotonic() + PATIENCE
    while process.poll() is None and stamp(file) == before:
        assert time.monotonic() < deadline, "no checkpoint comes"
        time.sleep(0.001)


def finish(process):
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


# ---- threads ----


def goes_on(line, directory, chance):
    """Killed at random moments after a new checkpoint; each time another number of threads."""
    file = directory / "killed"
    words = line.split()
    expected = run(words)
    more, attempts = [], 0
    while True:
        attempts += 1
        assert attempts < 1000, f"{line}: it never ends"
        process = start([*words, "--threads", str(chance.choice([1, 2, 3, 4])), "--checkpoint", str(file), "--every", "1ms", *more])
        if attempts <= 8:
            wait_for_another(process, file)
            time.sleep(chance.random() * 0.03)
            process.send_signal(signal.SIGINT if attempts % 3 == 0 else signal.SIGKILL)
        seen = finish(process)
        if seen[0] == -signal.SIGKILL:
            assert file.exists() and not (seen[1] or seen[2]), seen
        elif "interrupted" in seen[2]:
            told_how(seen, file)
        else:
            assert seen == expected, (line, attempts, seen, expected)
            break
        more = ["--resume", str(file)]
    assert run([*words, "--resume", str(file)]) == expected, "the last checkpoint is good, too"
    assert run([*words, "--resume", str(file), "--threads", "3"]) == expected
    file.unlink()
    assert attempts > 2, f"{line}: killed {attempts - 1} times only; it ends too soon for this test"


def told_how(seen, file):
    """One line, with the command that goes on."""
    code, _, err = seen
    found = re.findall(r"conclave: interrupted.*; go on: (conclave .* --resume \S+)$", err, re.MULTILINE)
    assert code == 2 and err.count("\n") == 1 and len(found) == 1 and found[0].endswith(f"--resume {file}"), seen


def told_command_works(directory):
    file = directory / "it's a file"
    runs, wait_s, code = 500, 0.1, 0
    while code in (0, -signal.SIGINT):  # it had ended already, or not begun yet
        line = f"sim bully -n 20 --delay 1..9 --runs {runs} --json"
        process = start([*line.split(), "--threads", "2", "--checkpoint", str(file), "--every", "1h"])
        time.sleep(wait_s)
        process.send_signal(signal.SIGINT)
        code, _, err = finish(process)
        runs, wait_s = runs * 2 if code == 0 else runs, wait_s * 2 if code < 0 else wait_s
    found = re.search(r"; go on: (conclave .*)$", err.rstrip("\n"))
    assert code == 2 and err.count("\n") == 1 and found, (code, err)
    command = shlex.split(found[1])
    assert command[0] == "conclave" and command.count("--resume") == 1, command
    assert run(command[1:]) == run(line.split())


def more_runs(directory):
    """A sweep may go on with more runs than it was to have, not with fewer than it has."""
    file = directory / "more"
    line = "sim bully -n 5 --delay 1..9"
    code, _, err = run([*line.split(), "--runs", "40000", "--checkpoint", str(file), "--every", "0ms"])
    assert code == 0 and file.exists(), err
    assert run([*line.split(), "--runs", "50000", "--resume", str(file)]) == run([*line.split(), "--runs", "50000"])
    code, out, err = run([*line.split(), "--runs", "1", "--resume", str(file)])
    assert (code, out) == (2, "") and re.fullmatch(r"conclave: --runs 1: expected at least \d+, those in --resume .*\n", err), (code, out, err)


# ---- what cannot be read or written ----


def make_checkpoint(directory):
    file = directory / "good"
    words = SWEEPS[0].split()
    process = start([*words, "--checkpoint", str(file), "--every", "1ms", "--threads", "3"])
    while not file.exists() or file.stat().st_size < LARGE:
        wait_for_another(process, file)
        assert process.poll() is None, "it ends too soon for this test"
    process.kill()
    finish(process)
    return file


def refuses(directory):
    good = make_checkpoint(directory)
    whole = good.read_bytes()
    bad = directory / "bad"
    words = SWEEPS[0].split()

    def refused(expected, *more, line=words, file=bad):
        code, out, err = run([*line, "--resume", str(file), *more])
        assert (code, out, err.count("\n")) == (2, "", 1) and err.startswith("conclave: --resume ") and expected in err, (expected, code, out, err)

    damaged = "it is damaged, or not a checkpoint of conclave"
    refused("No such file or directory")
    chance = random.Random(3)
    cuts = [0, 5, len(whole) - 1, len(whole) // 2, chance.randrange(len(whole))]
    flips = [bytes([*whole[:at], whole[at] ^ 1 << chance.randrange(8), *whole[at + 1:]]) for at in (0, 30, len(whole) - 1, *(chance.randrange(len(whole)) for _ in range(12)))]
    for content in (*(whole[:cut] for cut in cuts), *flips, whole + b"x", bytes(len(whole)), b"not a checkpoint\n" * 99):
        bad.write_bytes(content)
        refused(damaged)
    bad.unlink()
    bad.mkdir()
    refused("Is a directory")
    bad.rmdir()
    refused("it belongs to a sweep with --seed 5, not --seed 6", line=[*words[:-1], "6"], file=good)
    refused("it belongs to a sweep without --unordered", "--unordered", file=good)
    refused("algorithm chang-roberts", line=[words[0], "franklin", *words[2:]], file=good)
    ring, edges = directory / "graph", ["1 2", "2 3", "3 4", "4 1"]
    line = f"sim wireless -n 4 --graph {ring} --runs 50".split()
    ring.write_text("\n".join(edges), encoding="ascii")
    code, _, err = run([*line, "--checkpoint", str(bad), "--every", "0ms"])
    assert code == 0, err
    ring.write_text("\n".join(edges[1:]), encoding="ascii")
    refused("a file that an option names has changed", line=line)
    code, _, err = run(["check", "bully", "-n", "3", "--checkpoint", str(bad), "--every", "0ms"])
    assert code == 0, err
    refused("it belongs to a check; expected one of a sweep")
    for more, expected in ((["--every", "5m"], "--every: expected with --checkpoint FILE"), (["--every", "x", "--checkpoint", "f"], "--every x: expected a time")):
        code, out, err = run([*words, *more])
        assert (code, out) == (2, "") and expected in err, (code, out, err)
    for option in ("--checkpoint", "--resume"):
        code, out, err = run(["sim", "bully", option, str(good)])
        assert (code, out) == (2, "") and err.startswith(f"conclave: {option} ") and "this run has no checkpoints: " in err and err.endswith(" or --runs\n"), (code, out, err)
    return good


def fails(directory, good):
    """A checkpoint that cannot be written is told; the last one stays, and the sweep goes on."""
    words = SWEEPS[0].split()
    before, expected = good.read_bytes(), run(words)

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGE // 2, LARGE // 2))

    code, out, err = run([*words, "--resume", str(good), "--checkpoint", str(good), "--every", "1ms"], preexec_fn=limit)
    told = f"conclave: --checkpoint {good}: File too large; the sweep goes on, and the last checkpoint stays"
    assert err and set(err.splitlines()) == {told}, err
    assert (code, out) == expected[:2], (code, out)
    assert good.read_bytes() == before and not good.with_name("good.partial").exists(), "the last checkpoint stays"
    missing = directory / "missing" / "file"
    code, out, err = run([*words, "--checkpoint", str(missing)])
    assert (code, out, err) == (2, "", f"conclave: --checkpoint {missing}: No such file or directory; expected a file to write\n"), (code, out, err)


def full_disk(directory, good):
    """The same on a file system that is full, in a mount namespace of its own."""
    words = shlex.join([CONCLAVE, *SWEEPS[0].split()])
    script = f"""
        mount -t tmpfs -o size=512k tmpfs {directory} || exit 99
        cp "$1" {directory}/file && dd if=/dev/zero of={directory}/filler bs=1k 2>/dev/null
        {words} --resume {directory}/file --checkpoint {directory}/file --every 1ms
        echo "code $?" && cmp "$1" {directory}/file && ls {directory}"""
    kept = pathlib.Path(tempfile.mkstemp()[1])
    kept.write_bytes(good.read_bytes())
    try:
        space = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
        done = subprocess.run([*space, "sh", "-c", script, "sh", str(kept)], capture_output=True, text=True, check=False, timeout=PATIENCE)
    finally:
        kept.unlink()
    if "code " not in done.stdout:
        print(f"not tested: a full disk, for want of a mount namespace: {done.stderr.strip()[:200]}")
        return
    expected = run(SWEEPS[0].split())
    told = f"conclave: --checkpoint {directory}/file: No space left on device; the sweep goes on, and the last checkpoint stays"
    assert done.stderr.splitlines() == [told], done  # once, though it is tried again and again
    assert done.stdout == f"{expected[1]}code 0\nfile\nfiller\n", done


def by_threads(directory, brief):
    good = refuses(directory)
    fails(directory, good)
    full_disk(directory, good)
    more_runs(directory)
    told_command_works(directory)
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    for line in SWEEPS[:1] if brief else SWEEPS:
        goes_on(line, directory, random.Random(seed))


# ---- ranks ----


def by_ranks(directory, brief):
    """A rank is killed, then the first, then there is no MPI any more."""
    file = directory / "ranks"
    line = f"sim bully -n 12 --delay 1..9 --runs {4000 if brief else 20000} --json"
    words = line.split()
    expected = run(words)
    more = []
    for count, victim in ((3, 1), (2, 0)):
        process = mpi.start(count, CONCLAVE, *words, "--checkpoint", str(file), "--every", "2ms", *more)
        wait_for_another(process, file)
        wait_for_another(process, file)
        os.kill(mpi.ranks_of(process.pid)[victim], signal.SIGKILL)
        code, out, err = finish(process)
        assert code != 0 and file.exists(), (code, out, err)
        if victim and not mpi.is_mpich():
            told = re.findall(r"conclave: interrupted: .*; go on: conclave .* --resume \S+", err)
            assert len(told) == 1, (code, out, err)
        more = ["--resume", str(file)]
    process = mpi.start(2, CONCLAVE, *words, *more, "--threads", "2")
    code, out, _ = finish(process)
    assert (code, out) == expected[:2], (code, out)
    assert run([*words, *more, "--threads", "2"]) == expected
    process = mpi.start(3, CONCLAVE, *words[:-3], "--runs", "1", "--resume", str(file))
    code, out, err = finish(process)
    told = [line for line in err.splitlines() if line.startswith("conclave: ")]
    assert code == 2 and not out and len(told) == 1 and "--runs 1: expected at least" in told[0], (code, out, err)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mpi", action="store_true")
    parser.add_argument("--brief", action="store_true")
    options = parser.parse_args()
    missing = mpi.missing(CONCLAVE) if options.mpi else None
    if missing:
        print(f"skipped: {missing}")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        (by_ranks if options.mpi else by_threads)(pathlib.Path(name), options.brief)
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
