# SPDX-License-Identifier: MIT
"""Network namespaces that stand for hosts, joined by a bridge in a namespace of its own. Root may make them."""

import contextlib
import os
import signal
import subprocess


class Namespaces:
    """`names`, and the `addresses` of each in the others. Without the right to make them both are empty."""

    def __init__(self, kind, count, network):
        self.bridge = f"cv{kind}{os.getpid()}b"
        self.names = [f"cv{kind}{os.getpid()}x{i + 1}" for i in range(count)]
        self.addresses = [f"{network}.{i + 1}" for i in range(count)]
        if not self.make():
            self.remove()
            self.names, self.addresses = [], []

    def make(self):
        commands = [["ip", "netns", "add", name] for name in (self.bridge, *self.names)]
        commands += [["ip", "-n", self.bridge, "link", "add", "bridge", "type", "bridge"],
                     ["ip", "-n", self.bridge, "link", "set", "bridge", "up"]]
        for i, (name, address) in enumerate(zip(self.names, self.addresses)):
            commands += [["ip", "-n", name, "link", "add", "v0", "type", "veth", "peer", "name", f"v{i}", "netns", self.bridge],
                         ["ip", "-n", self.bridge, "link", "set", f"v{i}", "master", "bridge", "up"],
                         ["ip", "-n", name, "addr", "add", f"{address}/24", "dev", "v0"],
                         ["ip", "-n", name, "link", "set", "v0", "up"], ["ip", "-n", name, "link", "set", "lo", "up"]]
        try:
            return all(subprocess.run(command, capture_output=True, check=False).returncode == 0 for command in commands)
        except FileNotFoundError:
            return False

    def processes(self):
        """Those that live in these namespaces: nobody else knows their names."""
        found = []
        for name in self.names:
            done = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False)
            found += [int(pid) for pid in done.stdout.split()]
        return found

    def remove(self):
        """Ends what still runs there, too."""
        with contextlib.suppress(FileNotFoundError):
            for pid in self.processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for name in (self.bridge, *self.names):
                subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
