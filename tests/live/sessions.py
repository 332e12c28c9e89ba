#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sessions: clients that vanish with their machine, clients that cannot be told, thousands that go at once."""

import pathlib
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
# pylint: disable=wrong-import-position
from harness import CONCLAVE, PATIENCE, Client, Cluster, Gone, Node, main

VANISHED_S = 15  # what docs/what-happens-when.md promises


def info(cluster, node, key):
    client = cluster.client(node)
    text = client.ask("INFO")
    client.close()
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)[key]


# ---- RESP2 ----


def resp2_is_told():
    """A connection without pushes is closed when its lock is lost, also by a node that was asleep at that time."""
    with Cluster(3) as cluster:
        cluster.await_view([1, 2, 3])
        holder, watcher = cluster.client(1, protocol=2), cluster.client(1, protocol=2)
        fence = holder.ask("LOCK", "a")
        assert watcher.ask("PING") == "PONG"
        cluster.kill(1, signal.SIGSTOP)
        rival = cluster.client(2)
        assert rival.ask("LOCK", "a") > fence
        cluster.kill(1, signal.SIGCONT)
        try:
            answer = holder.ask("PING")
            raise AssertionError(f"it answers {answer} as if nothing had happened")
        except (Gone, OSError):
            pass
        assert watcher.ask("PING") == "PONG", "a client without a lock has lost nothing"
    cluster.check()
    cluster.remove()


# ---- thousands at once ----

CROWD = """
import resource, signal, socket, sys, time
address, count = sys.argv[1], int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_NOFILE, (count + 100, max(count + 100, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
crowd = []
for i in range(count):
    it = socket.socket(socket.AF_UNIX)
    it.connect(address)
    name = b"crowd-%d" % i
    it.sendall(b"*2\\r\\n$4\\r\\nLOCK\\r\\n$%d\\r\\n%s\\r\\n" % (len(name), name))
    crowd.append(it)
for it in crowd:
    it.recv(64)
print("ready", flush=True)
time.sleep(600)
"""


def crowds_leave():
    """Thousands of holders go at the same moment: they are cleared away a few at a time, and others are served between."""
    count = 9000
    with Cluster(3, "--set", "group.lease=3000", record=False) as cluster:
        cluster.await_view([1, 2, 3])
        bystander = cluster.client(1)
        fence = bystander.ask("LOCK", "mine")
        crowd = subprocess.Popen([sys.executable, "-c", CROWD, cluster.address(1), str(count)], stdout=subprocess.PIPE)
        assert crowd.stdout.readline() == b"ready\n"
        assert int(info(cluster, 1, "held")) == count + 1
        crowd.kill()
        seen, end = {count + 1}, time.monotonic() + PATIENCE
        while min(seen) > 1 and time.monotonic() < end:
            text = bystander.ask("INFO", "locks")
            seen.add(int(dict(line.split(":", 1) for line in text.splitlines() if ":" in line)["held"]))
        crowd.wait()
        crowd.stdout.close()
        assert min(seen) == 1, sorted(seen)[:3]
        assert len(seen) > 7, f"others were served only when {sorted(seen)} were left"
        assert bystander.ask("RENEW", "mine", fence) is not None, "the bystander has lost its lock"
        print(f"{count} holders gone, {len(seen) - 2} answers between")
    cluster.check()


# ---- machines that vanish ----


def unplug(port):
    """Drops all TCP packets to and from that server, as if its clients' machine were gone."""
    rules = f"add rule ip test in tcp sport {port} drop\nadd rule ip test in tcp dport {port} drop\n"
    subprocess.run(["nft", "-f", "-"], input="add table ip test\nadd chain ip test in { type filter hook input priority 0; }\n"
                   + rules, text=True, check=True)


def inside_vanished():
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with Cluster(3, "--port", "7700", record=False) as cluster:
        cluster.await_view([1, 2, 3])
        plain = Client("127.0.0.1:7700")
        plain.ask("LOCK", "plain")
        shy = Client("127.0.0.1:7700", protocol=2)
        shy.ask("LOCK", "shy")
        command = subprocess.Popen([CONCLAVE, "lock", "command", "--server", "127.0.0.1:7700", "--", "cat"],
                                   stdin=subprocess.PIPE)
        end = time.monotonic() + PATIENCE
        while int(info(cluster, 1, "held")) < 3 and time.monotonic() < end:
            time.sleep(0.02)
        rivals = {name: cluster.client(2, timeout=60) for name in ("plain", "shy", "command")}
        for name, rival in rivals.items():
            rival.say("LOCK", name)
        unplug(7700)
        begun = time.monotonic()
        for name, rival in rivals.items():
            assert rival.hear() > 0
            took = time.monotonic() - begun
            print(f"{name}: granted to another after {took:.1f} s", flush=True)
            assert took < VANISHED_S, f"{name}: {took:.1f} s"
            if name == "command":
                assert command.wait(PATIENCE) == 122
        command.stdin.close()
    cluster.check()


def vanished_machines():
    """Half-open connections: the kernel at the server's end finds out, and the lock goes to another within 15 s."""
    done = subprocess.run(["unshare", "--map-root-user", "--net", sys.executable, __file__, "--inside-vanished"],
                          capture_output=True, text=True, check=False)
    print(done.stdout, end="")
    assert done.returncode == 0, done.stdout + done.stderr


# ---- going at the moment of a grant ----


def gone_when_granted():
    """A client that goes in the same moment in which it is granted a lock never knows of it: the lock is free, whatever its
    time to live. The node stands still meanwhile, so that it sees both at once; in which order is up to the kernel."""
    with Node() as node:
        for attempt in range(6):
            name = f"gone {attempt}"
            people = [node.client(), node.client()]
            holder, waiter = people if attempt % 2 else people[::-1]
            fence = holder.ask("LOCK", name)
            waiter.say("LOCK", name, "TTL", 600000, "SECRET", "s")
            looker = node.client()
            while not looker.ask("WAITERS", name):
                time.sleep(0.01)
            node.process.send_signal(signal.SIGSTOP)
            holder.say("UNLOCK", name, fence)
            waiter.socket.shutdown(socket.SHUT_WR)
            node.process.send_signal(signal.SIGCONT)
            assert holder.hear() == 1
            told = waiter.file.read()  # if it was told it would know, and could give it back
            assert told or looker.ask("LOCK", name, "WAIT", int(PATIENCE * 1000)), (attempt, told)
            for client in (*people, looker):
                client.close()


TESTS = [resp2_is_told, gone_when_granted, crowds_leave, vanished_machines]

if __name__ == "__main__":
    if sys.argv[1:] == ["--inside-vanished"]:
        inside_vanished()
    else:
        sys.exit(main(TESTS))
