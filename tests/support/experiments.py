# SPDX-License-Identifier: MIT
"""For the tests of `conclave run`: what they expect, and the processes that a run may leave behind."""

import contextlib
import os
import pathlib
import time

SOURCE = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
CONCLAVE = os.environ.get("CONCLAVE", str(SOURCE / "build" / "conclave"))
PATIENCE = float(os.environ.get("CONCLAVE_TEST_PATIENCE", "60"))
MARK = f"conclave-run-{os.getpid()}"  # stands in the environment of every process of this test's runs
ENVIRONMENT = {**os.environ, "CONCLAVE_TEST_MARK": MARK}

failures = []


def expect(what, truth, shown=""):
    if not truth:
        failures.append(what)
        print(f"FAILED: {what}\n{shown}")


def lives(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()[0] not in "ZX"
    return False


def ours():
    """The processes of this test's runs that still live, whoever their parents are, with their words."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if MARK.encode() in (path / "environ").read_bytes() and lives(path.name):
                found.append((int(path.name), (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")))
    return found


def wait_until(what, truth, shown=lambda: ""):
    """Waits for a condition; false if it is in vain."""
    deadline = time.monotonic() + PATIENCE
    while not truth():
        if time.monotonic() > deadline:
            expect(what, False, shown())
            return False
        time.sleep(0.02)
    return True


def verdict():
    """The test's exit code."""
    print("FAILED" if failures else "ok")
    return 1 if failures else 0
