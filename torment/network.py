# SPDX-License-Identifier: MIT
"""Where the nodes live: each in a network namespace on a bridge, with cuts between them, or all on loopback."""

import shutil
import socket
import subprocess

CLIENTS = 0  # the clients' side of the bridge, where a cut names a node


def run(*command, text=None):
    """The command's complaint, or nothing."""
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if result.returncode:
        raise OSError(f"{' '.join(command)}: {result.stderr.strip()}")


class Namespaces:
    """Node i is 10.77.0.i; the clients sit on the bridge itself, 10.77.0.254."""

    title = "network namespaces"

    def __init__(self, count):
        self.count = count
        self.cuts = set()  # (from, to): what `to` does not hear
        self.built = []
        try:
            run("ip", "addr", "add", "10.77.0.254/24", "dev", "hub")
            run("ip", "link", "set", "hub", "up")
            for node in self.nodes():
                self.add(node)
        except OSError:
            self.close()
            raise

    def nodes(self):
        return range(1, self.count + 1)

    def add(self, node):
        name = f"n{node}"
        run("ip", "netns", "add", name)
        run("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
        self.built.append(name)
        run("ip", "link", "set", name, "master", "hub", "up")
        inside = f"addr add {self.host(node)}/24 dev eth0\nlink set eth0 up\nlink set lo up\n"
        run("ip", "-netns", name, "-batch", "-", text=inside)

    def host(self, node):
        return f"10.77.0.{node or 254}"

    def client_address(self, node):
        return self.host(node), 7700

    def peer_address(self, node):
        return self.host(node), 7800

    def prefix(self, node):
        """Put before a command, this runs it at the node."""
        return ["ip", "netns", "exec", f"n{node}"]

    def can_cut(self):
        if not shutil.which("nft"):
            return False
        try:
            self.apply(1)
        except OSError:
            return False
        return True

    def apply(self, node):
        """One transaction, so that no packet slips through between two rules."""
        silenced = sorted(self.host(other) for other, to in self.cuts if to == node)
        rule = f"ip saddr {{ {', '.join(silenced)} }} drop\n" if silenced else ""
        run(*self.prefix(node), "nft", "-f", "-", text="add table ip torment\ndelete table ip torment\n"
            "table ip torment {\n chain heard {\n type filter hook input priority 0\n" + rule + " }\n}\n")

    def change(self, cuts):
        """Cuts are pairs (from, to); everything else flows."""
        touched = {to for _, to in self.cuts ^ set(cuts)}
        self.cuts = set(cuts)
        for node in sorted(touched):
            self.apply(node)

    def close(self):
        for name in self.built:  # a namespace goes when the kernel finds time, its link at once
            run("ip", "link", "del", name)
            run("ip", "netns", "del", name)
        self.built = []
        run("ip", "addr", "flush", "dev", "hub")


class Loopback:
    title = "loopback"

    def __init__(self, count):
        self.cuts = set()
        probes = [socket.socket() for _ in range(2 * count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        self.ports = [probe.getsockname()[1] for probe in probes]
        for probe in probes:
            probe.close()

    def client_address(self, node):
        return "127.0.0.1", self.ports[2 * node - 2]

    def peer_address(self, node):
        return "127.0.0.1", self.ports[2 * node - 1]

    def prefix(self, _):
        return []

    def can_cut(self):
        return False

    def change(self, cuts):
        assert not cuts

    def close(self):
        pass
