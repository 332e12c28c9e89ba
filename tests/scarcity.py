#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Allocations and descriptors that run out, one after the other: each program says so in a line and ends, or goes on as if nothing
had happened. No program crashes or prints half of its output, and no node stays that does not serve.

usage: scarcity.py [--long] [NAME...]   a sample of the places where it can happen, or many more of them
"""

import difflib
import mmap
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "live"))
# pylint: disable=wrong-import-position
from harness import CONCLAVE, PATIENCE, Broken, Client, Cluster, Gone, Node, Refused, main
from secured import World

SHIM = os.environ["CONCLAVE_SCARCITY"]
LONG = "--long" in sys.argv
if LONG:
    sys.argv.remove("--long")
MEMORY, DESCRIPTORS = 0, 24  # where their numbers begin in the shared file
NEVER = 1 << 62


class Scarcity:
    """The file that tells a program which calls fail."""

    def __init__(self):
        self.file = tempfile.NamedTemporaryFile(prefix="conclave-test-")
        self.file.write(bytes(48))
        self.file.flush()
        self.shared = mmap.mmap(self.file.fileno(), 48)
        self.environment = {**os.environ, "LD_PRELOAD": SHIM, "SCARCITY": self.file.name}
        self.at(MEMORY, NEVER)
        self.at(DESCRIPTORS, NEVER)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.shared.close()
        self.file.close()

    def calls(self, what):
        return struct.unpack_from("q", self.shared, what)[0]

    def at(self, what, first, length=1):
        """From the beginning: the calls that fail."""
        struct.pack_into("qqq", self.shared, what, 0, first, first + length)

    def soon(self, what, after, length=1):
        """From now on."""
        now = self.calls(what)
        struct.pack_into("qq", self.shared, what + 8, now + after, now + after + length)


class Findings:
    """Collects all failures, not only the first."""

    def __init__(self):
        self.list = []

    def __enter__(self):
        return self

    def note(self, function, *arguments):
        try:
            function(*arguments)
        except Broken as error:
            self.list.append(str(error))

    def __exit__(self, kind, *_):
        if self.list and kind is None:
            raise Broken(f"{len(self.list)} times: " + "\n".join(self.list[:20]))


def progress(what):
    """Shows the progress."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{what[:100]}", end="", file=sys.stderr, flush=True)


def run(scarcity, *words, **options):
    return subprocess.run([CONCLAVE, *map(str, words)], env=scarcity.environment, capture_output=True, text=True, check=False,
                          timeout=PATIENCE, stdin=subprocess.DEVNULL, **options)


