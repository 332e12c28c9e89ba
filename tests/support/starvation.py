# SPDX-License-Identifier: MIT
"""Tests of things that take time, on a machine that has other work.

A node that the kernel keeps off the processor, or lets wait for its disk, for as long as a lease loses what it holds, and
is right to. A test that failed while that happened has shown nothing, so it is run again, with longer leases. The kernel
counts how long each thread waited for a processor, how long anything on the machine waited for a disk, and how long a
virtual machine's host let it wait; without such evidence a failure is a failure at once.
"""

import collections
import os
import pathlib
import threading
import time
import traceback

# Seconds after which a test does not wait for an event any longer.
PATIENCE = float(os.environ.get("CONCLAVE_TEST_PATIENCE", "60"))
STRETCHES = (1, 2, 4, 8, 2, 4)[:int(os.environ.get("CONCLAVE_TEST_ATTEMPTS", "6"))]  # an attempt each
CALM_S = 10.0  # waits so long for a machine that has nothing else to do, before another attempt
STARVED = 0.08  # seconds off the processor within a lease: one of 300 ms has a quarter of that to spare
INTERVAL = 0.1
INTERVALS = 3  # of a lease


class Present:
    stretch = 1


def stretch():
    """How many times longer than usual leases and the like are to be in this attempt."""
    return Present.stretch


class Broken(AssertionError):
    """A failure that no lack of time excuses: two holders at once, a crash, a finding of a sanitizer."""


def descendants(pid):
    """A process and all that it started, and so on."""
    found = [str(pid)]
    for parent in found:
        try:
            for thread in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{thread}/children", encoding="ascii") as children:
                    found += children.read().split()
        except OSError:
            pass  # it has gone meanwhile
    return found


def waited(pid):
    """Seconds that each thread of a process has waited for a processor so far."""
    found = {}
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            text = pathlib.Path(f"/proc/{pid}/task/{thread}/schedstat").read_text(encoding="ascii")
            found[thread] = int(text.split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        pass  # it has gone meanwhile
    return found


def waited_for_disks():
    """Seconds in which anything on this machine waited for a disk so far; nothing, where the kernel does not count them."""
    try:
        some = pathlib.Path("/proc/pressure/io").read_text(encoding="ascii").splitlines()[0]
        return {"disks": int(some.rpartition("=")[2]) / 1e6}
    except (OSError, ValueError, IndexError):
        return {}


def waited_for_the_host():
    """Seconds in which this machine, if it is a virtual one, had work but no processor, so far."""
    try:
        with open("/proc/stat", encoding="ascii") as counts:
            stolen = int(counts.readline().split()[8])
        return {"host": stolen / os.sysconf("SC_CLK_TCK") / (os.cpu_count() or 1)}
    except (OSError, ValueError, IndexError):
        return {}


class Watch:
    """Looks at this test's processes while it runs."""

    def __init__(self):
        self.worst = 0.0
        self.earlier = collections.deque(maxlen=INTERVALS)  # what was seen in the intervals of one lease
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def look(self):
        seen = waited_for_disks() | waited_for_the_host()
        for pid in descendants(os.getpid()):
            seen |= waited(pid)
        for before in self.earlier:
            self.worst = max([self.worst, *(now - before.get(which, now) for which, now in seen.items())])
        self.earlier.append(seen)

    def run(self):
        while True:
            begun = time.monotonic()
            self.look()
            if self.ended.wait(INTERVAL):
                return
            self.worst = max(self.worst, time.monotonic() - begun - 2 * INTERVAL)  # this thread waits, too

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        self.look()

    def starved(self):
        return self.worst >= STARVED


def attempt(test, *arguments):
    """Why a test failed, or None; and whether it was denied the processor, or a disk."""
    with Watch() as watch:
        try:
            test(*arguments)
            return None, False
        except Exception as error:  # pylint: disable=broad-except
            told = "".join(traceback.format_exception(type(error), error, error.__traceback__)[-3:]).strip()
            excused = not isinstance(error, Broken)
    return told, excused and watch.starved()


def await_calm():
    """Waits until a sleeping process wakes up in time, or it is clear that it will not."""
    end = time.monotonic() + CALM_S
    while time.monotonic() < end:
        begun = time.monotonic()
        for _ in range(20):
            time.sleep(0.02)
        if time.monotonic() - begun < 0.45:
            return


def run(test, *arguments, name=None, failures=None):
    """Runs a test until it passes or fails for its own fault. Failures may also be collected in a list. Returns success."""
    name = name or test.__name__
    for number, Present.stretch in enumerate(STRETCHES, 1):
        begun, known = time.monotonic(), len(failures or ())

        def play():
            test(*arguments)
            if failures is not None and len(failures) > known:
                raise AssertionError("; ".join(map(str, failures[known:])))

        told, starved = attempt(play)
        if told is None:
            print(f"ok   {name} ({time.monotonic() - begun:.1f} s)", flush=True)
            return True
        if not starved or number == len(STRETCHES):
            break
        if failures is not None:
            del failures[known:]
        print(f"again {name}: it had to wait for the processor or a disk when this happened: {told}", flush=True)
        await_calm()
    if failures is not None and len(failures) == known:
        failures.append(f"{name}: {told}")  # by an exception
    print(f"FAIL {name}: {told}", flush=True)
    return False
