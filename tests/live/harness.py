# SPDX-License-Identifier: MIT
"""Helpers of the live tests: a cluster of real processes on loopback, and clients that speak RESP."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

# A shell makes its background jobs ignore these signals, as nohup does, and all children would ignore them, too.
for ignored in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    signal.signal(ignored, signal.SIG_DFL)

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import starvation  # pylint: disable=wrong-import-position
import telling  # pylint: disable=wrong-import-position
from ports import free_ports  # pylint: disable=wrong-import-position
from starvation import PATIENCE, Broken, stretch  # pylint: disable=wrong-import-position

telling.install()
CONCLAVE = os.environ.get("CONCLAVE", "build/conclave")


def await_catching(process, number):
    """Until a process that may have just begun knows what to do at that signal, or has ended."""
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
        caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
        if int(caught.split()[1], 16) >> (number - 1) & 1:
            return
        time.sleep(0.01)


def no_crash(text, *signs):
    """The nodes' last output."""
    for sign in ("ssertion", "ERROR", "runtime error", "out of memory", *signs):
        if sign in text:
            raise Broken(text)


class Gone(Exception):
    """The connection ended."""


class Refused(Exception):
    """The node answered with an error."""


class Client:
    """A connection that speaks RESP3, one thing at a time. Pushes are kept apart."""

    def __init__(self, address, protocol=3, timeout=PATIENCE):
        if "/" in str(address):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(timeout)
            self.socket.connect(str(address))
        else:
            host, port = address.rsplit(":", 1)
            self.socket = socket.create_connection((host, int(port)), timeout)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")
        self.pushes = []
        if protocol == 3:
            self.ask("HELLO", 3)

    def say(self, *words):
        parts = [str(word).encode() if not isinstance(word, bytes) else word for word in words]
        self.socket.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))

    def item(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise Gone
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            return Refused(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"_" or (kind in b"$*" and rest == b"-1"):
            return None
        if kind == b"$":
            return self.file.read(int(rest) + 2)[:-2].decode()
        if kind in (b"*", b">"):
            return [self.item() for _ in range(int(rest))]
        if kind == b"%":
            return {self.item(): self.item() for _ in range(int(rest))}
        raise ValueError(line)

    def hear(self):
        while True:
            kind = self.file.peek(1)[:1]
            if not kind:
                raise Gone
            item = self.item()
            if kind != b">":
                if isinstance(item, Refused):
                    raise item
                return item
            self.pushes.append(item)

    def push(self):
        """The next push."""
        while not self.pushes:
            if not self.file.peek(1):
                raise Gone
            self.pushes.append(self.item())
        return self.pushes.pop(0)

    def ask(self, *words):
        self.say(*words)
        return self.hear()

    def close(self):
        self.file.close()
        self.socket.close()


class Cluster:
    """`conclave cluster`, its nodes' processes known by number. Sockets alone unless a port is given."""

    def __init__(self, count, *options, record=True, cwd=None):
        self.count = count
        self.cwd = cwd
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="conclave-test-"))
        self.options = options
        self.record = record
        self.stopped = set()
        self.hostile = False  # an attacker sends messages that no member sends
        self.ready = None

    def __enter__(self):
        command = [CONCLAVE, "cluster", str(self.count), "--port", "0", "--dir", str(self.directory), *self.options]
        if self.record:
            command += ["--record", str(self.directory / "record")]
        if stretch() > 1:
            for key in ("lease", "timeout"):
                if not any(f"group.{key}=" in option for option in self.options):
                    command += ["--set", f"group.{key}={300 * stretch()}"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=self.cwd)
        self.ready = self.process.stdout.readline()
        if "ready" not in self.ready:
            self.__exit__(None, None, None)
            raise AssertionError(f"the cluster did not start: {self.ready!r}")
        self.pids = self.find()
        return self

    def find(self):
        """Process ids by node number."""
        pids = {}
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
                arguments = (process / "cmdline").read_bytes().decode().split("\0")
            except (OSError, ValueError):
                continue  # it has gone meanwhile
            for index in range(1, self.count + 1):
                if parent == self.process.pid and f"{self.directory}/node{index}.conf" in arguments:
                    pids[index] = int(process.name)
        return pids

    def address(self, index):
        return f"{self.directory}/node{index}.sock"

    def client(self, index, **options):
        return Client(self.address(index), **options)

    def kill(self, index, which=signal.SIGKILL):
        os.kill(self.pids[index], which)
        if which == signal.SIGKILL:
            del self.pids[index]
        elif which == signal.SIGSTOP:
            self.stopped.add(index)
        elif which == signal.SIGCONT:
            self.stopped.discard(index)

    def views(self, indices=None):
        result = {}
        for index in indices or self.pids:
            if index in self.stopped:
                continue
            client = self.client(index)
            result[index] = client.ask("VIEW")
            client.close()
        return result

    def await_view(self, members, coordinator=None, patience=PATIENCE):
        """Waits until exactly these are in one view, under that coordinator; returns (epoch, coordinator)."""
        members = sorted(members)
        end = time.monotonic() + patience
        views = {}
        while time.monotonic() < end:
            try:
                views = self.views(members)
            except (OSError, Gone):
                continue
            agreed = {(view["epoch"], view["coordinator"]) for view in views.values()}
            alive = all(sorted(m["id"] for m in view["members"] if m["state"] != "suspected") == members
                        for view in views.values())
            leaders = {leader for _, leader in agreed}
            if len(agreed) == 1 and alive and leaders <= ({coordinator} if coordinator else set(members)):
                return agreed.pop()
            time.sleep(0.01)
        raise AssertionError(f"no common view of {members}: {views}")

    def __exit__(self, *_):
        for index in list(self.stopped):
            self.kill(index, signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        finally:
            self.problems = self.process.stdout.read() + "".join(path.read_text() for path in sorted(self.directory.glob("node*.log")))
            self.process.stdout.close()
            if not self.record:
                self.remove()
            no_crash(self.problems, *([] if self.hostile else ["peer-cut-off"]))  # honest members are never cut off

    def check(self):
        """No node failed an assertion or was complained about by a sanitizer."""
        no_crash(self.problems, "ended with status", "by signal 6", "by signal 11")

    def remove(self):
        shutil.rmtree(self.directory, ignore_errors=True)

    def judge(self, *options, allow=()):
        """Judges the recording after the cluster has ended; returns conclave's verdict as JSON."""
        files = sorted(str(path) for path in (self.directory / "record").glob("*.jsonl"))
        result = subprocess.run([CONCLAVE, "judge", "--json", *options, *files], capture_output=True, text=True,
                                check=False)
        if not result.stdout:
            raise AssertionError(f"conclave judge: {result.stderr}")
        report = json.loads(result.stdout)
        bad = [(name["name"], name["algorithm"], p["name"], p["detail"]) for name in report["names"]
               for p in name["properties"] if p["verdict"] == "violated" and p["name"] not in allow]
        if "static" not in self.options and any(name in ("exclusion", "fences-rise") for _, _, name, _ in bad):
            raise Broken(bad)  # leases prevent that, however slow the machine is
        assert not bad, bad
        return report


class Node:
    """`conclave node` alone."""

    def __init__(self, *options):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="conclave-test-"))
        self.options = options
        self.expected = "\n"  # a line of the log that is no problem has this in it

    def __enter__(self):
        self.log = open(self.directory / "log", "w+", encoding="utf-8")
        self.process = subprocess.Popen([CONCLAVE, "node", "--listen", self.address(), *self.options],
                                        stdout=subprocess.PIPE, stderr=self.log, text=True)
        line = self.process.stdout.readline()
        assert "ready" in line, f"the node did not start: {line!r} {(self.directory / 'log').read_text()!r}"
        return self

    def address(self):
        return f"{self.directory}/node.sock"

    def client(self, **options):
        return Client(self.address(), **options)

    def __exit__(self, *_):
        self.process.terminate()
        code = self.process.wait(PATIENCE)
        self.process.stdout.close()
        self.log.seek(0)
        problems = self.log.read()
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)
        unexpected = [line for line in problems.splitlines() if self.expected not in line]
        if code or any("event=lease-lost" not in line for line in unexpected):
            raise Broken((code, problems))
        assert not unexpected, unexpected  # of a node that did not get the processor in time


def free_port():
    return free_ports(1)


def in_parallel(*functions):
    """Runs them at the same time; the first exception is raised again."""
    errors = []

    def run(function):
        try:
            function()
        except Exception as error:  # pylint: disable=broad-except
            errors.append(error)

    threads = [threading.Thread(target=run, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def main(tests):
    """Runs the tests named on the command line, or all; with --part 1/3 every third, from the first on."""
    wanted = sys.argv[1:]
    failed = 0
    if wanted[:1] == ["--part"]:
        part, parts = map(int, wanted[1].split("/"))
        tests, wanted = tests[part - 1::parts], []
    for test in telling.retold(tests):
        if not wanted or test.__name__ in wanted:
            failed += not starvation.run(test)
    return 1 if failed else 0
