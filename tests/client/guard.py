#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`conclave guard` and the calls it is made of: a file takes no lower fence, from however many processes, and whenever they die."""

import ctypes
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))
from edge import is_sanitized  # pylint: disable=wrong-import-position
from harness import CONCLAVE, PATIENCE, Node, await_catching, main  # pylint: disable=wrong-import-position

STALE, TROUBLE = 121, 125


def guard(file, *words, fence=None, environment=None):
    options = [] if fence is None else ["--fence", str(fence)]
    clean = {key: value for key, value in os.environ.items() if key != "CONCLAVE_FENCE"}
    return subprocess.run([CONCLAVE, "guard", str(file), *options, "--", *words], capture_output=True, text=True, check=False,
                          timeout=PATIENCE, env=clean | (environment or {}))


def write(file, text, fence):
    return guard(file, "printf", "%s", text, fence=fence).returncode


def inside(directory):
    return sorted(path.name for path in pathlib.Path(directory).iterdir())


def lower_is_refused():
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "file"
        assert write(file, "five", 5) == 0 and file.read_text() == "five"
        assert (file.with_name("file.fence")).read_text() == "00000000000000000005\n"
        ended = guard(file, "printf", "four", fence=4)
        assert ended.returncode == STALE and file.read_text() == "five", ended
        assert ended.stderr == f"conclave: guard {file}: fence 4 is lower than 5, which was there: the file is as it was\n", ended.stderr
        assert write(file, "again", 5) == 0 and file.read_text() == "again", "the same holder writes again"
        assert write(file, "", 2 ** 63 - 1) == 0 and file.read_text() == ""
        assert write(file, "x", 2 ** 53) == STALE
        assert inside(directory) == ["file", "file.fence"]


