# SPDX-License-Identifier: MIT
"""Clocks that are set, drift or stand still: a preloaded clock_gettime() of the nodes obeys the test."""

import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import time

from group import Group
from harness import CONCLAVE, main
from raft import SLACK, lease, lock_once

CLOCK = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct told { int64_t calendar_s, slept_s, rate_ppm; };
static const struct told *told;
static int64_t begun_ns[16];

static int64_t ask(clockid_t which)
{
    struct timespec now;
    syscall(SYS_clock_gettime, which, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

__attribute__((constructor)) static void begin(void)
{
    const int file = open(getenv("TEST_CLOCK"), O_RDONLY | O_CLOEXEC);
    told = mmap(NULL, sizeof *told, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    for (clockid_t which = 0; which < 16; which++)
        begun_ns[which] = ask(which);
}

int clock_gettime(clockid_t which, struct timespec *now)
{
    if (which < 0 || which >= 16 || !told)
        return (int)syscall(SYS_clock_gettime, which, now);
    int64_t ns = ask(which);
    if (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE)
        ns += told->calendar_s * 1000000000;
    else if (which != CLOCK_PROCESS_CPUTIME_ID && which != CLOCK_THREAD_CPUTIME_ID)
        ns += (ns - begun_ns[which]) / 1000 * told->rate_ppm / 1000;
    if (which == CLOCK_BOOTTIME)
        ns += told->slept_s * 1000000000;
    now->tv_sec = ns / 1000000000;
    now->tv_nsec = ns % 1000000000;
    return 0;
}
"""


def is_sanitized():
    return b"__asan_init" in pathlib.Path(CONCLAVE).read_bytes()


class Clocked(Group):
    """Each node has a clock of its own. Rates in parts per million of what they go wrong."""

    def __init__(self, rates=(0, 0, 0), **settings):
        super().__init__(3, **settings)
        source = self.directory / "clock.c"
        source.write_text(CLOCK, encoding="ascii")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(self.directory / "clock.so"), str(source)], check=True)
        for node, rate in enumerate(rates, 1):
            self.tell(node, rate_ppm=rate)

    def tell(self, node, calendar_s=0, slept_s=0, rate_ppm=0):
        with open(self.directory / f"{node}.clock", "r+b" if (self.directory / f"{node}.clock").exists() else "wb") as file:
            file.write(struct.pack("<qqq", calendar_s, slept_s, rate_ppm))

    def start(self, *nodes):
        for node in nodes or self.members:
            with open(self.directory / f"{node}.log", "a", encoding="utf-8") as log:
                self.processes[node] = subprocess.Popen(
                    [CONCLAVE, "node", "--config", str(self.directory / f"{node}.conf")], stdout=log, stderr=log,
                    env={**os.environ, "LD_PRELOAD": str(self.directory / "clock.so"), "TEST_CLOCK": str(self.directory / f"{node}.clock")})


def calendar_jumps():
    """The time of day is set by days, forward and back, also before a restart: nothing changes for clients."""
    with Clocked(lease=3000, timeout=2000) as group:
        holder = group.client(1)
        fence = holder.ask("LOCK", "held")
        before = group.view(2)["epoch"]
        for node, days in ((1, 1), (2, -1), (3, 3), (1, -2)):
            group.tell(node, calendar_s=86400 * days)
            time.sleep(2 * lease())
            assert holder.ask("RENEW", "held", fence) > 0 and not holder.pushes
        assert group.view(2)["epoch"] == before, "no view changes for it"
        last, _ = lock_once(group, 2)
        group.kill(2)
        group.tell(2, calendar_s=-86400 * 365)
        group.start(2)
        group.await_view()
        assert lock_once(group, 2)[0] > last


def hold_and_stop(group, name):
    """The node of a holder stops. Until when did the holder surely have the lock, when did another get it, with which fences?"""
    holder, rival = group.client(1), group.client(2)
    fence = holder.ask("LOCK", name)
    rival.say("LOCK", name)
    time.sleep(0.1)
    asked = time.monotonic()
    sure_until = asked + holder.ask("RENEW", name, fence) / 1000
    group.kill(1, which=signal.SIGSTOP)
    later = rival.hear()
    granted = time.monotonic()
    group.kill(1, which=signal.SIGCONT)
    assert holder.push() == ["lost", name, fence]
    group.await_view()
    for client in (holder, rival):
        client.close()
    return fence, later, sure_until, granted


def within_the_drift():
    """One clock is slow and two are fast by nearly a percent: no other client has the lock while the holder surely has it."""
    with Clocked((-4900, 4900, 4900)) as group:
        for turn in range(4):
            fence, later, sure_until, granted = hold_and_stop(group, f"x-{turn}")
            assert later > fence and granted > sure_until, (fence, later, granted - sure_until)
            assert granted < sure_until + 3 * lease() + 4 * SLACK


def beyond_the_drift():
    """Clocks at two thirds and at four thirds of the pace: two clients may hold the lock at once, but fences rise."""
    with Clocked((-333000, 333000, 333000)) as group:
        last = 0
        for turn in range(3):
            fence, later, _, _ = hold_and_stop(group, "x")
            assert last < fence < later, (turn, last, fence, later)
            last = later


def machine_sleeps():
    """A machine sleeps: its monotonic clock has not moved, but the lease is over, and the node knows it at once."""
    with Clocked() as group:
        holder = group.client(1)
        fence = holder.ask("LOCK", "held")
        assert holder.ask("RENEW", "held", fence) > 0
        group.kill(1, which=signal.SIGSTOP)
        group.tell(1, slept_s=5)
        group.kill(1, which=signal.SIGCONT)
        assert holder.push() == ["lost", "held", fence]
        group.await_view()
        assert lock_once(group, 1, "held")[0] > fence


if __name__ == "__main__":
    if is_sanitized() or not shutil.which("cc"):
        print("skipped: it takes a C compiler, and a program whose C library can be replaced")
        sys.exit(0)
    sys.exit(main([calendar_jumps, within_the_drift, beyond_the_drift, machine_sleeps]))
