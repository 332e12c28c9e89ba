# SPDX-License-Identifier: MIT
"""Clients get answers: from nodes that are still starting, and from groups that have lived through many faults."""

import pathlib
import re
import signal
import sys
import time

from group import Group
from harness import PATIENCE, Gone, main

ALGORITHMS = ("token-ring", "central", "central-deny", "ricart-agrawala", "lamport", "maekawa", "voting")


def use_algorithm(group, algorithm):
    for node in group.members:
        path = group.directory / f"{node}.conf"
        path.write_text(path.read_text() + f"[lock *]\nalgorithm = {algorithm}\n", encoding="utf-8")


def first_client(group, node):
    """Connects as early as the node takes connections."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            return group.client(node)
        except (OSError, Gone):
            time.sleep(0.001)
    raise AssertionError(f"node {node} takes no connections")


def start_and_ask(group, node, name):
    """The fence of a lock that was asked for before the node was in a view; None if the node was faster."""
    group.kill(node)
    group.await_view([other for other in group.members if other != node])
    group.start(node)
    client = first_client(group, node)
    early = client.ask("VIEW")["epoch"] == 0
    fence = client.ask("LOCK", name)
    client.close()
    group.await_view()
    return fence if early else None


def asked_while_starting():
    """A lock that is asked for before the node is in a view is granted, even if no other client ever asks for it."""
    for algorithm in ALGORITHMS:
        group = Group(3)
        use_algorithm(group, algorithm)
        with group:
            for node in group.members:
                fences = (start_and_ask(group, node, f"fresh-{node}-{turn}") for turn in range(5))
                assert any(fences), f"{algorithm}: node {node} was always in a view before it could be asked"


# ---- rest ----


def wakeups(pid):
    """The wake-ups of all its threads so far."""
    found = 0
    for status in pathlib.Path(f"/proc/{pid}/task").glob("*/status"):
        found += int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)$", status.read_text(encoding="utf-8"), re.M)[1])
    return found


def idle_nodes_rest():
    """Heartbeats and their answers wake a node twenty times a second; other causes are rare."""
    with Group(3) as group:
        time.sleep(2.5)  # a better coordinator may wait for its hold-off
        before, begun = {node: wakeups(process.pid) for node, process in group.processes.items()}, time.monotonic()
        time.sleep(5)
        seconds = time.monotonic() - begun
        rates = {node: (wakeups(process.pid) - before[node]) / seconds for node, process in group.processes.items()}
        assert max(rates.values()) < 140, rates


# ---- many faults ----


def detector(group, node):
    client = group.client(node)
    facts = dict(line.split(":", 1) for line in client.ask("INFO", "detector").split("\r\n") if ":" in line)
    client.close()
    return {key: int(value) for key, value in facts.items()}


def most_patient(group, victim):
    """The silence of the victim that the others allow, once they hear it regularly again."""
    end, patience = time.monotonic() + PATIENCE, 0
    while time.monotonic() < end:
        patience = max(detector(group, node)[f"timeout_ms_of_{victim}"] for node in group.members if node != victim)
        if patience <= 300:
            break
        time.sleep(0.1)
    return patience


def faults_in_a_row(strike, mend, seconds):
    """After ten faults a silent node is suspected as soon as after the first."""
    with Group(3) as group:
        for _ in range(10):
            strike(group, 3)
            group.await_view([1, 2])
            time.sleep(seconds)
            mend(group, 3)
            group.await_view()
        facts = {node: detector(group, node) for node in (1, 2)}
        assert all(each["outages"] > each["mistakes"] for each in facts.values()), facts
        assert (patience := most_patient(group, 3)) <= 300, (patience, facts)


def hangs_are_no_mistakes():
    faults_in_a_row(lambda group, node: group.kill(node, which=signal.SIGSTOP),
                    lambda group, node: group.kill(node, which=signal.SIGCONT), 0.1)


def cuts_are_no_mistakes():
    faults_in_a_row(lambda group, node: group.split([node], [other for other in group.members if other != node]),
                    lambda group, _: group.heal(), 1)


if __name__ == "__main__":
    sys.exit(main([asked_while_starting, idle_nodes_rest, hangs_are_no_mistakes, cuts_are_no_mistakes]))
