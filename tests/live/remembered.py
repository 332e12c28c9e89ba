# SPDX-License-Identifier: MIT
"""Latches, barriers and what is done once, while voters come and go within moments, disks are slow, and primaries die."""

import contextlib
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import threading
import time

from harness import CONCLAVE, PATIENCE, Gone, Refused, main, stretch
from membership import Room
from starvation import Broken

AGE = 10 ** 12  # a period that does not end
START = 10 ** 6

# Syncs of the recipes' files wait for as long as the file SLOW is there.
SLOW_DISK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int fsync(int fd)
{
    char link[64], path[1024] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    while (length > 0 && strstr(path, "/recipes") && access(getenv("SLOW"), F_OK) == 0)
        usleep(10000);
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}
"""


class SlowRoom(Room):
    """A group whose disks can be slow."""

    def __init__(self, count, **settings):
        self.library = None
        super().__init__(count, **settings)
        source, self.library = self.directory / "slow.c", self.directory / "slow.so"
        source.write_text(SLOW_DISK, encoding="utf-8")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", str(self.library), str(source), "-ldl"], check=True)

    def slow(self, node):
        return self.directory / f"slow{node}"

    def start(self, *nodes):
        for node in nodes or self.members:
            environment = {**os.environ, "LD_PRELOAD": str(self.library), "SLOW": str(self.slow(node)),
                           "ASAN_OPTIONS": "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")}
            with open(self.directory / f"{node}.log", "a", encoding="utf-8") as log:
                self.processes[node] = subprocess.Popen(
                    [CONCLAVE, "node", "--config", str(self.directory / f"{node}.conf")], stdout=log, stderr=log, env=environment)


    def end_all(self):
        for node in range(1, 5):
            self.slow(node).unlink(missing_ok=True)
        return super().end_all()


def ask(group, node, *words):
    client = group.client(node)
    try:
        return client.ask(*words)
    finally:
        client.close()


def voter_leaves():
    """Two of three voters have it on disk. One of them leaves only when two of the next three have it: then all may die at once."""
    with SlowRoom(4, voters=3) as group:
        group.await_votes([1, 2, 3])
        for node in (3, 4):
            group.slow(node).touch()
        client = group.client(1)
        fence = client.ask("ONCE", "nightly", "EVERY", AGE)
        assert client.ask("ONCE", "nightly", "DONE", fence) == 1
        assert client.ask("LATCH", "tables", "SET", 3) == 1 and client.ask("LATCH", "tables", "DOWN") == 2
        client.close()
        environment = dict(os.environ, CONCLAVE_SERVER=group.address(2))
        leaving = subprocess.Popen([CONCLAVE, "leave", "1"], env=environment, stdout=subprocess.PIPE, text=True)
        with contextlib.suppress(subprocess.TimeoutExpired):
            leaving.wait(2 * stretch())
            raise AssertionError("it has left, and one disk has what two of three had")
        group.slow(3).unlink()
        assert leaving.wait(PATIENCE) == 0, leaving.stdout.read()
        leaving.stdout.close()
        group.ended(1)
        group.members.remove(1)
        group.kill(2, 3, 4)
        group.slow(4).unlink()
        group.start(3, 4)
        group.await_view([3, 4])
        assert ask(group, 3, "ONCE", "nightly")[1] == fence and ask(group, 4, "ONCE", "nightly", "EVERY", AGE) is None
        assert ask(group, 4, "LATCH", "tables") == 2
        group.start(2)
        group.await_view([2, 3, 4])


class Counter(threading.Thread):
    """Counts a latch down, and does something once in each period, through one node after the other."""

    def __init__(self, group, seed):
        super().__init__(daemon=True)
        self.group, self.dice = group, random.Random(seed)
        self.counted = self.unknown = 0
        self.periods, self.problem, self.done = [], None, False
        self.start()

    def count(self, client):
        self.unknown += 1
        left = client.ask("LATCH", "count", "DOWN")
        self.unknown -= 1
        self.counted += 1
        if not 0 < left < START:
            self.problem = left

    def run_once(self, client):
        before = time.time()
        fence = client.ask("ONCE", "often", "EVERY", 500)
        if fence and client.ask("ONCE", "often", "DONE", fence) == 1:
            self.periods.append((before, time.time(), fence))

    def run(self):
        while not self.done and not self.problem:
            try:
                client = self.group.client(self.dice.choice(list(self.group.processes)), timeout=5)
            except (OSError, Gone, Refused, IndexError):
                time.sleep(0.01)
                continue
            with contextlib.suppress(OSError, Gone, Refused):
                for _ in range(self.dice.randint(1, 30)):
                    (self.count if self.dice.random() < 0.9 else self.run_once)(client)
            client.close()


def judge(workers, left):
    """What was answered counts once; what was not may count."""
    assert not any(worker.problem for worker in workers), [worker.problem for worker in workers]
    counted, unknown = sum(worker.counted for worker in workers), sum(worker.unknown for worker in workers)
    assert counted > 100 and counted <= START - left <= counted + unknown, (counted, unknown, START - left)
    runs = sorted(run for worker in workers for run in worker.periods)
    for (began, _, fence), (later, ended, next_fence) in zip(runs, runs[1:]):
        # Each began within the times of its client, so two of one period are surely two if all of both lies in it.
        assert int(began * 2) != int(ended * 2) or int(later * 2) != int(began * 2), (began, later, ended, fence, next_fence)
    assert len({fence for _, _, fence in runs}) == len(runs)


def voters_change():
    """Voters leave and join one after the other, others are killed and start again, and the last of the first is gone at the end."""
    dice = random.Random(int(os.environ.get("CONCLAVE_TEST_SEED", 1)))
    with Room(3, lease=600, voters=3) as group:
        assert ask(group, 1, "LATCH", "count", "SET", START) == 1
        workers = [Counter(group, seed) for seed in range(3)]
        for old, new in ((1, 4), (2, 5), (3, 6)):
            by = dice.choice([node for node in group.members if node != old])
            victim = dice.choice([node for node in group.members if node not in (old, by)])
            group.kill(victim)  # the primary of some names
            group.start(victim)
            group.await_view(group.members)
            group.join(new, by)
            group.leave(old, by)
            group.ended(old)
        group.await_view([4, 5, 6])
        group.kill(4, 5, 6)
        group.start(4, 5, 6)
        group.await_view([4, 5, 6])
        for worker in workers:
            worker.done = True
            worker.join(PATIENCE)
        judge(workers, ask(group, 4, "LATCH", "count"))


def disk_is_lost():
    """All restart, one with an empty disk: the other two remember. It is replaced, and remembers with the last of the others."""
    with Room(3) as group:
        client = group.client(1)
        fence = client.ask("ONCE", "nightly", "EVERY", AGE)
        assert client.ask("ONCE", "nightly", "DONE", fence) == 1
        client.close()
        group.kill(1, 2, 3)
        shutil.rmtree(group.directory / "1")
        group.start(1, 2, 3)
        group.await_view([2, 3])
        assert ask(group, 2, "ONCE", "nightly")[1] == fence
        result = group.run(2, "replace", "1")
        assert result.returncode == 0, result
        group.await_view([1, 2, 3])
        group.await_votes([1, 2, 3])
        time.sleep(1)  # for a seat in the log
        group.kill(2)
        group.await_view([1, 3])
        assert ask(group, 1, "ONCE", "nightly")[1] == fence and ask(group, 1, "ONCE", "nightly", "EVERY", AGE) is None


def read_after_a_pause():
    """A node that stood still is taken for dead, and what it was to be told is lost: in the same view it tells nothing older."""
    with Room(3, lease=2500, timeout=300, longest_timeout=400) as group:
        # With the leader alive the next view would begin at once; without it, only when its lease is over.
        still = group.await_view()["raft_leader"]
        other, names = 1 + still % 3, [f"n{number}" for number in range(12)]
        setter = group.client(other)
        assert all(setter.ask("LATCH", name, "SET", 9) == 1 for name in names)
        setter.close()
        counters = {name: group.client(other) for name in names}
        group.kill(still, which=signal.SIGSTOP)
        end = time.monotonic() + 2  # less than the lease, so within the view
        time.sleep(0.8)  # until it is suspected
        for name, client in counters.items():
            client.say("LATCH", name, "DOWN")
        if select.select([client.socket for client in counters.values()], [], [], max(0, end - time.monotonic()))[0]:
            time.sleep(0.2)
        counted = [name for name, client in counters.items() if select.select([client.socket], [], [], 0)[0]]
        assert counted, "only names whose primary stands still wait for it"
        group.kill(still, which=signal.SIGCONT)
        reader, end = group.client(still), time.monotonic() + 1
        while time.monotonic() < end:
            for name in counted:
                assert reader.ask("LATCH", name) == 8, name
        for client in (reader, *counters.values()):
            client.close()


def come_to(clients, names, wait_ms, *words):
    for client, name in zip(clients, names):
        client.say("BARRIER", name, 3, *words, "WAIT", wait_ms)


def told(client):
    """The answer, or the error as text."""
    try:
        return client.hear()
    except Refused as refusal:
        return str(refusal)


def party_stands_still():
    """A client has come to a barrier when its node stands still. It is counted: the others pass, and the group forgets it. The
    client may not be told that nobody came, although its time is over before its node is in the group again."""
    with Room(3, lease=2500, timeout=300, longest_timeout=400) as group:
        still = group.await_view()["raft_leader"]  # its pause is noticed long before the next view begins
        names = [f"barrier {number}" for number in range(12)]
        third, first, second = ([group.client(1 + (still + after) % 3) for _ in names] for after in (2, 0, 1))
        come_to(third, names, 1500)
        time.sleep(0.3)
        group.kill(still, which=signal.SIGSTOP)
        time.sleep(0.8)
        come_to(first, names, 4000)
        come_to(second, names, 4000)
        passed = [told(client) for client in first]
        assert passed == [told(client) for client in second] and any(passed), passed
        assert {client.ask("BARRIER", name, 3, "WAIT", 1) for client, name in zip(first, names)} == {None}
        group.kill(still, which=signal.SIGCONT)
        answers = [told(client) for client in third]
        wrong = [name for name, number, answer in zip(names, passed, answers) if number and answer is None]
        if wrong:
            raise Broken(wrong, passed, answers)
        for client in (*first, *second, *third):
            client.close()


def all_know_who_has_entered():
    """Two of three have met a client whose node stands still. A majority knows of it, but in memory alone: nobody enters before
    that node knows of it, too."""
    with Room(3, lease=2500, timeout=2000, longest_timeout=2400) as group:
        names = [f"barrier {number}" for number in range(12)]
        first, second, third = ([group.client(node) for _ in names] for node in (1, 2, 3))
        come_to(third, names, 20000, "ENTER")
        time.sleep(0.3)
        group.kill(3, which=signal.SIGSTOP)
        come_to(first, names, 20000, "ENTER")
        come_to(second, names, 20000, "ENTER")
        time.sleep(0.7)
        early = [name for client, name in zip(first, names) if select.select([client.socket], [], [], 0)[0]]
        group.kill(3, which=signal.SIGCONT)
        if early:
            raise Broken(early)
        for name, *clients in zip(names, first, second, third):
            numbers = {told(client) for client in clients}
            assert len(numbers) == 1 and isinstance(numbers.pop(), int), name
        for client in (*first, *second, *third):
            client.close()


if __name__ == "__main__":
    sys.exit(main([voter_leaves, voters_change, disk_is_lost, read_after_a_pause, party_stands_still, all_know_who_has_entered]))
