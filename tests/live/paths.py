# SPDX-License-Identifier: MIT
"""Members on two networks: traffic moves to the other when one is cut, and nobody notices."""

import subprocess
import sys
import threading
import time

from group import Group, Link
from harness import CONCLAVE, Gone, free_port, main
from raft import lock_once


class Networks(Group):
    """Each pair has a link on each network; `networks[n]` are those of one."""

    def __init__(self, count, **settings):
        self.networks = []
        super().__init__(count, **settings)

    def reconfigure(self, members, joining=()):
        self.members = list(members)
        self.ports = [{node: free_port() for node in self.members} for _ in range(2)]
        self.networks = [{(a, b): Link(a, b, ports[b]) for a in self.members for b in self.members if a < b}
                         for ports in self.ports]
        self.links = {(number, *pair): link for number, network in enumerate(self.networks)
                      for pair, link in network.items()}
        for node in self.members:
            self.configure(node, None, node in joining)

    def configure(self, node, ports, joins):
        lines = ["[node]", f"id = {node}", f"listen = {self.address(node)}", f"directory = {self.directory}/{node}"]
        lines += [f"peers = 127.0.0.1:{own[node]}" for own in self.ports]
        lines.append("[members]")
        for other in self.members:
            pair = (node, other)
            addresses = [network[pair].port if pair in network else own[other]
                         for network, own in zip(self.networks, self.ports)]
            lines.append(f"{other} = " + " ".join(f"127.0.0.1:{port}" for port in addresses) + " attribute 5")
        lines.append("[group]")
        lines += [f"{key.replace('_', '-')} = {value}" for key, value in self.settings.items()]
        (self.directory / f"{node}.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def cut(self, number, *direction):
        for (low, high), link in self.networks[number].items():
            link.cut(*[(low, high) if way == "up" else (high, low) for way in direction])

    def facts(self, node):
        client = self.client(node)
        info = dict(line.split(":", 1) for line in client.ask("INFO").splitlines() if ":" in line)
        client.close()
        return info

    def moves(self):
        return sum(int(value.split("moves=")[1]) for node in self.members
                   for key, value in self.facts(node).items() if key.startswith("peer") and "moves=" in value)


class Load:
    """Clients that lock and unlock as fast as they can; none may ever lose a lock or wait for long."""

    def __init__(self, group, longest):
        self.group, self.longest = group, longest
        self.stopping, self.problems, self.cycles = False, [], 0
        self.threads = [threading.Thread(target=self.run, args=(node,)) for node in group.members]

    def run(self, node):
        client = self.group.client(node)
        try:
            last = 0
            while not self.stopping:
                begun = time.monotonic()
                fence = client.ask("LOCK", "busy")
                assert fence > last, "a fence that does not rise"
                last = fence
                assert client.ask("UNLOCK", "busy", fence) == 1, "lost"
                took = time.monotonic() - begun
                assert took < self.longest, f"waited {took:.3f} s"
                self.cycles += 1
        except Exception as error:  # pylint: disable=broad-except
            self.problems.append(error)
        client.close()

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopping = True
        for thread in self.threads:
            thread.join()
        assert not self.problems, self.problems


def cut_under_load(*direction, mode="raft"):
    """One network after the other is cut, in one direction or both: no view, no suspicion, no lock lost."""
    with Networks(3, mode=mode) as group:
        before = group.await_view()["epoch"]
        suspicions = {node: group.facts(node)["suspicions"] for node in group.members}
        holder = group.client(1)
        held = holder.ask("LOCK", "held")
        with Load(group, longest=2) as load:
            for turn, number in enumerate((0, 1, 0, 1)):
                time.sleep(0.3)
                moves, cycles = group.moves(), load.cycles
                group.cut(number, *direction)
                time.sleep(0.7)
                assert group.moves() > moves or not turn, "traffic has not moved"
                assert load.cycles > cycles + 10, "nothing goes on"
                group.heal()
        assert not holder.pushes and holder.ask("UNLOCK", "held", held) == 1
        holder.close()
        after = {node: group.facts(node)["suspicions"] for node in group.members}
        assert suspicions == after, f"suspicions before and after: {suspicions}, {after}"
        assert group.await_view()["epoch"] == before, "somebody was missed"
        assert all(group.facts(node)["disagreements"] == "0" for node in group.members), "disagreements"


def one_network_cut():
    cut_under_load()


def one_network_cut_static():
    cut_under_load(mode="static")


def cut_upwards():
    cut_under_load("up")


def cut_downwards():
    cut_under_load("down")


def both_cut():
    """Then it is as ever: the majority goes on without whoever is cut off."""
    with Networks(3) as group:
        before = group.await_view()["epoch"]
        for (_, low, _), link in group.links.items():
            if low == 1:
                link.cut()
        assert group.await_view([2, 3])["epoch"] > before
        lock_once(group, 2)
        group.heal()
        group.await_view()


def started_while_cut():
    """A node that starts when the first network is cut finds the others by the second."""
    with Networks(3) as group:
        group.kill(1, 3)
        group.cut(0)
        group.start(1, 3)
        group.await_view()
        lock_once(group, 1)


def shows_itself():
    with Networks(2, mode="static") as group:
        for number in (0, 1):
            group.heal()
            group.cut(1 - number)
            time.sleep(1)
            at = [f"127.0.0.1:{group.networks[number][1, 2].port}", f"127.0.0.1:{group.ports[number][2]}"]
            assert [group.view(1)["members"][1]["at"], group.view(2)["members"][0]["at"]] == at, "not as it is"
            result = subprocess.run([CONCLAVE, "status", "--server", group.address(1)], capture_output=True, text=True,
                                    check=False)
            assert f"reached at {at[0]}" in result.stdout, result


if __name__ == "__main__":
    try:
        sys.exit(main([one_network_cut, one_network_cut_static, cut_upwards, cut_downwards, both_cut,
                       started_while_cut, shows_itself]))
    except Gone:
        sys.exit("a node ended")