def sample(count, few, many=500):
    """Places among so many calls: all of them if they are few, else the first ones and some of the others."""
    most = many if LONG else few
    if count <= most:
        return list(range(count))
    dice = random.Random(count)
    return sorted({*range(most // 3), *dice.sample(range(count), most - most // 3)})


def plain(text):
    """Without what differs from run to run: times and addresses. A counterexample need not be the shortest."""
    if re.search(r"(?m)^verdict +violated", text) and "states" in text:
        return "\n".join(re.findall(r"(?m)^  (?:held|violated) +\S+", text))
    return re.sub(r"(?m)^(?:cost|states) .*|[0-9.]+ (?:k|M|G)?B|[0-9.,]+ (?:states/s|s\b|ms\b)|seconds\W+[0-9.e-]+|-?[0-9.]+e-[0-9]+", "#", text)


def judge(what, done, whole, codes):
    """Did it end in order? Either the output is the usual one, or one line says what is wrong."""
    if done.returncode < 0 or "ssertion" in done.stderr or "anitizer" in done.stderr:
        raise Broken(f"{what}: ended by signal {-done.returncode}: {done.stderr}")
    if done.returncode in codes and plain(done.stdout) == plain(whole.stdout):
        return
    if done.returncode == 2 and "unfinished (memory)" in done.stdout:
        return  # the checker's answer when its own limit is reached
    lines = done.stderr.splitlines()
    good = [line for line in lines if re.fullmatch(r"conclave: .*\S.*[^:\s]", line)]
    if done.returncode == 0 or not lines or len(good) != len(lines) or len(lines) > 2:
        changes = [line for line in difflib.unified_diff(plain(whole.stdout).splitlines(), plain(done.stdout).splitlines(), n=0, lineterm="")
                   if not line.startswith(("---", "+++", "@@"))]
        raise Broken(f"{what}: exit code {done.returncode}, on stderr {done.stderr!r}, on stdout {changes[:6]}")


def sweep(words, few=60, codes=(0,), **options):
    """A command, short of one allocation, of all from one on, of descriptors in the same two ways."""
    with Scarcity() as scarcity, Findings() as findings:
        whole = run(scarcity, *words, **options)
        assert whole.returncode in codes, whole
        counts = {what: scarcity.calls(what) for what in (MEMORY, DESCRIPTORS)}
        for what, name in ((MEMORY, "allocation"), (DESCRIPTORS, "descriptor")):
            for length, how in ((1, ""), (NEVER // 2, " and all that follow")):
                for place in sample(counts[what], few if length == 1 else few // 3, 500 if length == 1 else 100):
                    scarcity.at(MEMORY, NEVER)
                    scarcity.at(DESCRIPTORS, NEVER)
                    scarcity.at(what, place, length)
                    command = " ".join(["conclave", *map(str, words)])
                    progress(f"{command}: without {name} {place}{how}")
                    done = run(scarcity, *words, **options)
                    findings.note(judge, f"{command}: without {name} {place}{how}", done, whole, codes)


def limited(words, codes=(0,), **options):
    """The same with fewer and fewer descriptors, by the kernel's own limit."""
    with Scarcity() as scarcity, Findings() as findings:
        whole = run(scarcity, *words, **options)
        for limit in range(3, 20, 1 if LONG else 4):
            done = run(scarcity, *words, **options,
                       preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
            if done.returncode == 127 and "shared libraries" in done.stderr:
                continue  # not even the loader could begin
            findings.note(judge, f"{words} with {limit} descriptors", done, whole, codes)


# ---- tools ----


def simulations():
    sweep(["sim", "bully", "-n", "5", "--crash", "5@10", "--diagram"])
    sweep(["sim", "ricart-agrawala", "-n", "3", "--json"], 30)
    sweep(["sim", "alpha", "-n", "4", "--graph", "ring"], 30, codes=(0, 1, 2))
    sweep(["sim", "central", "-n", "3", "--runs", "5"], 30)
    limited(["sim", "bully", "-n", "5"])


def checks():
    sweep(["check", "bully", "-n", "3", "--crashes", "1", "--threads", "1"], 60)
    sweep(["check", "maekawa-plain", "-n", "3", "--threads", "1"], 60, codes=(0, 1))
    sweep(["check", "central", "-n", "3", "--threads", "2"], 30)
    limited(["check", "bully", "-n", "3"])


def comparisons():
    sweep(["compare", "mutex"], 40)
    sweep(["scenario", "bully-example"], 40)
    sweep(["list"], 20)
    limited(["compare", "elections"], codes=(0, 2))


def judgements():
    with Cluster(2) as cluster:
        client = cluster.client(1)
        fence = client.ask("LOCK", "a")
        assert client.ask("UNLOCK", "a", fence) == 1
        client.close()
    files = sorted((cluster.directory / "record").glob("*.jsonl"))
    sweep(["judge", *files], 60)
    sweep(["judge", "--json", *files], 30)
    limited(["judge", *files])
    cluster.remove()


def questions():
    """The commands that ask a node: status, doctor, step-down; and keygen."""
    with Node() as node:
        sweep(["status", "--server", node.address()], 40)
        sweep(["doctor", "--connect", node.address()], 40, codes=(0, 1))
        limited(["status", "--server", node.address()])
        limited(["doctor", "--connect", node.address()], codes=(0, 1))
    with World() as world:
        key = world.key("cluster")

        def remove(path):
            path.unlink(missing_ok=True)

        target = world.path / "client.key"
        sweep(["keygen", target, "--client", "a", "--from", key], 20, codes=(0, 2), preexec_fn=lambda: remove(target))


# ---- clients ----


def commands_under_a_lock():
    """122 to 125 are its own codes. The command runs to its end, or not at all, or is ended with a message."""
    with Node() as node, tempfile.TemporaryDirectory() as directory:
        words = ["lock", "a", "--server", node.address(), "--wait", "2", "--", "sh", "-c", f"echo x >> {directory}/marks; echo done"]
        marks = pathlib.Path(directory) / "marks"
        with Scarcity() as scarcity:
            whole = run(scarcity, *words)
            assert (whole.returncode, whole.stdout) == (0, "done\n"), whole
            counts = {what: scarcity.calls(what) for what in (MEMORY, DESCRIPTORS)}
            client = node.client()
            for what, name in ((MEMORY, "allocation"), (DESCRIPTORS, "descriptor")):
                for length in (1, NEVER // 2):
                    for place in sample(counts[what], 60, 1000):
                        scarcity.at(MEMORY, NEVER)
                        scarcity.at(DESCRIPTORS, NEVER)
                        scarcity.at(what, place, length)
                        marks.write_text("", encoding="utf-8")
                        progress(f"conclave lock: without {name} {place}")
                        done = run(scarcity, *words)
                        told = f"conclave lock without {name} {place} and {length - 1} more: {done}"
                        judge(told, done, whole, (0,))
                        if done.returncode not in (0, 122, 123, 124, 125, 126):
                            raise Broken(told)
                        if done.returncode in (123, 124) and marks.read_text(encoding="utf-8"):
                            raise Broken(f"the command ran: {told}")
                        end = time.monotonic() + 8  # its time to live is 10 s, so it was given back and did not run out
                        while client.ask("LOCKS"):
                            if time.monotonic() > end:
                                raise Broken(f"the lock stays: {client.ask('LOCKS')} after {told}")
                            time.sleep(0.01)
            client.close()


# ---- nodes ----


def serves(address):
    """A new client gets a lock and gives it back."""
    client = Client(address)
    fence = client.ask("LOCK", "probe", "WAIT", 20000)
    assert fence and client.ask("UNLOCK", "probe", fence) == 1
    client.close()


def ends_in_order(process, log, what):
    """The node has ended by itself: with a line, not by a signal."""
    said = log.read_text(encoding="utf-8", errors="replace")
    if process.returncode < 0 or process.returncode == 0 or not re.search(r"^(conclave: |.*message=).*\S.*[^:\s]$", said, re.M) \
            or re.search(r"conclave: \s*$", said, re.M):
        raise Broken(f"{what}: exit code {process.returncode}: {said!r}")


def start(scarcity, directory, remembers=True, **how):
    log = pathlib.Path(directory) / "log"
    options = ["--set", f"node.directory={directory}/d"] if remembers else []
    with open(log, "w", encoding="utf-8") as file:
        process = subprocess.Popen([CONCLAVE, "node", "--listen", f"{directory}/s", *options], env=scarcity.environment, stdout=subprocess.PIPE, stderr=file, text=True, **how)
    return process, log


def node_outcome(process, log, address, what):
    """After a shortage: the node serves, and ends by TERM; or it has ended, in order."""
    end = time.monotonic() + PATIENCE
    problem = None
    while process.poll() is None and time.monotonic() < end:
        try:
            serves(address)
            break
        except (OSError, Gone, Refused, AssertionError) as error:
            problem = error
            time.sleep(0.02)
    else:
        if process.poll() is None:
            process.kill()
            process.wait()
            raise Broken(f"{what}: a node that does not serve: {problem!r} {log.read_text(encoding='utf-8')!r}")
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        if process.wait(PATIENCE):
            ends_in_order(process, log, f"{what}, at its end")
    else:
        ends_in_order(process, log, what)
    process.stdout.close()


def nodes_that_start():
    """A shortage while the node starts, the first time or again."""
    with Scarcity() as scarcity, World() as world, Findings() as findings:
        directory = world.path
        for again in (False, True):
            scarcity.at(MEMORY, NEVER)
            process, log = start(scarcity, directory)
            assert "ready" in process.stdout.readline(), log.read_text(encoding="utf-8")
            counts = {what: scarcity.calls(what) for what in (MEMORY, DESCRIPTORS)}
            node_outcome(process, log, f"{directory}/s", "nothing failed")
            assert counts[DESCRIPTORS] > 0, "the node opens nothing that is counted"
            last = range(counts[MEMORY] - 10, counts[MEMORY] + 60, 1 if LONG else 5)  # its first view
            for place in sorted({*sample(counts[MEMORY], 30), *last}):
                scarcity.at(MEMORY, place)
                if not again:
                    shutil.rmtree(f"{directory}/d", ignore_errors=True)
                told = f"a node that starts{' again' if again else ''} without allocation {place}"
                progress(told)
                process, log = start(scarcity, directory)
                findings.note(node_outcome, process, log, f"{directory}/s", told)


def nodes_with_few_descriptors():
    """Descriptors fail by the kernel's own limit: libuv does not survive if a single one of its own fails."""
    with Scarcity() as scarcity, World() as world, Findings() as findings:
        for limit in range(4, 40, 1 if LONG else 3):
            shutil.rmtree(f"{world.path}/d", ignore_errors=True)
            process, log = start(scarcity, world.path,
                                 preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
            if process.stdout.readline() == "" and process.wait(PATIENCE) == 127:
                continue  # not even the loader could begin
            findings.note(node_outcome, process, log, f"{world.path}/s", f"a node with {limit} descriptors")


def nodes_that_answer():
    """A client of a node with a shortage gets an answer, or its connection ends: it never waits for ever."""
    with Scarcity() as scarcity, World() as world:
        for after in range(16):
            scarcity.at(MEMORY, NEVER)
            process, log = start(scarcity, world.path, False)
            assert "ready" in process.stdout.readline(), log.read_text(encoding="utf-8")
            serves(f"{world.path}/s")  # the node has no other work now
            scarcity.soon(MEMORY, after)
            try:
                client = Client(f"{world.path}/s")
                client.ask("PING", "x" * 3000)
                client.close()
            except TimeoutError as error:
                process.kill()
                raise Broken(f"a connection without allocation {after} is neither answered nor ended") from error
            except (OSError, Gone, Refused):
                pass
            scarcity.soon(MEMORY, NEVER // 2)
            node_outcome(process, log, f"{world.path}/s", f"a node that answers without allocation {after}")


def busy(address, scarcity, what, after, length):
    """Clients try every command during a shortage of the node."""
    clients = []
    scarcity.soon(what, after, length)
    for turn in range(6):
        try:
            client = Client(address)
            clients.append(client)
            fence = client.ask("LOCK", f"name-{turn}")
            client.say("OBSERVE", f"boss-{turn}")
            client.say("CAMPAIGN", f"boss-{turn}", "WAIT", 50)
            client.say("LOCK", f"ttl-{turn}", "TTL", 1000, "SHARED")
            client.say("LOCKS")
            client.say("INFO")
            client.say("VIEW")
            client.say("UNLOCK", f"name-{turn}", fence)
            for _ in range(7):
                client.hear()
        except TimeoutError as error:
            raise Broken(f"without {length} of {what} after {after}: connection {turn} is neither answered nor ended") from error
        except (OSError, Gone, Refused, TypeError):
            pass
    for client in clients:
        client.close()


def nodes_that_serve():
    """Short of a few allocations or descriptors in the middle of its work."""
    with Scarcity() as scarcity, World() as world, Findings() as findings:
        address = f"{world.path}/s"
        for what, name, most in ((MEMORY, "allocations", 260), (DESCRIPTORS, "descriptors", 8)):
            for after in sample(most, 12 if what == MEMORY else 4, 130):
                for length in (1, 5) if not LONG else (1, 5, 50):
                    scarcity.at(MEMORY, NEVER)
                    scarcity.at(DESCRIPTORS, NEVER)
                    shutil.rmtree(f"{world.path}/d", ignore_errors=True)
                    process, log = start(scarcity, world.path)
                    if "ready" not in process.stdout.readline():
                        raise Broken(log.read_text(encoding="utf-8"))
                    told = f"a node that serves without {length} {name} after {after}"
                    progress(told)
                    findings.note(busy, address, scarcity, what, after, length)
                    scarcity.soon(what, NEVER // 2)
                    findings.note(node_outcome, process, log, address, told)


TESTS = [simulations, checks, comparisons, judgements, questions, commands_under_a_lock, nodes_that_start, nodes_that_answer,
         nodes_with_few_descriptors]
if LONG or len(sys.argv) > 1:  # minutes
    TESTS.append(nodes_that_serve)

if __name__ == "__main__":
    sys.exit(main(TESTS))
