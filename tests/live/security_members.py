#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Members and strangers: no stranger can eavesdrop or take a member's place, and no crowd keeps others out."""

import os
import pathlib
import random
import re
import resource
import socket
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
# pylint: disable=wrong-import-position
from harness import CONCLAVE, PATIENCE, Client, Cluster, free_port, main
from secured import Secured, Tap, World, conclave, connect, last_words

SECRET_NAME = "the-name-nobody-shall-read"


# ---- members ----


class Members:
    """Nodes by configurations of their own, each peer reached through a tap."""

    def __init__(self, world, securities):
        self.world = world
        self.count = len(securities)
        ports = [free_port() for _ in securities]
        self.taps = [Tap(port) for port in ports]
        self.processes = []
        for i, security in enumerate(securities):
            members = "".join(f"{j + 1} = 127.0.0.1:{self.taps[j].port}\n" for j in range(self.count))
            (world.path / f"node{i + 1}.conf").write_text(
                f"[node]\nid = {i + 1}\nlisten = {self.address(i + 1)}\npeers = 127.0.0.1:{ports[i]}\n"
                f"directory = {world.path}/memory{i + 1}\n"
                f"[members]\n{members}[security]\n{security}\n")

    def address(self, index):
        return f"{self.world.path}/member{index}.sock"

    def __enter__(self):
        for i in range(self.count):
            process = subprocess.Popen([CONCLAVE, "node", "--config", str(self.world.path / f"node{i + 1}.conf")],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            assert "ready" in process.stdout.readline(), process.communicate()
            self.processes.append(process)
        return self

    def alive(self, index):
        client = Client(self.address(index))
        view = client.ask("VIEW")
        client.close()
        return {member["id"] for member in view["members"] if member["state"] != "suspected"}

    def await_alive(self, index, expected):
        end = time.monotonic() + PATIENCE
        while self.alive(index) != expected:
            assert time.monotonic() < end, (index, self.alive(index))
            time.sleep(0.02)

    def __exit__(self, *_):
        for process in self.processes:
            process.terminate()
            _, complaints = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, complaints
        self.seen = b"".join(tap.close() for tap in self.taps)


def lock_across(members):
    for index in range(1, members.count + 1):
        client = Client(members.address(index))
        fence = client.ask("LOCK", SECRET_NAME, "WAIT", 10000)
        assert fence, "no lock"
        assert client.ask("UNLOCK", SECRET_NAME, fence) == 1
        client.close()


def eavesdroppers_read_nothing():
    """Three members through taps: with plaintext the lock's name is seen, with a key it is not."""
    for encrypted in (False, True):
        with World() as world:
            security = f"cluster-key = {world.key('cluster')}\n" if encrypted else ""
            with Members(world, [security] * 3) as members:
                for index in (1, 2, 3):
                    members.await_alive(index, {1, 2, 3})
                lock_across(members)
            assert len(members.seen) > 1000
            assert (SECRET_NAME.encode() in members.seen) != encrypted, encrypted


def members_with_another_key_stay_out():
    """1 and 2 share a key, 3 has another one: it never reaches a handler, and says why it is alone."""
    with World() as world:
        key, other = world.key("cluster"), world.key("other")
        with Members(world, [f"cluster-key = {key}\n"] * 2 + [f"cluster-key = {other}\n"]) as members:
            members.await_alive(1, {1, 2})
            members.await_alive(2, {1, 2})
            time.sleep(1)
            assert members.alive(1) == {1, 2} and members.alive(3) == {3}
            client = Client(members.address(1))
            info = dict(line.split(":", 1) for line in client.ask("INFO", "peers").splitlines() if ":" in line)
            assert info["tls"] == "yes" and "does not know this key" in info["trouble_with_3"], info
            assert info["disagreements"] == "0"
            client.close()
    with World() as world:  # and one without any
        key = world.key("cluster")
        with Members(world, [f"cluster-key = {key}\n"] * 2 + [""]) as members:
            members.await_alive(1, {1, 2})
            time.sleep(0.5)
            assert members.alive(1) == {1, 2} and members.alive(3) == {3}


def members_by_certificates():
    """Members prove their hosts, whether they connect (the first does) or are connected to (the last is)."""
    for usurper in (1, 3):
        with World() as world:
            ca = world.authority("ours")
            securities = []
            for index in (1, 2, 3):
                crt, private = world.certificate(f"n{index}", "ours", host="192.0.2.9" if index == usurper else "127.0.0.1")
                securities.append(f"ca = {ca}\ncertificate = {crt}\nprivate-key = {private}\n")
            with Members(world, securities) as members:
                others = {1, 2, 3} - {usurper}
                members.await_alive(2, others)
                time.sleep(0.7)
                assert all(members.alive(index) == others for index in others), others
                assert members.alive(usurper) == {usurper}


def clusters_keep_their_promises_with_tls():
    """The same cluster as in the other tests, encrypted: a member is killed, the lock goes on, the recording holds."""
    with World() as world:
        key = world.key("cluster")
        with Cluster(3, "--set", f"security.cluster-key={key}") as cluster:
            holder, waiter = cluster.client(1), cluster.client(2)
            first = holder.ask("LOCK", "x")
            waiter.say("LOCK", "x")
            cluster.kill(3)
            assert holder.ask("UNLOCK", "x", first) == 1
            assert waiter.hear() > first
            cluster.await_view({1, 2})
        cluster.check()
        cluster.judge()
        cluster.remove()


# ---- hostile ----


def half_open_connections_do_not_shut_others_out():
    """Thousands of connections that send nothing, or begin a handshake: others get in, and memory does not grow."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 16384), hard))
    with World() as world:
        key = world.key("cluster")
        with Secured(world, f"cluster-key = {key}\n") as node:
            before = memory_kb(node.process.pid)
            crowd = []
            for i in range(4000):
                try:
                    connection = connect(node.port, source=f"127.0.0.{1 + i % 8}")
                    if i % 2:
                        connection.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
                    crowd.append(connection)
                except OSError:
                    break
                if i % 500 == 499:
                    assert node.lock("x", "--key", key).returncode == 0, i
            assert len(crowd) > 1000, len(crowd)
            descriptors = len(os.listdir(f"/proc/{node.process.pid}/fd"))
            info = node.info()
            assert int(info["strangers"]) <= 256 and int(info["dropped_strangers"]) > 1000, info
            assert descriptors < 300, descriptors
            assert memory_kb(node.process.pid) - before < 40000 or "asan" in CONCLAVE, memory_kb(node.process.pid)
            time.sleep(2.5)
            assert int(node.info()["strangers"]) == 0
            for connection in crowd:
                connection.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def one_address_does_not_crowd_out_another():
    """Hundreds of connections of one address displace each other, not the slow one from another address."""
    with World() as world:
        with Secured(world, f"cluster-key = {world.key('cluster')}\nhandshake = 10000\n") as node:
            slow = connect(node.port, source="127.0.0.10")
            crowd = [connect(node.port, source="127.0.0.9") for _ in range(400)]
            info = node.info()
            assert info["strangers"] == "65" and info["dropped_strangers"] == "336", info
            slow.settimeout(0.2)
            try:
                assert slow.recv(1), "the slow one was sent away"
            except TimeoutError:
                pass
            for connection in crowd + [slow]:
                connection.close()


def memory_kb(pid):
    return int(re.search(r"VmRSS:\s*(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1])


def garbage_does_no_harm():
    """Random bytes, records of every type and length, and real handshakes with one byte changed."""
    chance = random.Random(7)
    with World() as world:
        key = world.key("cluster")
        with Secured(world, f"cluster-key = {key}\n") as node:
            tap = Tap(node.port)
            assert conclave("lock", "x", "--server", f"127.0.0.1:{tap.port}", "--key", key, "--", "true").returncode == 0
            hello = tap.close() and tap.seen[0]
            for i in range(400):
                if i % 3 == 0:
                    words = chance.randbytes(chance.randrange(1, 2000))
                elif i % 3 == 1:
                    size = chance.randrange(0, 20000)
                    words = bytes([chance.choice((20, 21, 22, 23, 24)), 3, chance.randrange(5)]) + size.to_bytes(2, "big")
                    words += chance.randbytes(min(size, 3000))
                else:
                    at = chance.randrange(len(hello))
                    words = hello[:at] + bytes([hello[at] ^ 1 << chance.randrange(8)]) + hello[at + 1:]
                connection = connect(node.port)
                connection.sendall(words)
                connection.shutdown(socket.SHUT_WR)
                last_words(connection)
            done = node.lock("x", "--key", key)
            assert done.returncode == 0, done
            end = time.monotonic() + PATIENCE
            while node.info()["connected_clients"] != "1":  # the one that asks
                assert time.monotonic() < end, node.info()


TESTS = [eavesdroppers_read_nothing, members_with_another_key_stay_out, members_by_certificates,
         clusters_keep_their_promises_with_tls, half_open_connections_do_not_shut_others_out,
         one_address_does_not_crowd_out_another, garbage_does_no_harm]

if __name__ == "__main__":
    sys.exit(main(TESTS))
