# SPDX-License-Identifier: MIT
"""The terms of a group: the settings that safety rests on are agreed, whatever a member's file says, and change without a gap."""

import os
import signal
import subprocess
import sys
import threading
import time

from group import Group
from harness import CONCLAVE, PATIENCE, Gone, Refused, main
from tie import Pair


class Termed(Group):
    """A group whose members may be given different files."""

    def rewrite(self, node, **settings):
        before = self.settings
        self.settings = {**before, **settings}
        path = self.directory / f"{node}.conf"
        lines = path.read_text(encoding="utf-8").split("[group]\n")[0]
        lines += "[group]\n" + "".join(f"{key.replace('_', '-')} = {value}\n" for key, value in self.settings.items())
        path.write_text(lines, encoding="utf-8")
        self.settings = before

    def restart(self, node):
        self.kill(node, which=signal.SIGTERM)
        self.start(node)

    def log(self, node):
        return (self.directory / f"{node}.log").read_text(encoding="utf-8")

    def facts(self, node):
        client = self.client(node)
        try:
            lines = client.ask("INFO", "configuration").split("\r\n")
        finally:
            client.close()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def run(self, node, *words):
        return subprocess.run([CONCLAVE, *words], env=dict(os.environ, CONCLAVE_SERVER=self.address(node)),
                              capture_output=True, text=True, check=False, timeout=PATIENCE)

    def await_fact(self, nodes, key, value):
        end = time.monotonic() + PATIENCE
        seen = {}
        while time.monotonic() < end:
            try:
                seen = {node: self.facts(node).get(key) for node in nodes}
            except (OSError, Gone, Refused):
                continue
            if set(seen.values()) == {str(value)}:
                return
            time.sleep(0.02)
        raise AssertionError(f"{key} is not {value}: {seen}")


def overlap(group, victim, rival):
    """A holder's node is stopped; by how many seconds is a rival granted before the holder's time is over?"""
    holder, other = group.client(victim), group.client(rival)
    fence = holder.ask("LOCK", "own", "WAIT", 10000)
    sure = 0
    for _ in range(20):  # so that the lease reaches its full length
        asked = time.monotonic()
        left = holder.ask("RENEW", "own", fence)
        assert left, "it was lost before anything happened"
        sure = max(sure, asked + left / 1000)
        time.sleep(0.02)
    group.kill(victim, which=signal.SIGSTOP)
    other.say("LOCK", "own")
    try:
        assert other.hear() > fence
    finally:
        granted = time.monotonic()
        group.kill(victim, which=signal.SIGCONT)
    holder.close()
    other.close()
    return sure - granted


def differing_lease():
    """A node whose file has a lease ten times as long uses the group's and says so, and there are never two holders."""
    with Termed(3, lease=300) as group:
        group.rewrite(2, lease=3000)
        group.restart(2)
        group.await_view()
        for _ in range(2):
            seconds = overlap(group, 2, 1)
            assert seconds <= 0, f"two held the lock for {seconds:.3f} s"
            group.await_view()
        assert group.facts(2)["lease"] == "300", group.facts(2)
        told = [line for line in group.log(2).splitlines() if "[group] lease = 3000" in line]
        assert len(told) == 1 and "conclave set group.lease=3000" in told[0], group.log(2)
        assert "[group] lease" not in group.log(1), group.log(1)


def differing_files():
    """Drift, bound and voters are the group's, too; each that differs is told in a line of its own."""
    with Termed(3, lease=400, drift="2", bound=60, voters=3) as group:
        group.rewrite(3, lease=900, drift="5", bound=70, voters=1)
        group.restart(3)
        group.await_view()
        group.await_fact([1, 2, 3], "lease", 400)
        facts = group.facts(3)
        assert (facts["drift_ppm"], facts["bound"], facts["voters"]) == ("20000", "60", "3"), facts
        for key in ("lease", "drift", "bound", "voters"):
            assert group.log(3).count(f"[group] {key} = ") == 1, (key, group.log(3))
        result = group.run(1, "doctor", "--json")
        assert "not the same" not in result.stdout, result.stdout


