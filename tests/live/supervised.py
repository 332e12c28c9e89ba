# SPDX-License-Identifier: MIT
"""A node under a service manager: readiness, signs of life, the unit file."""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from harness import CONCLAVE, PATIENCE, main

WATCHDOG = 0.3  # seconds


class Manager:
    """Listens as systemd does, and starts a node. A path that begins with @ is an abstract socket."""

    def __init__(self, abstract=False, watchdog_pid=None):
        self.directory = tempfile.mkdtemp(prefix="conclave-test-")
        path = f"@conclave-test-{os.getpid()}-{time.monotonic_ns()}" if abstract else f"{self.directory}/notify"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + path[1:] if abstract else path)
        self.environment = dict(os.environ, NOTIFY_SOCKET=path, WATCHDOG_USEC=str(int(WATCHDOG * 1e6)))
        self.environment.pop("WATCHDOG_PID", None)
        if watchdog_pid:
            self.environment["WATCHDOG_PID"] = str(watchdog_pid)

    def __enter__(self):
        self.node = subprocess.Popen([CONCLAVE, "node", "--listen", f"{self.directory}/s", "--set",
                                      f"node.directory={self.directory}/d"], env=self.environment,
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert "ready" in self.node.stdout.readline()
        return self

    def hear(self, timeout=PATIENCE):
        self.socket.settimeout(timeout)
        try:
            return self.socket.recv(4096).decode()
        except socket.timeout:
            return None

    def until(self, wanted):
        heard = []
        while wanted not in heard:
            heard.append(self.hear())
            assert heard[-1], f"never heard {wanted}, only {heard}"
        return heard

    def drain(self):
        while self.hear(0.01):
            pass

    def __exit__(self, *_):
        if self.node.poll() is None:
            os.kill(self.node.pid, signal.SIGCONT)
            self.node.terminate()
        code = self.node.wait(PATIENCE)
        self.node.stdout.close()
        self.socket.close()
        shutil.rmtree(self.directory, ignore_errors=True)
        assert code == 0, code


def says_ready():
    for abstract in (False, True):
        with Manager(abstract) as manager:
            heard = manager.until("READY=1")
            assert heard == ["READY=1"], "nothing before it is ready"
            manager.until("STATUS=serves in a view of 1 members")
            manager.node.terminate()
            assert manager.until("STOPPING=1")


def gives_signs_of_life():
    """Three within the time that the manager waits; none while the loop hangs."""
    with Manager() as manager:
        manager.until("READY=1")
        manager.until("WATCHDOG=1")
        begun = time.monotonic()
        for _ in range(6):
            manager.until("WATCHDOG=1")
        assert time.monotonic() - begun < 6 * WATCHDOG, "often enough, with some to spare"
        os.kill(manager.node.pid, signal.SIGSTOP)
        time.sleep(0.05)
        manager.drain()
        assert manager.hear(2 * WATCHDOG) is None, "a loop that hangs gives none"
        os.kill(manager.node.pid, signal.SIGCONT)
        manager.until("WATCHDOG=1")


def watchdog_of_another():
    with Manager(watchdog_pid=1) as manager:
        manager.until("READY=1")
        end = time.monotonic() + 3 * WATCHDOG
        while time.monotonic() < end:
            assert manager.hear(0.1) != "WATCHDOG=1"


def nobody_listens():
    """A manager that is gone, or has an invalid address, does no harm."""
    for path in ("/nowhere/socket", "relative", "/" + "x" * 200, "@", ""):
        manager = Manager()
        manager.environment["NOTIFY_SOCKET"] = path
        with manager:
            assert manager.node.poll() is None, path


def unit_is_sound():
    build = os.environ.get("CONCLAVE_BUILD")
    unit = pathlib.Path(build, "contrib", "conclave@.service") if build else None
    if not unit or not unit.exists() or not shutil.which("systemd-analyze"):
        print("     not checked: no unit, or no systemd-analyze")
        return
    text = unit.read_text(encoding="utf-8")
    command = re.search(r"^ExecStart=(\S+) node (.*)$", text, re.M)
    told = subprocess.run([CONCLAVE, "node", "--help"], capture_output=True, text=True, check=True).stdout
    for option in re.findall(r"--[a-z]+", command[2]):
        assert option in told, option
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "conclave@.service")
        path.write_text(text.replace(command[1], os.path.abspath(CONCLAVE)), encoding="utf-8")
        environment = dict(os.environ, SYSTEMD_LOG_LEVEL="warning")
        lint = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no",
                               str(path).replace("@.", "@node1.")],
                              capture_output=True, text=True, check=False, env=environment)
        ours = [line for line in lint.stderr.splitlines() if "conclave" in line]
        assert lint.returncode == 0 and not ours, (lint.returncode, lint.stderr)
        rated = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", str(path)],
                               capture_output=True, text=True, check=False, env=environment)
        assert rated.returncode == 0, (rated.stdout, rated.stderr)


def words_are_completed():
    """contrib/bash-completion completes exactly the program's commands and options."""
    source = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
    script = source / "contrib" / "bash-completion" / "conclave"
    for words, expected in ((["doc"], "doctor"), (["doctor", "--wa"], "--waiting"), (["sim", "ricart"], "ricart-agrawala"),
                            (["help", "step"], "step-down"), (["node", "--log", "j"], "json"), (["nonsense", "--x"], "")):
        code = f'. {script}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _conclave; echo "${{COMPREPLY[*]}}"'
        told = subprocess.run(["bash", "-c", code, "bash", os.path.abspath(CONCLAVE), *words], capture_output=True,
                              text=True, check=False)
        assert told.stdout.strip() == expected, (words, told)


if __name__ == "__main__":
    sys.exit(main([says_ready, gives_signs_of_life, watchdog_of_another, nobody_listens, unit_is_sound,
                   words_are_completed]))