def stale_while_it_runs():
    """The higher fence comes while the command of the lower one runs."""
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "file"
        slow = subprocess.Popen([CONCLAVE, "guard", str(file), "--fence", "1", "--", "cat"], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        slow.stdin.write(b"old")
        slow.stdin.flush()
        assert write(file, "new", 2) == 0
        _, complaint = slow.communicate(timeout=PATIENCE)
        assert slow.returncode == STALE and b"fence 1 is lower than 2" in complaint and file.read_text() == "new", complaint
        assert inside(directory) == ["file", "file.fence"]


def what_the_command_does_counts():
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "file"
        file.write_text("as it was")
        for words, code in ((("sh", "-c", "echo half; exit 3"), 3), (("sh", "-c", "kill -9 $$"), 137), (("/no/such",), 127), ((directory,), 126)):
            ended = guard(file, *words, fence=1)
            assert ended.returncode == code and file.read_text() == "as it was", (words, ended)
        assert inside(directory) == ["file"], "no fence was there"
        waits = subprocess.Popen([CONCLAVE, "guard", str(file), "--fence", "1", "--", "sh", "-c", "trap 'exit 9' TERM; echo x; while :; do sleep 0.01; done"])
        child = None
        while not child:
            child = pathlib.Path(f"/proc/{waits.pid}/task/{waits.pid}/children").read_text().split()

        class Shell:  # pylint: disable=too-few-public-methods
            pid = int(child[0])

            @staticmethod
            def poll():
                return waits.poll()
        await_catching(Shell, signal.SIGTERM)
        waits.terminate()
        assert waits.wait(PATIENCE) == 9 and file.read_text() == "as it was" and inside(directory) == ["file"]


def bad_input():
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "file"
        for ended, part in ((guard(file, "true"), "expected --fence N"), (guard(file, "true", fence=0), "--fence 0"), (guard(file, "true", fence="x"), "--fence x"),
                            (guard(file, "true", environment={"CONCLAVE_FENCE": "0"}), "CONCLAVE_FENCE: expected"),
                            (guard(file, "true", environment={"CONCLAVE_FENCE": "-1"}), "CONCLAVE_FENCE: expected"),
                            (guard(file, fence=1), "expected FILE -- COMMAND"), (guard("", "true", fence=1), "expected a file"),
                            (guard(directory, "true", fence=1), "expected a regular file"), (guard(f"{directory}/", "true", fence=1), "expected a file"),
                            (guard(f"{directory}/no/such", "true", fence=1), "No such file"), (guard(file.with_name("x" * 250), "true", fence=1), "too long"),
                            (guard("/dev/null", "true", fence=1), "regular file")):
            assert ended.returncode == TROUBLE and part in ended.stderr and ended.stderr.count("\n") == 1, (ended, part)
        assert inside(directory) == []
        file.with_name("file.fence").write_text("5\n")
        ended = guard(file, "true", fence=9)
        assert ended.returncode == TROUBLE and "20 digits" in ended.stderr and inside(directory) == ["file.fence"], ended
        file.with_name("file.fence").write_text("")
        assert write(file, "x", 1) == 0, "its writer died before it wrote"


def rights_and_links():
    with tempfile.TemporaryDirectory() as directory:
        file, link = pathlib.Path(directory) / "file", pathlib.Path(directory) / "link"
        file.write_text("x")
        file.chmod(0o640)
        link.symlink_to("file")
        assert write(link, "through", 7) == 0 and file.read_text() == "through" and link.is_symlink()
        assert write(file, "y", 6) == STALE, "one file, one fence"
        assert file.stat().st_mode & 0o7777 == 0o640
        link.unlink()
        link.symlink_to("nowhere")
        assert guard(link, "true", fence=8).returncode == TROUBLE
        os.chdir(directory)
        assert write("plain", "z", 1) == 0 and pathlib.Path("plain").read_text() == "z" and write("./plain", "z", 0 + 1) == 0
        os.chdir("/")


def under_a_lock():
    """As a user has it; the fence comes from `conclave lock`."""
    with Node() as node, tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "file"
        environment = os.environ | {"CONCLAVE_SERVER": node.address()}
        for text in ("one", "two"):
            subprocess.run([CONCLAVE, "lock", "name", "--", CONCLAVE, "guard", str(file), "--", "printf", text], env=environment, check=True, timeout=PATIENCE)
            assert file.read_text() == text
        highest = int(file.with_name("file.fence").read_text())
        assert highest > 1 and write(file, "old", highest - 1) == STALE


def many_at_once():
    """Whoever comes when, the file ends with the highest fence, and it is never half of anything."""
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "file"
        fences = list(range(1, 41))
        random.Random(5).shuffle(fences)
        running = [(fence, subprocess.Popen([CONCLAVE, "guard", str(file), "--fence", str(fence), "--", "sh", "-c", f"seq {fence} {fence + 2000}"],
                                            stderr=subprocess.DEVNULL)) for fence in fences]
        seen = 0
        while any(process.poll() is None for _, process in running):
            try:
                lines = file.read_text().split()
            except FileNotFoundError:
                continue
            assert len(lines) == 2001, len(lines)
            assert int(lines[0]) >= seen, (lines[0], seen)
            seen = int(lines[0])
        codes = {fence: process.returncode for fence, process in running}
        assert set(codes.values()) <= {0, STALE} and codes[40] == 0, codes
        assert file.read_text().split()[0] == "40" and inside(directory) == ["file", "file.fence"]


def killed_at_any_moment():
    """After kill -9 the fence on disk is not lower than that of the content, and whoever comes next can go on."""
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "file"
        chance = random.Random(3)
        begun = time.monotonic()
        assert write(file, "1\n", 1) == 0
        whole = time.monotonic() - begun
        done = 0
        rounds = 12 if is_sanitized() else 60
        for fence in range(2, 2 + rounds):
            process = subprocess.Popen([CONCLAVE, "guard", str(file), "--fence", str(fence), "--", "printf", f"{fence}\n"])
            time.sleep(chance.random() * 2 * whole)
            process.kill()
            process.wait()
            content, highest = int(file.read_text()), int(file.with_name("file.fence").read_text())
            assert content <= highest <= fence, (content, highest, fence)
            done += content == fence
        print(f"{done} of {rounds} came to their end")
        assert write(file, "100", 100) == 0 and file.read_text() == "100"


class Library:
    """The calls, from Python."""

    def __init__(self):
        self.library = ctypes.CDLL(os.environ["LIBCONCLAVE"])
        self.library.conclave_error_text.restype = ctypes.c_char_p

    def open(self, path, fence):
        guarded = ctypes.c_void_p()
        error = self.library.conclave_guard_open(ctypes.byref(guarded), str(path).encode(), ctypes.c_uint64(fence))
        return error, guarded

    def highest(self, path):
        fence = ctypes.c_uint64()
        return self.library.conclave_guard_highest(str(path).encode(), ctypes.byref(fence)), fence.value


def calls():
    if "LIBCONCLAVE" not in os.environ or "asan" in os.environ["LIBCONCLAVE"]:
        print("no library that Python can load: calls is left out")
        return
    it = Library()
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "file"
        assert it.highest(file) == (0, 0)
        error, one = it.open(file, 3)
        assert error == 0
        _, other = it.open(file, 4)
        for guarded in (one, other):
            os.write(it.library.conclave_guard_fd(guarded), b"text")
        assert it.library.conclave_guard_commit(other) == 0 and it.library.conclave_guard_commit(one) == -11
        assert it.highest(file) == (0, 4) and it.open(file, 3)[0] == -11 and it.open(file, 0)[0] == -8
        _, third = it.open(file, 5)
        it.library.conclave_guard_abandon(third)
        it.library.conclave_guard_abandon(None)
        assert it.highest(file) == (0, 4) and inside(directory) == ["file", "file.fence"]
        assert it.open(f"{directory}/no/file", 5)[0] == -12 and b"errno" in it.library.conclave_error_text(-12)


if __name__ == "__main__":
    sys.exit(main([lower_is_refused, stale_while_it_runs, what_the_command_does_counts, bad_input, rights_and_links, under_a_lock,
                   many_at_once, killed_at_any_moment, calls]))
