#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`conclave lock` as a job of an interactive shell on a terminal: commands that read from it, Ctrl-C, Ctrl-Z and fg,
pipelines and scripts; and a command that was suspended does not go on when its lock was lost meanwhile."""

import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from fake import Fake  # pylint: disable=wrong-import-position
from lock import CONCLAVE, PATIENCE, expect, failures, finish, lock, starvation, until  # pylint: disable=wrong-import-position


class Shell:
    """bash with job control on a terminal of its own."""

    def __init__(self, server):
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            environment = {"PATH": os.environ["PATH"], "CONCLAVE_SERVER": server.address, "PS1": "<$?>", "TERM": "dumb"}
            for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
                environment[name] = os.environ.get(name, "")
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"], environment)
        self.code()
        self.run("stty -echo")
        self.code()

    def type(self, text):
        os.write(self.fd, text.encode())

    def read(self, text, seconds=PATIENCE):
        """Reads on until the text has come; what came before is forgotten. Without it there is nothing more to try."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            if not select.select([self.fd], [], [], max(0.0, end - time.monotonic()))[0]:
                raise AssertionError(f"waited for {text!r}, but there is: {self.seen!r}")
            self.seen += os.read(self.fd, 4096).decode(errors="replace")
        self.seen = self.seen.split(text, 1)[1]
        return True

    def run(self, line):
        self.type(line + "\n")

    def code(self):
        """The exit code of the last command, which the prompt after it shows."""
        self.read("<")
        while ">" not in self.seen:
            self.seen += os.read(self.fd, 4096).decode(errors="replace")
        code, self.seen = self.seen.split(">", 1)
        return int(code)

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.close(self.fd)
        os.waitpid(self.pid, 0)


LOCK = f"{CONCLAVE} lock a"


def check_reading(shell, *_):
    shell.run(f"{LOCK} -- sh -c 'echo name?; read name; echo hello $name'")
    expect("it asks", shell.read("name?"), True)
    shell.type("world\n")
    expect("it reads from the terminal", shell.read("hello world"), True)
    expect("its code", shell.code(), 0)
    # A shell in the shell wants the terminal for its own job control.
    shell.run(f"PS1= {LOCK} -- bash --norc --noprofile --noediting -i")
    shell.run("echo inner; sleep 0.01; exit 4")
    expect("a shell inside", shell.read("inner"), True)
    expect("its code", shell.code(), 4)
    shell.run("echo outer")
    expect("the terminal is back", shell.read("outer"), True)
    shell.code()


def check_reading_nested(shell, *_):
    """A lock inside a lock: whatever reads in the innermost one gets the terminal."""
    shell.run(f"{LOCK} -- {CONCLAVE} lock b -- {CONCLAVE} lock c -- sh -c 'echo name?; read name; echo hello $name; exit 3'")
    expect("it asks", shell.read("name?"), True)
    shell.type("nest\n")
    expect("it reads from the terminal", shell.read("hello nest"), True)
    expect("its code", shell.code(), 3)
    shell.run("echo outer")
    expect("the terminal is back", shell.read("outer"), True)
    shell.code()


def check_waiting(shell, server, _):
    """A person at a terminal is told after a while that the command waits; a script is not."""
    holder = lock(server, "--", "cat", stdin=subprocess.PIPE)
    until(lambda: server.holders("a"))
    shell.run(f"{LOCK} -- echo begun")
    expect("told", shell.read("conclave: waiting for lock a\r\n"), True)
    finish(holder, "")
    expect("then it begins", shell.read("begun"), True)
    expect("its code", shell.code(), 0)
    holder = lock(server, "--", "cat", stdin=subprocess.PIPE)
    until(lambda: server.holders("a"))
    waiter = lock(server, "--wait", "2.3", "--", "true")
    expect("not told where nobody looks", finish(waiter), (124, "", "conclave: lock a: waited too long\n"))
    finish(holder, "")


