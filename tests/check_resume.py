#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A check that is killed again and again, and goes on from its checkpoints, says what it says without interruption.
Damaged and foreign checkpoints are refused, and a disk that is full leaves the last good one."""

import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
CONCLAVE = os.environ.get("CONCLAVE", str(SOURCE / "build" / "conclave"))

# Whole searches, reductions that learn, orders of requests, symmetry, arrangements, cycles, and violations of all kinds.
CHECKS = [
    "ricart-agrawala -n 4 --ask 1,2,3 --no-reduction",
    "ricart-agrawala -n 3 --entries 2",
    "central -n 5 --entries 2",
    "bully -n 3 --crashes 2",
    "multicast -n 4 --fingerprints 128",
    "ring-list -n 5",
    "lamport -n 3",
    "maekawa-plain -n 3 --no-reduction",
    "bully -n 3 --timeouts any",
    "ring-basic -n 3 --crashes 1 --missed 1 --property comes-to-rest",
]
BRIEF = [1, 3, 5, 8]
LARGE = CHECKS[0]


def run(options, *more, **how):
    return subprocess.run([CONCLAVE, "check", *options.split(), *more], text=True, capture_output=True, **how)


def found(done):
    """What a check found, without what it cost and how it was called."""
    result = json.loads(done.stdout)
    for name in ("seconds", "bytes", "disk_bytes", "command", "resume"):
        result.pop(name, None)
    return done.returncode, result


def wait_for(running, condition):
    while running.poll() is None and not condition():
        time.sleep(0.002)


def stamp(file):
    """Which checkpoint is there."""
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns


def goes_on(options, directory, *ways):
    """Killed by SIGKILL or ended by SIGINT after every other checkpoint, it ends as if it had not been."""
    file = pathlib.Path(directory, "file")
    expected = found(run(options, "--json"))
    random.seed(options)
    for attempt in range(1000):
        more = ["--resume", str(file)] if file.exists() else []
        way = random.choice(ways)
        with subprocess.Popen([CONCLAVE, "check", *options.split(), "--json", "--checkpoint", str(file), "--every", "1ms",
                               *more, *way.split()], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            before, count = stamp(file), 0
            while count < 1 + attempt * attempt // 4 and running.poll() is None:
                wait_for(running, lambda: stamp(file) != before)
                before, count = stamp(file), count + 1
            time.sleep(random.uniform(0, 0.03))  # anywhere between two checkpoints
            running.send_signal(signal.SIGINT if attempt % 3 == 2 else signal.SIGKILL)
            out, errors = running.communicate()
        if running.returncode == -signal.SIGKILL:
            continue
        assert not errors, errors
        if json.loads(out)["verdict"] == "unfinished":
            assert f"--resume {file}" in json.loads(out)["resume"], out
            continue
        got = found(subprocess.CompletedProcess([], running.returncode, out, ""))
        if "--disk" in "".join(ways):  # it may be another one of the shortest counterexamples
            for _, one in (expected, got):
                one["counterexample"] = one["counterexample"] and len(one["counterexample"])
                one.pop("properties")
        assert got == expected, (options, attempt, got, expected)
        file.unlink(missing_ok=True)
        return
    raise AssertionError(f"{options}: it never ends")


def make_checkpoint(directory):
    """A checkpoint of a check that was interrupted in the middle, and what was printed."""
    file = pathlib.Path(directory, "good")
    with subprocess.Popen([CONCLAVE, "check", *LARGE.split(), "--checkpoint", str(file), "--every", "10ms"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        wait_for(running, lambda: file.exists() and file.stat().st_size > 1 << 20)
        running.send_signal(signal.SIGINT)
        out, errors = running.communicate()
    assert running.returncode == 2 and not errors and "unfinished (interrupted)" in out, (out, errors)
    go_on = f"go on     conclave check {LARGE} --checkpoint {file} --every 10ms --resume {file}"
    assert go_on in out.splitlines(), (out, go_on)
    return file


def refuses(directory):
    good = make_checkpoint(directory)
    bytes_of = good.read_bytes()
    bad = pathlib.Path(directory, "bad")
    damaged = "it is damaged, or not a checkpoint of conclave"

    def refused(expected, options=LARGE, *more, file=bad):
        done = run(options, "--resume", str(file), *more)
        assert (done.returncode, done.stdout) == (2, ""), done
        assert done.stderr.startswith("conclave: --resume ") and expected in done.stderr, (expected, done.stderr)
        assert done.stderr.count("\n") == 1, done.stderr

    refused("No such file or directory")
    for content in (b"", b"short", bytes_of[:-1], bytes_of[:1000], bytes_of + b"x", bytes(len(bytes_of)),
                    bytes_of[:5000] + bytes([bytes_of[5000] ^ 1]) + bytes_of[5001:]):
        bad.write_bytes(content)
        refused(damaged)
    bad.unlink()
    bad.mkdir()
    refused("Is a directory")
    refused("with --ask 1,2,3, not --ask 1,2", LARGE.replace("1,2,3", "1,2"), file=good)
    refused("with --no-reduction", LARGE.replace(" --no-reduction", ""), file=good)
    refused("without --unordered", LARGE + " --unordered", file=good)
    refused("algorithm ricart-agrawala", LARGE.replace("ricart-agrawala", "lamport"), file=good)
    refused("--depth-first", LARGE + " --depth-first", file=good)
    done = run(LARGE, "--every", "5m")
    assert done.returncode == 2 and "--every: expected with --checkpoint" in done.stderr, done
    return good


def fails(directory, good):
    """A checkpoint that cannot be written is told; the last one stays, and the check goes on."""
    before = good.read_bytes()

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, 1 << 18))

    done = run(LARGE, "--resume", str(good), "--checkpoint", str(good), "--every", "100ms", "--json", preexec_fn=limit)
    lines = done.stderr.splitlines()
    told = f"conclave: --checkpoint {good}: File too large; the check goes on, and the last checkpoint stays"
    assert lines and all(line == told for line in lines), done.stderr
    assert good.read_bytes() == before, "the last checkpoint changed"
    assert not good.with_name("good.partial").exists()
    assert found(done) == found(run(LARGE, "--json")), done.stdout
    done = run(LARGE, "--checkpoint", f"{directory}/missing/file", "--every", "100ms")
    told = f"conclave: --checkpoint {directory}/missing/file: No such file or directory; expected a file to write\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", told), done


def main():
    with tempfile.TemporaryDirectory() as directory:
        good = refuses(directory)
        fails(directory, good)
        for number, options in enumerate(CHECKS):
            if "--brief" not in sys.argv or number in BRIEF:
                goes_on(options, directory, "", "--threads 2")
        goes_on(CHECKS[1] if "--brief" in sys.argv else LARGE, directory, "--threads 2", "--disk .", "--threads 3 --disk .", "")
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)


if __name__ == "__main__":
    main()
