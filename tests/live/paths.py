# SPDX-License-Identifier: MIT
"""Members on two networks: traffic moves to the other one when one is cut, and clients do not notice.

Each node runs in a network namespace with two interfaces; if that is not possible, proxies stand for the networks.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

from group import Group, Link
from harness import CONCLAVE, PATIENCE, Gone, free_port, main, stretch
from raft import lock_once

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "torment"))
import isolation  # pylint: disable=wrong-import-position

ISOLATED = False


def run(*command, text=None):
    subprocess.run(command, input=text, text=True, check=True, capture_output=True)


class Proxies(Group):
    """Each pair has a link on each network; `networks[n]` are those of one."""

    def __init__(self, count, algorithm="central", **settings):
        self.networks = []
        self.algorithm = algorithm
        self.records = tempfile.TemporaryDirectory()
        self.key = f"{self.records.name}/key"
        subprocess.run([CONCLAVE, "keygen", self.key], check=True, capture_output=True)
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

    def own_address(self, number, node):
        return f"127.0.0.1:{self.ports[number][node]}"

    def address_of(self, number, node, other):
        """The address at which `node` finds `other` on that network."""
        link = self.networks[number].get((node, other))
        return f"127.0.0.1:{link.port}" if link else self.own_address(number, other)

    def configure(self, node, ports, joins):
        lines = ["[node]", f"id = {node}", f"listen = {self.address(node)}", f"directory = {self.directory}/{node}"]
        lines += [f"peers = {self.own_address(number, node)}" for number in (0, 1)]
        lines.append("[members]")
        for other in self.members:
            addresses = " ".join(self.address_of(number, node, other) for number in (0, 1))
            lines.append(f"{other} = {addresses} attribute 5")
        lines += ["[security]", f"cluster-key = {self.key}", "[lock *]", f"algorithm = {self.algorithm}", "[group]"]
        patient = {key: 300 * stretch() for key in ("lease", "timeout") if stretch() > 1}
        lines += [f"{key.replace('_', '-')} = {value}" for key, value in {**patient, **self.settings}.items()]
        (self.directory / f"{node}.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def prefix(self, node):
        """Put before a command, this runs it at the node."""
        return []

    def start(self, *nodes):
        for node in nodes or self.members:
            with open(self.directory / f"{node}.log", "a", encoding="utf-8") as log:
                self.processes[node] = subprocess.Popen(
                    [*self.prefix(node), CONCLAVE, "node", "--config", str(self.directory / f"{node}.conf"),
                     "--record", f"{self.records.name}/{node}.jsonl"], stdout=log, stderr=log)

    def judge(self):
        """After the end: no message was lost or came twice."""
        files = [f"{self.records.name}/{node}.jsonl" for node in self.members]
        result = subprocess.run([CONCLAVE, "judge", "--json", *files], capture_output=True, text=True, check=False)
        report = json.loads(result.stdout)
        assert result.returncode == 0 and report["verdict"] == "held", result.stdout
        return report

    def cut(self, number, *direction):
        """All of a network, or only what goes from lower to higher ids (`up`), or the other way."""
        for (low, high), link in self.networks[number].items():
            link.cut(*[(low, high) if way == "up" else (high, low) for way in direction])

    def isolate(self, node):
        for (_, *pair), link in self.links.items():
            if node in pair:
                link.cut()

    def facts(self, node):
        client = self.client(node)
        info = dict(line.split(":", 1) for line in client.ask("INFO").splitlines() if ":" in line)
        client.close()
        return info

    def moves(self):
        return sum(int(value.split("moves=")[1]) for node in self.members
                   for key, value in self.facts(node).items() if key.startswith("peer") and "moves=" in value)


class Namespaces(Proxies):
    """The same with interfaces eth0 and eth1 of the kernel's own."""

    def reconfigure(self, members, joining=()):
        self.members = list(members)
        for number in (0, 1):
            run("ip", "link", "add", f"hub{number}", "type", "bridge")
            run("ip", "link", "set", f"hub{number}", "up")
        for node in self.members:
            run("ip", "netns", "add", f"n{node}")
            for number in (0, 1):
                name, inside = f"n{node}e{number}", f"n{node}"
                run("ip", "link", "add", name, "type", "veth", "peer", "name", f"eth{number}", "netns", inside)
                run("ip", "link", "set", name, "master", f"hub{number}", "up")
                run("ip", "-n", inside, "addr", "add", f"10.{number}.0.{node}/24", "dev", f"eth{number}")
                run("ip", "-n", inside, "link", "set", f"eth{number}", "up")
            self.configure(node, None, node in joining)

    def own_address(self, number, node):
        return f"10.{number}.0.{node}:7800"

    def address_of(self, number, node, other):
        return self.own_address(number, other)

    def prefix(self, node):
        return ["ip", "netns", "exec", f"n{node}"]

    def drop(self, node, rules):
        """The addresses that the node does not hear."""
        run(*self.prefix(node), "nft", "-f", "-", text="add table ip test\ndelete table ip test\n"
                    "table ip test {\n chain heard {\n type filter hook input priority 0\n"
                    + "".join(f"{rule} drop\n" for rule in rules) + " }\n}\n")

    def cut(self, number, *direction):
        for node in self.members:
            sources = [other for other in self.members
                       if not direction or ("up" if other < node else "down") in direction]
            self.drop(node, [f"ip saddr 10.{number}.0.{other}" for other in sources])

    def isolate(self, node):
        self.drop(node, ["ip saddr 10.0.0.0/8"])

    def heal(self):
        for node in self.members:
            self.drop(node, [])

    def __exit__(self, *problem):
        try:
            super().__exit__(*problem)
        finally:
            for node in self.members:  # a namespace goes when the kernel finds time, its links at once
                for number in (0, 1):
                    run("ip", "link", "del", f"n{node}e{number}")
                run("ip", "netns", "del", f"n{node}")
            for number in (0, 1):
                run("ip", "link", "del", f"hub{number}")