class Believers(threading.Thread):
    """Takes one lock again and again at a node, and notes from when until when it surely held it."""

    def __init__(self, group, node, spans):
        super().__init__(daemon=True)
        self.group, self.node, self.spans, self.done = group, node, spans, False
        self.start()

    def turn(self, client):
        fence = client.ask("LOCK", "turn", "WAIT", 2000)
        if fence is None:
            return
        begun, sure = time.monotonic(), 0.0
        try:
            for _ in range(3):
                asked = time.monotonic()
                left = client.ask("RENEW", "turn", fence)
                if not left:
                    break
                sure = max(sure, asked + left / 1000)
                time.sleep(0.005)
            now = time.monotonic()
            if client.ask("UNLOCK", "turn", fence) == 1:
                sure = min(sure, now) if sure else now
        finally:
            self.spans.append((fence, begun, sure))

    def run(self):
        while not self.done:
            try:
                client = self.group.client(self.node, timeout=5)
                while not self.done:
                    self.turn(client)
                client.close()
            except (Gone, Refused, OSError):
                time.sleep(0.05)


def changed_under_load():
    """The lease is lengthened and shortened while members are stopped; no two holders are ever sure at once."""
    with Termed(3, lease=300) as group:
        spans = []
        crowd = [Believers(group, node, spans) for node in (1, 2, 3)]
        for turn, length in enumerate((1500, 300, 900, 300)):
            result = group.run(1 + turn % 3, "set", f"group.lease={length}")
            assert result.returncode == 0 and f"lease is {length}" in result.stdout, result
            victim = 1 + (turn + 1) % 3
            group.kill(victim, which=signal.SIGSTOP)
            time.sleep(0.6)
            group.kill(victim, which=signal.SIGCONT)
            group.await_view()
            group.await_fact([1, 2, 3], "lease", length)
            time.sleep(0.3)
        for worker in crowd:
            worker.done = True
        for worker in crowd:
            worker.join(PATIENCE)
        for node in (1, 2, 3):  # a node that stood still may have missed a change that was soon undone
            log = (group.directory / f"{node}.log").read_text(encoding="utf-8")
            assert log.count("event=terms") >= 2 and "the group has agreed on lease = 300; it was " in log, log
        assert len(spans) > 20, len(spans)
        spans.sort()
        for before, after in zip(spans, spans[1:]):
            assert after[1] >= before[2], (before, after)


def held_through_changes():
    """Holders at all nodes keep what they hold while the lease gets ten times as long, and all else changes."""
    with Termed(3, lease=300) as group:
        clients = {node: group.client(node) for node in (1, 2, 3)}
        fences = {node: client.ask("LOCK", f"own-{node}") for node, client in clients.items()}
        for key, value, fact in (("lease", 3000, 3000), ("lease", 300, 300), ("drift", "5%", 50000), ("voters", 1, 1),
                                 ("lease", 1000, 1000), ("voters", 7, 7), ("bound", 80, 80), ("lease", 3000, 3000),
                                 ("drift", 0.5, 5000), ("lease", 300, 300)):
            result = group.run(2, "set", f"group.{key}={value}")
            assert result.returncode == 0, result
            group.await_fact([1, 2, 3], "drift_ppm" if key == "drift" else key, fact)
            for node, client in clients.items():
                left = client.ask("RENEW", f"own-{node}", fences[node])
                assert left and not client.pushes, (key, value, node, client.pushes)
        for node, client in clients.items():
            assert client.ask("UNLOCK", f"own-{node}", fences[node]) == 1, node
            client.close()