def check_interrupt(shell, server, _):
    for reading in (False, True):
        shell.run(f"{LOCK} -- sh -c 'echo begun; {'read x' if reading else 'sleep 100'}'")
        shell.read("begun")
        time.sleep(0.1)
        shell.type("\x03")
        expect(f"Ctrl-C, reading: {reading}", shell.code(), 130)
        expect("given back", until(lambda: not server.holders("a")), True)
    shell.run(f"{LOCK} -- sh -c 'trap \"echo quit; exit 6\" QUIT; echo begun; i=0; while [ $((i += 1)) -lt 1500 ]; do sleep 0.01; done'")
    shell.read("begun")
    shell.type("\x1c")
    expect("Ctrl-\\ reaches it", shell.read("quit"), True)
    expect("its code", shell.code(), 6)


def check_scripts_and_pipes(shell, _, directory):
    """Ctrl-C ends a whole script, and the next in a pipeline keeps the terminal."""
    script = pathlib.Path(directory) / "script"
    script.write_text(f"{LOCK} -- sh -c 'echo begun; sleep 100'\necho went on\n", encoding="utf-8")
    shell.run(f"bash {script}")
    shell.read("begun")
    time.sleep(0.05)
    shell.type("\x03")
    expect("the script ends with it", shell.code(), 130)
    shell.run(f"{LOCK} -- echo words | sh -c 'cat; read answer < /dev/tty; echo got $answer'")
    expect("through a pipe", shell.read("words"), True)
    shell.type("it\n")
    expect("the last of a pipeline reads the terminal", shell.read("got it"), True)
    shell.code()


def check_suspending(shell, server, _):
    for reading in (False, True):
        # No loop over commands here: a dash that is stopped while it starts one hangs, under any shell.
        command = "read x; echo got $x" if reading else "exec sleep 25"
        shell.run(f"{LOCK} -- sh -c 'echo begun; {command}'")
        shell.read("begun")
        time.sleep(0.1)
        shell.type("\x1a")
        expect(f"Ctrl-Z, reading: {reading}", shell.read("Stopped"), True)
        expect("the shell has the terminal", shell.code(), 128 + signal.SIGSTOP)
        expect("still held", len(server.holders("a")), 1)
        shell.run("fg")
        shell.read("conclave lock")
        time.sleep(0.1)
        if reading:
            shell.type("words\n")
            expect("it reads on after fg", shell.read("got words"), True)
            expect("its code", shell.code(), 0)
        else:
            shell.type("\x03")
            expect("Ctrl-C after fg", shell.code(), 130)


MARKING = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("begun", flush=True)
for _ in range(1500):
    with open(sys.argv[1], "a") as marks:
        marks.write("x")
    time.sleep(0.01)
"""


def check_lost_while_suspended(shell, server, directory):
    """Suspended, the lock lost, then fg: the command must not go on."""
    marks, script = pathlib.Path(directory) / "marks", pathlib.Path(directory) / "script.py"
    script.write_text(MARKING, encoding="utf-8")
    for how in ("push", "ttl"):
        marks.write_text("", encoding="utf-8")
        shell.run(f"{LOCK} {'--ttl 1' if how == 'ttl' else ''} -- {sys.executable} {script} {marks}")
        shell.read("begun")
        time.sleep(0.1)
        shell.type("\x1a")
        shell.code()
        if how == "push":
            server.lose("a")
        else:
            expect("the lock runs out", until(lambda: not server.holders("a")), True)
        before = marks.stat().st_size
        shell.run("fg")
        expect(f"lost by {how}", shell.code(), 122)
        expect(f"lost by {how}: it did not go on", marks.stat().st_size, before)


def in_a_shell(check):
    with Fake() as server, tempfile.TemporaryDirectory() as directory:
        shell = Shell(server)
        try:
            check(shell, server, directory)
        finally:
            shell.close()


def main(wanted):
    for check in (check_reading, check_reading_nested, check_waiting, check_interrupt, check_scripts_and_pipes, check_suspending,
                  check_lost_while_suspended):
        if not wanted or check.__name__ in wanted:
            starvation.run(in_a_shell, check, name=check.__name__, failures=failures)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
