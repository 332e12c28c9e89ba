# SPDX-License-Identifier: MIT
"""`conclave doctor`: its findings in healthy clusters and in others. Fake nodes report troubles that would take days or a broken
disk."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from group import Group
from harness import CONCLAVE, PATIENCE, Client, Cluster, Node, main
from secured import Secured, World

CHECKS = ["majority", "members", "links", "identity", "view", "lease", "configuration", "version", "loop", "detector",
          "disk", "tls", "waiting", "holds"]


def doctor(*words):
    return subprocess.run([CONCLAVE, "doctor", *map(str, words)], capture_output=True, text=True, check=False,
                          timeout=60)


def examine(addresses, *words):
    """(exit code, [(check, severity, text)...]) as its JSON tells; the text for people has to say the same."""
    connect = [word for address in addresses for word in ("--connect", address)]
    told = doctor("--json", *connect, *words)
    assert told.returncode in (0, 1), told
    report = json.loads(told.stdout)
    assert report["healthy"] == (told.returncode == 0)
    findings = [(f["check"], f["severity"], f["text"]) for f in report["findings"]]
    for finding in report["findings"]:
        assert (finding["severity"] == "ok") == (finding["remedy"] is None), finding
    rank = ["problem", "warning", "ok"]
    assert [rank.index(f[1]) for f in findings] == sorted(rank.index(f[1]) for f in findings), "the worst first"
    return told.returncode, findings


def troubles(findings):
    return {(check, severity) for check, severity, _ in findings if severity != "ok"}


def words_of(findings, check):
    return " | ".join(text for name, severity, text in findings if name == check and severity != "ok")


def all_of(group):
    return [group.address(node) for node in group.members]


def healthy():
    with Group(3) as group:
        code, findings = examine(all_of(group))
        assert code == 0 and [f[0] for f in findings] == CHECKS, findings
        text = doctor(*[word for address in all_of(group) for word in ("--connect", address)])
        lines = text.stdout.splitlines()
        assert text.returncode == 0 and lines[0] == "healthy" and len(lines) == 1 + len(CHECKS), text.stdout
        assert all(line.startswith("ok ") for line in lines[1:]), text.stdout
        assert "who hears whom" not in text.stdout and "\033" not in text.stdout


def one_of_three_is_gone():
    with Group(3) as group:
        group.kill(3)
        group.await_view([1, 2])
        code, findings = examine([group.address(1), group.address(2)])
        assert code == 1 and troubles(findings) == {("members", "problem")}, findings
        assert "node 3 is gone, not heard of for" in words_of(findings, "members")
        text = doctor("--server", group.address(1) + "," + group.address(2)).stdout
        assert "who hears whom" in text and text.splitlines()[0] == "not healthy"
        assert "what to do: start it" in text, text
        rows = [line.split() for line in text.splitlines()[-3:]]
        assert rows == [["1", "-", "yes", "x"], ["2", "yes", "-", "x"], ["3", "?", "?", "-"]], rows


def told_once():
    """A member that is gone is told of by its id, and not again by the address that was given for it."""
    with Cluster(3, record=False) as cluster:
        cluster.await_view([1, 2, 3])
        cluster.kill(3)
        text = doctor("--server", ",".join(cluster.address(node) for node in (1, 2, 3)) + ",/nowhere/s").stdout
        assert "node 3 is gone" in text and f"{cluster.address(3)} does not answer" not in text, text
        assert "/nowhere/s does not answer" in text, text


def far_apart():
    """Members too far from each other for the default lease find no leader, and the doctor says why; a longer lease helps."""
    for settings in ({"lease": 300, "timeout": 300}, {"lease": 3000, "timeout": 3000}):
        group = Group(3, delay=0.1, **settings)
        try:
            group.start()
            if settings["lease"] > 300:
                group.await_view()
                assert "distance" not in [check for check, _ in troubles(examine(all_of(group))[1])]
                continue
            end = time.monotonic() + PATIENCE
            while True:
                told = doctor("--json", *[word for address in all_of(group) for word in ("--connect", address)]).stdout
                if "ms apart, there and back: too far for a lease of 300 ms" in told:
                    break
                assert time.monotonic() < end, told
                time.sleep(0.2)
        finally:
            group.__exit__()


def members_that_never_came():
    """A member that was asked for, but that nobody has ever heard, is a finding like others."""
    with Cluster(3, record=False) as cluster:
        cluster.await_view([1, 2, 3])
        client = cluster.client(1)
        assert client.ask("JOIN", 4, "127.0.0.1:1") == "OK"
        end = time.monotonic() + PATIENCE
        while len(client.ask("VIEW")["members"]) < 4:
            assert time.monotonic() < end, client.ask("VIEW")
            time.sleep(0.02)
        client.close()
        code, findings = examine([cluster.address(1)])
        assert code == 1 and troubles(findings) == {("members", "warning")}, findings
        assert "node 4 has never come" in words_of(findings, "members"), findings


def standbys_are_not_missed():
    """The doctor misses a standby only after it has been a member of a view."""
    group = Group(4, standbys=[4])
    group.start(1, 2, 3)
    group.await_view([1, 2, 3])
    addresses = [group.address(node) for node in (1, 2, 3)]
    try:
        end = time.monotonic() + PATIENCE
        while len(group.view(1)["members"]) < 4:
            assert time.monotonic() < end, group.view(1)
            time.sleep(0.02)
        assert examine(addresses)[0] == 0
        group.start(4)
        group.await_view()
        assert examine(all_of(group))[0] == 0
        group.kill(4)
        group.await_view([1, 2, 3])
        code, findings = examine(addresses)
        assert code == 1 and troubles(findings) == {("members", "warning")}, findings
    finally:
        group.__exit__()


def two_of_three_are_gone():
    with Group(3) as group:
        group.kill(2, 3)
        time.sleep(0.5)
        code, findings = examine([group.address(1)])
        assert code == 1 and findings[0][:2] == ("majority", "problem"), findings
        assert "1 of 3 members" in findings[0][2] and "node 2 (not heard" in findings[0][2] and "node 3" in findings[0][2]
        assert ("members", "problem") in troubles(findings)
        group.start(2, 3)
        group.await_view()
        assert examine(all_of(group))[0] == 0, "well again"


def one_hangs():
    with Group(3) as group:
        path = group.directory / "1.conf"  # so that the doctor knows where to ask for node 3
        path.write_text(path.read_text().replace("\n[group]", f" client {group.address(3)}\n[group]"), encoding="utf-8")
        group.kill(1, which=signal.SIGTERM)
        group.start(1)
        group.await_view()
        group.kill(3, which=signal.SIGSTOP)
        group.await_view([1, 2])
        code, findings = examine([group.address(1)])
        assert code == 1 and "node 3 hangs: it takes calls" in words_of(findings, "members"), findings


def two_do_not_hear_each_other():
    with Group(3) as group:
        leader = group.await_view()["raft_leader"]
        pair = tuple(node for node in group.members if node != leader)
        group.links[pair].cut()
        time.sleep(1)
        code, findings = examine(all_of(group))
        assert code == 1 and ("links", "problem") in troubles(findings), findings
        assert "node %d and node %d do not hear each other" % pair in words_of(findings, "links"), findings
        group.heal()


def one_is_cut_off():
    """A node that answers but has no lease; the others go on."""
    with Group(3) as group:
        group.split([1], [2, 3])
        group.await_view([2, 3])
        time.sleep(0.5)
        code, findings = examine(all_of(group))
        assert code == 1 and ("lease", "problem") in troubles(findings), findings
        assert "node 1 has no lease" in words_of(findings, "lease") and "no majority" in words_of(findings, "lease")
        assert ("majority", "ok") in {f[:2] for f in findings}, "the majority grants"
        group.heal()


def configurations_differ():
    with Group(3) as group:
        path = group.directory / "2.conf"
        path.write_text(path.read_text() + "[group]\nlease = 400\nhold-off = 1500\n[lock a*]\nalgorithm = lamport\n", encoding="utf-8")
        group.kill(2, which=signal.SIGTERM)
        group.start(2)
        group.await_view([1, 3])  # with other rules for locks it is refused
        code, findings = examine(all_of(group))
        assert code == 1 and ("configuration", "problem") in troubles(findings), findings
        assert "its rules for locks and elections" in str(findings), findings
        told = words_of(findings, "configuration")
        assert "hold_off is 2000 at node 1 and 1500 at node 2" in told and "lease is" not in told and "lock_of_a* is" in told, told


def directory_removed():
    with Group(1) as group:
        shutil.move(group.directory / "1", group.directory / "elsewhere")
        code, findings = examine(all_of(group))
        assert code == 1 and troubles(findings) == {("disk", "problem")}, findings
        assert "cannot find its [node] directory" in words_of(findings, "disk"), findings
        shutil.move(group.directory / "elsewhere", group.directory / "1")


def long_queues_and_holds():
    with Group(1) as group:
        holder, *waiting = [group.client(1) for _ in range(4)]
        holder.ask("LOCK", "busy")
        for client in waiting:
            client.say("LOCK", "busy")
        time.sleep(1.1)
        addresses = all_of(group)
        assert examine(addresses)[0] == 0
        code, findings = examine(addresses, "--waiting", 2)
        assert code == 1 and troubles(findings) == {("waiting", "warning")} and "3 clients of node 1 wait for busy" in str(findings)
        assert examine(addresses, "--waiting", 3)[0] == 0
        code, findings = examine(addresses, "--held", 0)
        assert code == 1 and troubles(findings) == {("holds", "warning")} and "busy for" in str(findings), findings
        for client in (holder, *waiting):
            client.close()
        leader = group.client(1)
        leader.ask("CAMPAIGN", "boss")
        time.sleep(0.05)
        assert examine(addresses, "--held", 0)[0] == 0, "leaders lead for long"
        leader.close()


def certificate_runs_out():
    for days, severity in ((60, None), (20, "warning"), (3, "problem")):
        with World() as world:
            ca = world.authority("ca")
            certificate, key = world.certificate("node", "ca", days=days)
            mine, mine_key = world.certificate("me", "ca")
            security = f"ca = {ca}\ncertificate = {certificate}\nprivate-key = {key}\n"
            with Secured(world, security) as node:
                code, findings = examine([node.address], "--tls-ca", ca, "--tls-certificate", mine, "--tls-private-key",
                                         mine_key)
                assert (code == 1) == bool(severity), findings
                assert troubles(findings) == ({("tls", severity)} if severity else set()), findings


class Fake:
    """Fake nodes with scripted answers."""

    def __init__(self, count, mode="raft"):
        self.directory = tempfile.TemporaryDirectory()
        self.count, self.mode = count, mode
        self.facts = {node: {"conclave_version": "1", "serves": 1, "uptime_in_seconds": 6000} for node in self.nodes()}
        self.suspected = set()  # (observer, seen)
        self.epochs = {node: 5 for node in self.nodes()}
        self.leases = {node: 200 for node in self.nodes()}
        self.servers = []

    def nodes(self):
        return range(1, self.count + 1)

    def address(self, node):
        return f"{self.directory.name}/{node}"

    def __enter__(self):
        for node in self.nodes():
            server = socket.socket(socket.AF_UNIX)
            server.bind(self.address(node))
            server.listen()
            self.servers.append(server)
            threading.Thread(target=self.serve, args=(server, node), daemon=True).start()
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.close()
        self.directory.cleanup()

    def serve(self, server, node):
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection, connection.makefile("rwb") as file:
                while head := file.readline():
                    words = []
                    for _ in range(int(head[1:])):
                        words.append(file.read(int(file.readline()[1:]) + 2)[:-2].decode())
                    file.write(self.encode(self.answer(node, words[0])))
                    file.flush()

    def encode(self, value):
        if isinstance(value, int):
            return b":%d\r\n" % value
        if isinstance(value, str):
            return b"$%d\r\n%s\r\n" % (len(value), value.encode())
        if isinstance(value, dict):
            return b"%%%d\r\n" % len(value) + b"".join(self.encode(k) + self.encode(v) for k, v in value.items())
        return b"*%d\r\n" % len(value) + b"".join(map(self.encode, value))

    def answer(self, node, word):
        if word == "VIEW":
            view = {"mode": self.mode, "epoch": self.epochs[node], "id": node, "coordinator": 1, "members": [
                {"id": other, "member": 1, "last_heard_ms": 7,
                 "state": "self" if other == node else "suspected" if (node, other) in self.suspected else "alive"}
                for other in self.nodes()]}
            if self.mode == "raft":
                view["lease_ms"] = self.leases[node]
            return view
        if word == "INFO":
            return "# Peers\r\n" + "".join(f"{key}:{value}\r\n" for key, value in self.facts[node].items())
        return [] if word == "LOCKS" else {}

    def examine(self):
        return examine([self.address(node) for node in self.nodes()])


def told_by_fakes():
    with Fake(3) as fake:
        assert fake.examine()[0] == 0

        def expect(change, undo, check, severity, words):
            change()
            code, findings = fake.examine()
            undo()
            assert code == 1 and troubles(findings) == {(check, severity)}, (check, findings)
            assert words in words_of(findings, check), findings

        def fact(key, value, check, severity, words):
            old = fake.facts[2].get(key)
            expect(lambda: fake.facts[2].update({key: value}),
                   lambda: fake.facts[2].pop(key) if old is None else fake.facts[2].update({key: old}),
                   check, severity, words)

        fact("conclave_version", "2", "version", "warning", "node 1 runs 1, node 2 runs 2")
        fact("disk_free", 60 << 20, "disk", "problem", "node 2 has 60 MB left")
        fact("disk_last_us", 250000, "disk", "warning", "node 2 took 250 ms")
        fact("loop_late_ms", 151, "loop", "warning", "node 2 was stuck for 151 ms")
        fact("mistakes", 11, "detector", "warning", "11 times in 100 min")
        fact("trouble_with_3", "certificate verify failed", "tls", "problem", "node 2 and node 3 do not trust")
        fact("grace_ms", 4000, "grace", "warning", "new grants wait")
        fact("grace_ms", 3 * 86400000, "grace", "warning", time.strftime("until %Y-%m-%d ", time.localtime(time.time() + 3 * 86400)))
        fake.facts[2].update(grace_ms=600, serves=1)
        said = [text for check, _, text in fake.examine()[1] if check == "majority"]
        assert said == ["3 of 3 members that have a vote are there; nothing new is granted before the time of grace is over"], said
        fake.facts[2].update(grace_ms=0)
        fake.facts[2]["raft_leader"] = 2
        fact("log_voters", "1,2", "votes", "warning", "node 3 is to vote")
        fact("certificate_expires", int(time.time()) - 100, "tls", "problem", "has run out")
        for key, value in (("disk_free", 70 << 20), ("disk_last_us", 90000), ("loop_late_ms", 149), ("mistakes", 4),
                           ("certificate_expires", int(time.time()) + 40 * 86400)):
            fake.facts[2][key] = value
        assert fake.examine()[0] == 0, "not beyond what is usual"
        expect(lambda: fake.suspected.add((2, 3)), fake.suspected.clear, "links", "problem",
               "one-way: node 2 does not hear node 3, which hears it")
        expect(lambda: fake.epochs.update({3: 6}), lambda: fake.epochs.update({3: 5}), "view", "warning",
               "node 3 is in view 6")
        expect(lambda: fake.leases.update({3: 0}), lambda: fake.leases.update({3: 9}), "lease", "problem", "node 3 has no lease")
    with Fake(2, mode="static") as fake:
        fake.epochs[2] = 9
        code, findings = fake.examine()
        assert code == 1 and troubles(findings) == {("view", "problem")}, "a group static is split"


def lists_of_servers():
    """All commands read one list in one way, whatever separates it, and say in one line what is no address in it."""
    with Node() as node:
        for separator in (",", " ", " , ", "\t"):
            for command in (("status",), ("doctor",), ("members", "x"), ("lock", "x", "--", "true")):
                done = subprocess.run([CONCLAVE, *command], env={**os.environ, "CONCLAVE_SERVER": f"/nowhere/s{separator}{node.address()}"},
                                      capture_output=True, text=True, check=False)
                assert done.returncode == (command[0] == "doctor") and not done.stderr, (separator, done)
    for servers, why in ((":17700", "neither host:port nor the path of a socket"), ("a:b:c", "neither host:port nor the path of a socket"),
                         ("127.0.0.1:x", "neither host:port nor the path of a socket"), ("/nowhere/s", "No such file or directory"),
                         (" , ", "")):
        for command, code in ((("status",), 2), (("doctor",), 2), (("leave",), 2), (("members", "x"), 123), (("lock", "x", "--", "true"), 123)):
            done = subprocess.run([CONCLAVE, *command], env={**os.environ, "CONCLAVE_SERVER": servers}, capture_output=True, text=True,
                                  check=False)
            assert done.returncode == code or not why, done
            assert why in done.stderr and done.stderr.count("\n") == 1 and not done.stdout, done


def wrong_usage():
    nowhere = ("--connect", "/nowhere/s")
    for words, expected in ((nowhere, "no node answers"), (("--waiting", "x", *nowhere), "--waiting x"),
                            (("--held", "-1", *nowhere), "--held -1"), (("extra",), "extra"), (("--nonsense",), "--nonsense"),
                            (("--connect", ""), "--connect"), (("--connect",), "--connect"),
                            (("--key", "/nowhere/k", *nowhere), "/nowhere/k")):
        told = doctor(*words)
        assert told.returncode == 2 and expected in told.stderr and told.stderr.count("\n") == 1, (words, told)
        assert not told.stdout


def interrupted():
    """Ctrl-C while it waits for a node that hangs: it prints what is known so far."""
    with Group(1) as group, tempfile.TemporaryDirectory() as directory:
        silent = []
        for name in "abcdef":
            server = socket.socket(socket.AF_UNIX)
            server.bind(f"{directory}/{name}")
            server.listen()
            silent.append(server)
        words = [word for address in (group.address(1), *(f"{directory}/{n}" for n in "abcdef"))
                 for word in ("--connect", address)]
        process = subprocess.Popen([CONCLAVE, "doctor", *words], stdout=subprocess.PIPE, text=True)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 1 and "interrupted: not all were asked" in said and "does not answer" in said, said
        for server in silent:
            server.close()


if __name__ == "__main__":
    sys.exit(main([healthy, one_of_three_is_gone, told_once, far_apart, members_that_never_came, standbys_are_not_missed, two_of_three_are_gone, one_hangs, two_do_not_hear_each_other,
                   one_is_cut_off, configurations_differ, directory_removed, long_queues_and_holds, certificate_runs_out, told_by_fakes,
                   lists_of_servers, wrong_usage, interrupted]))
