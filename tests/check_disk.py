#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`conclave check --disk DIR` says what the same check says in memory, leaves nothing behind and tells what goes wrong."""

import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
CONCLAVE = os.environ.get("CONCLAVE", str(SOURCE / "build" / "conclave"))

# All kinds of searches: with and without reduction, orders of requests, symmetry, arrangements, faults, cycles,
# synchronizers, more than 254 levels, and violations in a step, at an end and in a run without end.
CHECKS = [
    "bully -n 4 --no-reduction",
    "bully -n 3 --crashes 1",
    "ricart-agrawala -n 3 --no-reduction",
    "ricart-agrawala -n 3 --entries 2",
    "central -n 5 --entries 2 --no-symmetry",
    "central -n 5 --entries 2",
    "chang-roberts -n 5",
    "wireless -n 4 --graph ring",
    "multicast -n 4 --fingerprints 128",
    "alpha -n 4 --graph line --app bfs-tree",
    "central -n 2 --entries 60",
    "bully -n 3 --timeouts any",
    "maekawa-plain -n 3",
    "maekawa-plain -n 3 --no-reduction",
    "lamport -n 2 --unordered --property exclusion",
    "ring-basic -n 3 --crashes 1 --missed 1 --property comes-to-rest",
    "bully -n 3 --cuts 1",
]
BRIEF = [0, 3, 5, 11, 13, 15]
LARGE = "ricart-agrawala -n 4 --ask 1,2,3 --no-reduction"


def check(options, *more, **how):
    return subprocess.run([CONCLAVE, "check", *options.split(), *more], text=True, capture_output=True, **how)


def result(options, *more):
    """What a check found, without what it cost."""
    done = check(options, "--json", *more)
    assert not done.stderr, done
    found = json.loads(done.stdout)
    if found["counterexample"]:  # on disk it may be another one of the same length
        found["counterexample"] = len(found["counterexample"])
        for finding in found["properties"]:
            del finding["detail"]
    cost = {name: found.pop(name, None) for name in ("seconds", "bytes", "disk_bytes", "command")}
    return (done.returncode, found), cost


def compares(directory, brief):
    for number, options in enumerate(CHECKS):
        if brief and number not in BRIEF:
            continue
        here, _ = result(options)
        there, _ = result(options, "--disk", directory)
        assert here == there, (options, here, there)
    here, in_memory = result(LARGE)
    there, on_disk = result(LARGE, "--disk", directory)
    assert here == there, (here, there)
    assert on_disk["disk_bytes"] > 16 * here[1]["states"], on_disk
    assert on_disk["bytes"] < in_memory["bytes"] * 2 / 3, (on_disk, in_memory)
    threads, _ = result(LARGE, "--disk", directory, "--threads", "3")
    assert here == threads, (here, threads)
    assert not os.listdir(directory), os.listdir(directory)


def refuses(directory):
    """What cannot be used is told before the search begins."""
    file = pathlib.Path(directory, "file")
    file.write_text("")
    for place, reason in ((f"{directory}/missing", "No such file or directory"), (file, "Not a directory")):
        done = check("bully", "--disk", str(place))
        expected = f"conclave: --disk {place}: {reason}; expected a directory to write to\n"
        assert (done.returncode, done.stdout, done.stderr) == (2, "", expected), done
    file.unlink()
    if os.geteuid():
        os.chmod(directory, 0o500)
        done = check("bully", "--disk", directory)
        os.chmod(directory, 0o700)
        assert done.returncode == 2 and "Permission denied; expected a directory" in done.stderr, done
    done = check("bully", "--disk", directory, "--depth-first")
    assert done.returncode == 2 and "--disk" in done.stderr and "--depth-first" in done.stderr, done


def fails(directory):
    """A disk that takes no more ends the search with what it knows. A limit on the size of files does the same."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3 << 20, 3 << 20))

    done = check(LARGE, "--disk", directory, preexec_fn=limit)
    verdict = [line for line in done.stdout.splitlines() if line.startswith("verdict")]
    assert done.returncode == 2 and not done.stderr, done
    assert len(verdict) == 1 and verdict[0].endswith("unfinished (disk: File too large)"), done.stdout
    assert int(verdict[0].split("explored ")[1].split()[0]) > 10000, verdict
    found, _ = result(LARGE.replace("--no-reduction", "--no-reduction --depth 12"), "--disk", directory)
    assert found[1]["verdict"] == "unfinished" and not found[1]["complete"], found
    assert not os.listdir(directory), os.listdir(directory)


def leaves_nothing(directory):
    """A killed search leaves no files, and a directory that vanishes does no harm once its files are open."""
    place = pathlib.Path(directory, "place")
    place.mkdir()
    for vanish in (False, True):
        with subprocess.Popen([CONCLAVE, "check", *LARGE.split(), "--disk", str(place), "--json"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            while running.poll() is None and open_files(running.pid, place) < 2:
                time.sleep(0.001)
            if vanish:
                place.rmdir()
                out, errors = running.communicate()
                assert not errors and json.loads(out)["states"] > 0, (out, errors)
            else:
                running.kill()
                running.communicate()
                assert not os.listdir(place), os.listdir(place)


def open_files(process, place):
    """How many files a process has open in a directory, by name or without one."""
    count = 0
    try:
        for entry in os.listdir(f"/proc/{process}/fd"):
            try:
                count += os.readlink(f"/proc/{process}/fd/{entry}").startswith(f"{place}/")
            except OSError:
                pass
    except OSError:
        pass
    return count


def main():
    with tempfile.TemporaryDirectory() as directory:
        directory = str(pathlib.Path(directory).resolve())
        refuses(directory)
        fails(directory)
        leaves_nothing(directory)
        compares(directory, "--brief" in sys.argv)


if __name__ == "__main__":
    main()