def networks(count, *algorithm, **settings):
    return (Namespaces if ISOLATED else Proxies)(count, *algorithm, **settings)


class Load:
    """Clients that lock and unlock without end; none may ever lose a lock or wait for long."""

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
                time.sleep(0.003)  # often enough for what is under way; other tests want the processor, too
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


def cut_under_load(*direction, mode="raft", algorithm="central"):
    """One network after the other is cut, in one direction or both: no view, no suspicion, no lock lost."""
    with networks(3, algorithm, mode=mode) as group:
        before = group.await_view()["epoch"]
        suspicions = {node: group.facts(node)["suspicions"] for node in group.members}
        holder = group.client(1)
        held = holder.ask("LOCK", "held")
        with Load(group, longest=2 * stretch()) as load:
            for turn, number in enumerate((0, 1, 0, 1)):
                time.sleep(0.3)
                moves, cycles = group.moves(), load.cycles
                group.cut(number, *direction)
                end = time.monotonic() + PATIENCE
                while (group.moves() <= moves and turn) or load.cycles <= cycles + 10:
                    assert time.monotonic() < end, "traffic has not moved, or nothing goes on"
                    time.sleep(0.1)
                time.sleep(0.7)
                group.heal()
        assert not holder.pushes and holder.ask("UNLOCK", "held", held) == 1
        holder.close()
        after = {node: group.facts(node)["suspicions"] for node in group.members}
        assert suspicions == after, f"suspicions before and after: {suspicions}, {after}"
        assert group.await_view()["epoch"] == before, "a member was suspected"
        assert all(group.facts(node)["disagreements"] == "0" for node in group.members), "disagreements"
    report = group.judge()
    counts = [p["verdict"] for name in report["names"] if name["name"] == "busy" and name["of"] == "nodes"
              for p in name["properties"] if p["name"] == "textbook-messages"]
    assert mode == "raft" or counts == ["held"], report


def one_network_cut():
    cut_under_load()


def one_network_cut_static():
    cut_under_load(mode="static", algorithm="ricart-agrawala")


def cut_upwards():
    cut_under_load("up")


def cut_downwards():
    cut_under_load("down")


def both_cut():
    """Both networks are cut: the majority goes on without the node that is cut off."""
    with networks(3) as group:
        before = group.await_view()["epoch"]
        group.isolate(1)
        assert group.await_view([2, 3])["epoch"] > before
        lock_once(group, 2)
        group.heal()
        group.await_view()


def started_while_cut():
    """A node that starts when the first network is cut finds the others by the second."""
    with networks(3) as group:
        group.kill(1, 3)
        group.cut(0)
        group.start(1, 3)
        group.await_view()
        lock_once(group, 1)


def shows_itself():
    with networks(2, mode="static") as group:
        for number in (0, 1):
            group.heal()
            group.cut(1 - number)
            at = [group.address_of(number, 1, 2), group.own_address(number, 2)]
            end, shown = time.monotonic() + PATIENCE, None
            while shown != at:
                assert time.monotonic() < end, f"{shown} is shown, and not {at}"
                time.sleep(0.05)
                shown = [group.view(1)["members"][1]["at"], group.view(2)["members"][0]["at"]]
            result = subprocess.run([CONCLAVE, "status", "--server", group.address(1)], capture_output=True, text=True,
                                    check=False)
            assert f"reached at {at[0]}" in result.stdout, result


TESTS = [one_network_cut, one_network_cut_static, cut_upwards, cut_downwards, both_cut, started_while_cut, shows_itself]


def run_tests(isolated):
    global ISOLATED  # pylint: disable=global-statement
    ISOLATED = isolated
    try:
        return main(TESTS)
    except Gone:
        return 1


if __name__ == "__main__":
    sys.exit(isolation.run_isolated(run_tests))
