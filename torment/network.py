# SPDX-License-Identifier: MIT
"""The nodes' network: each in a namespace on a bridge, with cuts between them, or all on loopback."""

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
    """Node i is 10.77.0.i, and 10.78.0.i on a second network; the clients sit on the first bridge, 10.77.0.254."""

    title = "network namespaces"
    networks = 2  # at most

    def __init__(self, count, networks=1):
        self.count = count
        self.bridges = ["hub", "spare"][:networks]
        self.cuts = set()  # (from, to): `to` does not hear `from`
        self.dead = set()  # networks on which nodes do not hear each other
        self.built = []
        self.guests = {}  # name: the last number of its addresses
        try:
            for network, bridge in enumerate(self.bridges):
                run("ip", "addr", "add", f"{self.host(CLIENTS, network)}/24", "dev", bridge)
                run("ip", "link", "set", bridge, "up")
            for node in self.nodes():
                self.add(f"n{node}", node)
        except OSError:
            self.close()
            raise

    def nodes(self):
        return range(1, self.count + 1)

    def add(self, name, number):
        """Makes a machine with that last number in its addresses."""
        run("ip", "netns", "add", name)
        self.built.append(name)
        inside = "link set lo up\n"
        for network, bridge in enumerate(self.bridges):
            run("ip", "link", "add", f"{name}-{network}", "type", "veth", "peer", "name", f"eth{network}", "netns", name)
            run("ip", "link", "set", f"{name}-{network}", "master", bridge, "up")
            inside += f"addr add {self.host(number, network)}/24 dev eth{network}\nlink set eth{network} up\n"
        run("ip", "-netns", name, "-batch", "-", text=inside)

    def add_guest(self, name):
        """Makes a machine for a client. Returns the words to put before a command that runs there."""
        self.guests[name] = 100 + len(self.guests)
        self.add(name, self.guests[name])
        return ["ip", "netns", "exec", name]

    def guest_host(self, name):
        return self.host(self.guests[name])

    def unplug(self, name):
        """No packet leaves or reaches that machine any more, not even the end of a connection."""
        for network in range(len(self.bridges)):
            run("ip", "link", "set", f"{name}-{network}", "down")

    def remove(self, name):
        """Works for a machine that was only half made, too."""
        self.built.remove(name)
        for network in range(len(self.bridges)):
            subprocess.run(["ip", "link", "del", f"{name}-{network}"], capture_output=True, check=False)
        run("ip", "netns", "del", name)

    def host(self, node, network=0):
        return f"10.{77 + network}.0.{node or 254}"

    def client_address(self, node):
        return self.host(node), 7700

    def peer_addresses(self, node):
        return [(self.host(node, network), 7800) for network in range(len(self.bridges))]

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
        silenced = {self.host(other, network) for other, to in self.cuts if to == node for network in range(2)}
        silenced |= {self.host(other, network) for network in self.dead for other in self.nodes()}
        rule = f"ip saddr {{ {', '.join(sorted(silenced))} }} drop\n" if silenced else ""
        run(*self.prefix(node), "nft", "-f", "-", text="add table ip torment\ndelete table ip torment\n"
            "table ip torment {\n chain heard {\n type filter hook input priority 0\n" + rule + " }\n}\n")

    def change(self, cuts):
        """Cuts are pairs (from, to); everything else flows."""
        touched = {to for _, to in self.cuts ^ set(cuts)}
        self.cuts = set(cuts)
        for node in sorted(touched):
            self.apply(node)

    def lose_networks(self, dead):
        """On these networks nodes do not hear each other, on the others they do."""
        self.dead = set(dead)
        for node in self.nodes():
            self.apply(node)

    def close(self):
        for name in list(self.built):  # the kernel removes a namespace later, its links at once
            self.remove(name)
        for bridge in self.bridges:
            run("ip", "addr", "flush", "dev", bridge)


class Loopback:
    title = "loopback"
    networks = 1

    def __init__(self, count, networks=1):
        assert networks == 1
        self.cuts = set()
        probes = [socket.socket() for _ in range(2 * count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        self.ports = [probe.getsockname()[1] for probe in probes]
        for probe in probes:
            probe.close()

    def client_address(self, node):
        return "127.0.0.1", self.ports[2 * node - 2]

    def peer_addresses(self, node):
        return [("127.0.0.1", self.ports[2 * node - 1])]

    def prefix(self, _):
        return []

    def can_cut(self):
        return False

    def change(self, cuts):
        assert not cuts

    def lose_networks(self, dead):
        assert not dead

    def close(self):
        pass
