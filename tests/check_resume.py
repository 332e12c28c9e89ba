#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A check that is killed again and again, and goes on from its checkpoints, says what it says without interruption.
Damaged and foreign checkpoints are refused, and a disk that is full leaves the last good one.

usage: check_resume.py [--brief] [--mpi]   by threads, or by the ranks of mpirun: exit 77, which Meson calls skipped, if there is no MPI"""

import json
import os
import pathlib
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "tests"))
from support import mpi  # noqa: E402  pylint: disable=wrong-import-position

CONCLAVE = os.path.abspath(os.environ.get("CONCLAVE", str(SOURCE / "build" / "conclave")))
PATIENCE = 300
SKIPPED = 77

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
LONG = "central -n 6 --entries 3 --no-reduction"


def run(options, *more, **how):
    return subprocess.run([CONCLAVE, "check", *options.split(), *more], text=True, capture_output=True, **how)


def without_cost(out):
    """What a check found, without what it cost and how it was called."""
    result = json.loads(out)
    for name in ("seconds", "bytes", "disk_bytes", "command", "resume"):
        result.pop(name, None)
    return result


def found(done):
    return done.returncode, without_cost(done.stdout)


def roughly(result):
    """With --disk it may be another one of the shortest counterexamples."""
    result = {**result, "counterexample": result["counterexample"] and len(result["counterexample"])}
    result.pop("properties")
    return result


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
        if "--disk" in "".join(ways):
            expected, got = [(code, roughly(one)) for code, one in (expected, got)]
        assert got == expected, (options, attempt, got, expected)
        file.unlink(missing_ok=True)
        return
    raise AssertionError(f"{options}: it never ends")


def make_checkpoint(directory):
    """A checkpoint of a check that was interrupted in the middle; on a busy machine it may end before it hears of that."""
    file = pathlib.Path(directory, "good")
    for _ in range(20):
        file.unlink(missing_ok=True)
        with subprocess.Popen([CONCLAVE, "check", *LARGE.split(), "--checkpoint", str(file), "--every", "10ms"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            wait_for(running, lambda: file.exists() and file.stat().st_size > 1 << 20)
            running.send_signal(signal.SIGINT)
            out, errors = running.communicate()
        if running.returncode:
            break
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


def test_threads(directory, brief):
    good = refuses(directory)
    fails(directory, good)
    for number, options in enumerate(CHECKS):
        if not brief or number in BRIEF:
            goes_on(options, directory, "", "--threads 2")
    goes_on(CHECKS[1] if brief else LARGE, directory, "--threads 2", "--disk .", "--threads 3 --disk .", "")
    shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(directory)


# ---- ranks ----


# Those of CHECKS that tell most about ranks, and one whose states belong to a rank by their keys from the beginning.
BY_RANKS = [CHECKS[i] for i in (0, 1, 3, 4, 6, 7, 8)] + ["central-deny -n 4 --entries 2", "ring-list -n 3 --crashes 2"]
# Their reductions learn, over several searches.
LEARNING = ["wireless -n 4 --graph ring", "multicast -n 4 --fingerprints 128"]


def by_ranks(count, options, *more, **how):
    """Without ranks there is no mpirun. Returns the process."""
    words = [CONCLAVE, "check", *options.split(), *more]
    if count:
        return mpi.start(count, *words, **how)
    return subprocess.Popen(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)


def ours(errors):
    """What conclave itself says; mpirun has its own to say about what was killed."""
    return [line for line in errors.splitlines() if line.startswith("conclave: ")]


def is_alive(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def kill(process, count, chance):
    """Ends it: one of the processes, or the job, with or without a warning."""
    ranks = list(mpi.ranks_of(process.pid).values()) if count else []
    way = chance.choice(["one", "interrupt", "all"])
    try:
        if way == "interrupt":
            process.send_signal(signal.SIGINT)
        elif way == "one" and ranks:
            os.kill(chance.choice(ranks), signal.SIGKILL)
        else:
            process.kill()
            for rank in ranks:
                os.kill(rank, signal.SIGKILL)
    except ProcessLookupError:
        pass
    while way == "all" and any(is_alive(rank) for rank in ranks):  # it might still have the checkpoint open
        time.sleep(0.002)
    return way


def ended(process, file):
    """What it found, or None if it was killed or interrupted."""
    out, errors = process.communicate(timeout=PATIENCE)
    said = ours(errors)
    start = out.find("{")
    result = json.loads(out[start:out.rindex("}") + 1]) if start >= 0 else None
    if result and result["verdict"] != "unfinished":
        assert not said, errors
        return without_cost(json.dumps(result))
    if result:
        assert "resume" not in result or f"--resume {file}" in result["resume"], result
    assert len(said) <= 1 and all(re.fullmatch(rf"conclave: interrupted(; go on: conclave check .* --resume {file})?", line) for line in said), errors
    return None


def goes_on_by_ranks(options, directory, chance, disk):
    """Killed at random moments, it goes on with other numbers of ranks. Returns how often it was killed."""
    file = pathlib.Path(directory, "ranks")
    expected = without_cost(run(options, "--json").stdout)
    for attempt in range(1000):
        more = ["--resume", str(file)] if file.exists() else []
        count = chance.choice([0, 1, 2, 2, 3, 3])
        process = by_ranks(count, options, "--json", "--checkpoint", str(file), "--every", "1ms", *more, *disk, cwd=directory)
        before, seen = stamp(file), 0
        while seen < 1 + attempt * attempt // 4 and process.poll() is None:
            wait_for(process, lambda: stamp(file) != before)
            before, seen = stamp(file), seen + 1
        time.sleep(chance.uniform(0, 0.03))
        way = kill(process, count, chance) if process.poll() is None else "none"
        got = ended(process, file)
        if got is None:
            continue
        if disk:
            expected, got = roughly(expected), roughly(got)
        assert got == expected, (options, attempt, count, way, got, expected)
        if file.exists():
            for count in (0, 1, 2, 3):
                again = ended(by_ranks(count, options, "--json", "--resume", str(file), *disk, cwd=directory), file)
                assert (roughly(again) if disk else again) == expected, (options, count, again, expected)
            file.unlink()
        return attempt
    raise AssertionError(f"{options}: it never ends")


def every_checkpoint(options, directory, disk):
    """Whatever checkpoint three ranks write, any number goes on with it."""
    same = roughly if disk else lambda result: result
    file, copies, last = pathlib.Path(directory, "every"), [], None
    expected = without_cost(run(options, "--json").stdout)
    process = by_ranks(3, options, "--json", "--checkpoint", str(file), "--every", "1ms", *disk, cwd=directory)
    while process.poll() is None:
        if stamp(file) not in (None, last) and len(copies) < 6:
            last = stamp(file)
            copies.append(pathlib.Path(directory, f"copy{len(copies)}"))
            shutil.copy(file, copies[-1])
        time.sleep(0.004)
    assert same(ended(process, file)) == same(expected)
    for copy in copies:
        for count in (0, 2, 3):
            again = ended(by_ranks(count, options, "--json", "--resume", str(copy), *disk, cwd=directory), copy)
            assert same(again) == same(expected), (options, copy, count, again, expected)
        copy.unlink()
    file.unlink(missing_ok=True)


def refuses_by_ranks(directory, good):
    """What one process refuses, ranks refuse in the same line, once."""
    bad = pathlib.Path(directory, "bad")
    whole = good.read_bytes()
    bad.write_bytes(whole[:-1])
    for options, file in ((LARGE, bad), (LARGE, pathlib.Path(directory, "none")), (LARGE.replace("1,2,3", "1,2"), good)):
        one = run(options, "--resume", str(file))
        process = by_ranks(2, options, "--resume", str(file))
        out, errors = process.communicate(timeout=PATIENCE)
        assert one.returncode == 2 and one.stderr.count("\n") == 1, one
        assert (process.returncode, out, ours(errors)) == (2, "", one.stderr.splitlines()), (out, errors, one)


def full_disk(directory, good):
    """On a file system that is full, in a mount namespace of its own, the last checkpoint stays, and the check goes on."""
    place = pathlib.Path(directory, "full")
    place.mkdir()
    words = shlex.join([mpi.MPIRUN, "-n", "2", CONCLAVE, "check", *LARGE.split(), "--json"])
    script = f"""
        mount -t tmpfs -o size={good.stat().st_size // 1024 + 256}k tmpfs {place} || exit 99
        cp {good} {place}/file && dd if=/dev/zero of={place}/filler bs=1k 2>/dev/null
        {words} --resume {place}/file --checkpoint {place}/file --every 1ms
        echo "code $?" && cmp {good} {place}/file && ls {place}"""
    space = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    done = subprocess.run([*space, "sh", "-c", script], capture_output=True, text=True, check=False, timeout=PATIENCE,
                          env={**os.environ, **mpi.ENVIRONMENT, "ASAN_OPTIONS": "detect_leaks=0"})
    if "code " not in done.stdout:
        print(f"not tested: a full disk, for want of a mount namespace: {done.stderr.strip()[:200]}")
        return
    told = f"conclave: --checkpoint {place}/file: No space left on device; the check goes on, and the last checkpoint stays"
    assert ours(done.stderr) and set(ours(done.stderr)) == {told}, done.stderr
    out, rest = done.stdout[:done.stdout.rindex("}") + 1], done.stdout[done.stdout.rindex("}") + 1:]
    assert without_cost(out) == without_cost(run(LARGE, "--json").stdout), out
    assert rest == "\ncode 0\nfile\nfiller\n", rest


def killed_rank(directory):
    """A killed rank ends the job with one line that says how to go on, if the first rank gets the processor within the second
    that Open MPI gives it. MPICH kills it, too."""
    file = pathlib.Path(directory, "told")
    told = f"conclave: interrupted; go on: conclave check {LONG} --checkpoint {file} --every 50ms --resume {file}"
    for _ in range(5):
        process = by_ranks(3, LONG, "--checkpoint", str(file), "--every", "50ms")
        wait_for(process, file.exists)
        os.kill(mpi.ranks_of(process.pid)[1], signal.SIGKILL)
        out, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode and file.exists() and ours(errors) in ([], [told]), (out, errors)
        if ours(errors) or mpi.is_mpich():
            return
    raise AssertionError("it never says how to go on")


def test_ranks(directory, brief):
    good = make_checkpoint(directory)
    refuses_by_ranks(directory, good)
    full_disk(directory, good)
    killed_rank(directory)
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance, kills = random.Random(seed), 0
    for options in LEARNING[:1] if brief else LEARNING:
        every_checkpoint(options, directory, [])
    every_checkpoint(BY_RANKS[5], directory, ["--disk", "."])
    for options in BY_RANKS[:3] if brief else BY_RANKS:
        kills += goes_on_by_ranks(options, directory, chance, [])
    for options in BY_RANKS[:1] if brief else BY_RANKS[:1] + BY_RANKS[5:7]:
        kills += goes_on_by_ranks(options, directory, chance, ["--disk", "."])
    print(f"killed {kills} times")


def main():
    brief = "--brief" in sys.argv
    if "--mpi" not in sys.argv:
        with tempfile.TemporaryDirectory() as directory:
            test_threads(directory, brief)
        return 0
    if mpi.missing(CONCLAVE):
        print(f"skipped: {mpi.missing(CONCLAVE)}")
        return SKIPPED
    with tempfile.TemporaryDirectory() as directory:
        test_ranks(str(pathlib.Path(directory).resolve()), brief)
    return 0


if __name__ == "__main__":
    sys.exit(main())