def of_two_with_a_file():
    """Two with a tie-breaker have no log: each counts by its own terms, and waits for the longer of both."""
    with Pair(lease=300) as group:
        path = group.directory / "2.conf"
        path.write_text(path.read_text(encoding="utf-8").replace("lease = 300", "lease = 1500"), encoding="utf-8")
        group.kill(2, which=signal.SIGTERM)
        group.start(2)
        group.await_view([1, 2])
        for _ in range(2):
            seconds = overlap(group, 2, 1)
            assert seconds <= 0, f"two held the lock for {seconds:.3f} s"
            group.await_view([1, 2])
        log = (group.directory / "1.log").read_text(encoding="utf-8")
        assert log.count("give both the same") == 1, log


def outlasting_a_restart():
    """The agreed terms count after a restart of all nodes, though the files say otherwise."""
    with Termed(3, lease=300) as group:
        result = group.run(1, "set", "group.lease=700")
        assert result.returncode == 0, result
        group.await_fact([1, 2, 3], "lease", 700)
        group.kill(1, 2, 3)
        group.start()
        group.await_view()
        group.await_fact([1, 2, 3], "lease", 700)
        group.kill(2, which=signal.SIGHUP)  # nothing in its file has changed
        group.rewrite(3, lease=500)
        group.kill(3, which=signal.SIGHUP)
        group.await_fact([1, 2, 3], "lease", 500)


def of_another_mode():
    """A node that is told to be static takes no part beside a group raft, and ends with one line."""
    with Termed(3) as group:
        fence = group.client(1).ask("LOCK", "own")
        group.rewrite(2, mode="static")
        group.kill(2, which=signal.SIGTERM)
        group.start(2)
        code = group.processes.pop(2).wait(PATIENCE)
        log = group.log(2)
        assert code == 3 and "[group] mode = static" in log, (code, log)
        assert log.count("[group] mode = static") == 1, log
        group.rewrite(2)
        group.start(2)
        group.await_view()
        assert group.client(3).ask("LOCK", "other") and fence


def refused():
    """A wrong setting is refused in one line."""
    with Termed(2) as group:
        for words in (["set"], ["set", "group.lease"], ["set", "group.lease=x"], ["set", "group.lease=19"],
                      ["set", "group.mode=static"], ["set", "lease=300"], ["set", "group.voters=9"],
                      ["set", "group.drift=21"], ["set", "group.lease=100"], ["set", "lease", "300"]):
            result = group.run(1, *words)
            assert result.returncode == 2 and result.stderr.count("\n") == 1 and words[-1].split("=")[-1] in result.stderr, (words, result)


def differing_rules():
    """A lock by a token ring here and by a coordinator there would have two holders: one with other rules stays out."""
    with Termed(3) as group:
        path = group.directory / "1.conf"
        before = path.read_text(encoding="utf-8")
        path.write_text(before + "[lock *]\nalgorithm = token-ring\n", encoding="utf-8")
        group.restart(1)
        group.await_view([2, 3])
        end = time.monotonic() + PATIENCE
        while not ("its rules for locks and elections are not those of this node, " in group.log(1) and "node 1 is refused: its rules" in group.log(3)):
            assert time.monotonic() < end, (group.log(1), group.log(3))
            time.sleep(0.02)
        assert "token-ring" in group.log(1), group.log(1)
        odd, client = group.client(1), group.client(3)
        held = client.ask("LOCK", "x")
        try:
            assert odd.ask("LOCK", "x", "WAIT", 200) is None, "two holders"
        except Refused:
            pass  # it is in no view
        path.write_text(before + "[lock *]\nalgorithm = central\n", encoding="utf-8")  # the default, written out
        group.restart(1)
        group.await_view([1, 2, 3])
        assert client.ask("UNLOCK", "x", held) == 1 and group.client(1).ask("LOCK", "x") > held


if __name__ == "__main__":
    sys.exit(main([differing_rules, differing_lease, differing_files, changed_under_load, held_through_changes, of_two_with_a_file, outlasting_a_restart, of_another_mode,
                   refused]))
