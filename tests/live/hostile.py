# SPDX-License-Identifier: MIT
"""Hostile and senseless connections: they neither crash a node nor keep it from serving others."""

import contextlib
import random
import re
import socket
import struct
import sys
import time

import forge
from forge import BEAT, HELLO, LETTER, frame, hello
from harness import Cluster, Gone, Node, Refused, free_port, main

def peer_address(cluster, node):
    text = (cluster.directory / f"node{node}.conf").read_text()
    return "127.0.0.1", int(re.search(rf"^{node} = 127\.0\.0\.1:(\d+)", text, re.MULTILINE)[1])


def letter(name, words, body, length=None):
    head = struct.pack("<BBBHHIIQQQ", 1, 0, 0, len(name) if length is None else length, 0, 0, words, 1, 1, 0)
    return frame(LETTER, head + name + body)


def hang_up(connection, patience=6):
    """Waits until the node ends the connection."""
    connection.settimeout(patience)
    try:
        while connection.recv(4096):
            pass
    except ConnectionError:
        pass


def works(cluster):
    """Every node still serves quickly, in the same view as before."""
    for node in (1, 2, 3):
        client = cluster.client(node)
        begun = time.monotonic()
        fence = client.ask("LOCK", "x")
        assert client.ask("UNLOCK", "x", fence) == 1
        assert time.monotonic() - begun < 2
        client.close()
    assert cluster.await_view([1, 2, 3])[0] == cluster.first_view


def start():
    cluster = Cluster(3, record=False)
    cluster.__enter__()
    cluster.first_view = cluster.await_view([1, 2, 3])[0]
    cluster.hostile = True
    return cluster


def peers_port():
    """Random bytes, wrong greetings, oversized and half frames: the connection ends, nothing else."""
    cluster = start()
    try:
        address = peer_address(cluster, 3)
        dice = random.Random(1)
        offers = [dice.randbytes(dice.randrange(1, 3000)) for _ in range(100)]
        offers += [hello(), hello(sender=9), hello(to=1), hello(magic=1), hello(version=2), hello(mode=1), hello(refusal=1), hello(stream=0),
                   frame(BEAT, bytes(40)), letter(b"x", 0, b""), letter(b"x", 9, b""), letter(b"x", 0, b"", 600),
                   struct.pack("<I", 1 << 31) + b"\3", struct.pack("<IB", 0, 1), b"GET / HTTP/1.0\r\n\r\n",
                   frame(HELLO, bytes(84)) + bytes(100000), bytes(200000)]
        for offer in offers:
            with socket.create_connection(address, 5) as connection:
                try:
                    connection.sendall(offer)
                    if len(offer) > 60:
                        hang_up(connection)
                except ConnectionError:
                    pass
        works(cluster)
    finally:
        cluster.__exit__(None, None, None)
    cluster.check()


def slow_strangers():
    """Many connections that send nothing, or a byte at a time: they are closed, and members get in meanwhile."""
    cluster = start()
    strangers = []
    try:
        for node in (2, 3):
            for _ in range(150):
                strangers.append(socket.create_connection(peer_address(cluster, node), 5))
        for connection in strangers[::10]:
            try:
                connection.sendall(hello()[:10])
            except ConnectionError:
                pass
        works(cluster)
        for connection in strangers:
            hang_up(connection)
        works(cluster)
    finally:
        for connection in strangers:
            connection.close()
        cluster.__exit__(None, None, None)
    cluster.check()


def slow_clients():
    """Half commands that never end, and commands a byte at a time, beside clients that want to work."""
    cluster = start()
    clients = []
    try:
        for _ in range(300):
            client = socket.socket(socket.AF_UNIX)
            client.connect(cluster.address(1))
            client.sendall(b"*2\r\n$4\r\nLOCK\r\n$400\r\nabc")
            clients.append(client)
        works(cluster)
        dripping = cluster.client(1, protocol=2)
        for byte in b"*2\r\n$4\r\nPING\r\n$2\r\nhi\r\n":
            dripping.socket.sendall(bytes([byte]))
        assert dripping.hear() == "hi"
        dripping.close()
        works(cluster)
    finally:
        for client in clients:
            client.close()
        cluster.__exit__(None, None, None)
    cluster.check()


def random_clients():
    """Random bytes and random words, from a seed."""
    cluster = start()
    try:
        dice = random.Random(2)
        words = [b"LOCK", b"UNLOCK", b"RENEW", b"CAMPAIGN", b"RESIGN", b"OBSERVE", b"LOCKS", b"HELLO", b"INFO", b"VIEW",
                 b"WAIT", b"TTL", b"SHARED", b"PRIORITY", b"0", b"1", b"-1", b"99999999999999999999", b"", b"a", b"*",
                 b"\xff\xfe", b"a" * 600]
        for _ in range(200):
            client = cluster.client(dice.randrange(1, 4), protocol=2)
            client.socket.settimeout(0.02)
            try:
                for _ in range(20):
                    if dice.random() < 0.1:
                        client.socket.sendall(dice.randbytes(dice.randrange(1, 200)))
                    else:
                        client.say(*[dice.choice(words) for _ in range(dice.randrange(1, 7))])
                client.socket.recv(65536)
            except (OSError, Gone):
                pass
            client.close()
        works(cluster)
    finally:
        cluster.__exit__(None, None, None)
    cluster.check()


def info(cluster, node, key):
    client = cluster.client(node)
    text = client.ask("INFO")
    client.close()
    return int(re.search(rf"^{key}:(\d+)", text, re.MULTILINE)[1])


def disguise(cluster, member, node, streams=1 << 20):
    """The content of a greeting that the node takes for the member's own: its directory, and a stream of its process."""
    client = cluster.client(node)
    view = client.ask("VIEW")
    client.close()
    known = next(it for it in view["members"] if it["id"] == member)
    return {"sender": member, "to": node, "directory": known["directory"], "stream": known["process"] << 32 | streams}


def until(true, what, patience=60):
    end = time.monotonic() + patience
    while time.monotonic() < end:
        try:
            if true():
                return
        except (OSError, Gone):
            pass
        time.sleep(0.1)
    raise AssertionError(f"never: {what}")


def log(cluster, node):
    """The node's output so far."""
    return "".join(path.read_text() for path in cluster.directory.glob(f"node{node}*.log"))


def forged_letters():
    """
    An attacker takes a member's place and sends messages that the algorithm never sends: two requests of one member, to a node
    that does not coordinate; a grant to the coordinator; an unknown kind. The member is cut off, and nothing else happens.
    """
    cluster = start()
    try:
        group, mode = forge.learn(peer_address(cluster, 2), 1, 2)
        central = forge.fingerprint("central", -1)
        for node, sender, messages in [(2, 1, [(0, b"")] * 2), (3, 1, [(1, struct.pack("<Q", 1))]), (3, 2, [(7, b"")])]:
            epoch = cluster.await_view([1, 2, 3], patience=60)[0]
            before = info(cluster, node, "cut_off")
            with socket.create_connection(peer_address(cluster, node), 5) as connection:
                offer = hello(group=group, mode=mode, **disguise(cluster, sender, node))
                for sequence, (kind, body) in enumerate(messages, 1):
                    offer += forge.numbered(LETTER, sequence, forge.LOCK, kind, b"forged", epoch, 5, central, body)
                connection.sendall(offer)
                hang_up(connection)
            until(lambda node=node, before=before: info(cluster, node, "cut_off") > before, f"cut off for {messages}")
        cluster.await_view([1, 2, 3], patience=120)
        assert info(cluster, 2, "disagreements") == 0
        assert "event=peer-cut-off" in log(cluster, 2), log(cluster, 2)
        for node in (1, 2, 3):
            client = cluster.client(node)
            fence = client.ask("LOCK", "x")
            assert client.ask("UNLOCK", "x", fence) == 1
            client.close()
    finally:
        cluster.__exit__(None, None, None)
    cluster.check()


def forged_notices():
    """
    An attacker takes a member's place and sends notices that no service sends: of an unknown kind, of a wrong length, with a
    number that is too high. The member is cut off, and nothing else happens. tests/unit/peer_notice.c has more of them.
    """
    unlock, promise = 3, 10
    cluster = start()
    try:
        group, mode = forge.learn(peer_address(cluster, 2), 1, 2)
        for node, sender, why, kind, numbers in [
                (2, 1, "no known kind", 200, []), (3, 1, "wrong length", unlock, [1, 1, 3, 0]),
                (3, 2, "too high", promise, [1, 1, 0, 1, (1 << 64) - 1, 0, 0, 0])]:
            epoch = cluster.await_view([1, 2, 3], patience=60)[0]
            body = struct.pack(f"<{len(numbers)}Q", *numbers)
            with socket.create_connection(peer_address(cluster, node), 5) as connection:
                connection.sendall(hello(group=group, mode=mode, **disguise(cluster, sender, node)) +
                                   forge.numbered(forge.NOTICE, 1, forge.LOCK, kind, b"forged", epoch, body=body))
                hang_up(connection)
            until(lambda node=node, why=why: why in log(cluster, node), f"node {node} cuts off {sender}: {why}")
        cluster.await_view([1, 2, 3], patience=120)
    finally:
        cluster.__exit__(None, None, None)
    cluster.check()


def forged_entries():
    """
    An attacker takes a member's place, says that it leads the log, and sends entries that are too long or make no sense. They
    are not stored, so every member can restart, and the attacker is cut off.
    """
    cluster = start()
    try:
        for node, sender, data in ((2, 1, b"\3" * 3000), (3, 1, b"nonsense"), (3, 2, b"\3" + bytes(60) + b"\xff")):
            cluster.await_view([1, 2, 3], patience=60)
            address = peer_address(cluster, node)
            group, mode = forge.learn(address, sender, node)
            before, stored = info(cluster, node, "cut_off"), info(cluster, node, "raft_stored")
            with socket.create_connection(address, 5) as connection:
                message = forge.append(1000, 1, 1, 1, forge.entry(1000, forge.COMMAND, data))
                connection.sendall(hello(group=group, mode=mode, **disguise(cluster, sender, node)) +
                                   forge.agreement(1, message, 1000))
                hang_up(connection)
            until(lambda node=node, before=before: info(cluster, node, "cut_off") > before, f"cut off for {data[:10]}")
            assert info(cluster, node, "raft_stored") >= stored
        cluster.await_view([1, 2, 3], patience=60)
    finally:
        cluster.__exit__(None, None, None)
    cluster.check()


def forged_dismissal():
    """A member says that another does not belong to the group any more. The word of one member is not enough."""
    cluster = start()
    try:
        address = peer_address(cluster, 3)
        group, mode = forge.learn(address, 1, 3)
        for attempt in range(3):
            with socket.create_connection(address, 5) as connection:
                connection.sendall(hello(group=group, mode=mode, **disguise(cluster, 1, 3, (1 << 20) + attempt)) +
                                   hello(group=group, sender=1, to=3, stream=1000, mode=mode, refusal=forge.DISMISSED))
                hang_up(connection)
        cluster.await_view([1, 2, 3], patience=60)
        assert cluster.find().keys() == {1, 2, 3}
    finally:
        cluster.__exit__(None, None, None)
    cluster.check()


def another_version():
    """A member of another release, that calls or is called: both learn which version each speaks, and nothing else happens."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = free_port()
    told = "it speaks version {} of the protocol between members, expected %d: another release" % forge.VERSION
    settings = [f"node.id=2 node.peers=127.0.0.1:{port} members.1=127.0.0.1:{free_port()} members.2=127.0.0.1:{port}",
                f"members.3=127.0.0.1:{listener.getsockname()[1]} group.mode=static"]
    with Node(*(word for setting in " ".join(settings).split() for word in ("--set", setting))) as node:
        node.expected = "event=peer-"
        called = listener.accept()[0]
        assert called.recv(5) and called.recv(8) == struct.pack("<II", forge.MAGIC, forge.VERSION), "it greets first"
        called.sendall(hello(sender=3, to=2, version=forge.VERSION + 1))
        hang_up(called)
        with socket.create_connection(("127.0.0.1", port), 5) as caller:
            caller.sendall(hello(sender=1, to=2, version=forge.VERSION - 1))
            assert caller.recv(5) and caller.recv(8) == struct.pack("<II", forge.MAGIC, forge.VERSION), "it is told which"
            caller.sendall(hello(sender=1, to=2))
            hang_up(caller)
        client = node.client()
        assert client.ask("PING") == "PONG"
        client.close()
        lines = (node.directory / "log").read_text(encoding="utf-8").splitlines()
        for version, who in ((forge.VERSION + 1, "peer=3"), (forge.VERSION - 1, "from=")):
            assert any(told.format(version) in line and who in line for line in lines), lines
    listener.close()


EDGES = [0, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 40, 2 ** 53 - 1, 2 ** 53, 2 ** 63 - 1]

# Every command with a number of the client's in it; N stands for the number.
NUMBERED = """UNLOCK held N|UNLOCK held N SECRET s|UNLOCK free N|RENEW held N|RENEW held N SECRET s|RENEW held N TTL 5000 SECRET s
              RENEW free N TTL 5000 SECRET s|RENEW boss N LEADER|RENEW held 9 TTL N|RENEW held 9 PERMITS N|RESIGN boss N|RESIGN boss N SECRET s
              FORCE held N why|UPGRADE held N|UPGRADE held N WAIT N|DOWNGRADE held N|LOCK a WAIT 0 TTL N|LOCK b WAIT 0 PERMITS N
              LOCK held WAIT N|CAMPAIGN boss WAIT 0 PRIORITY N|CAMPAIGN boss WAIT 0 PRIORITY -N|CAMPAIGN boss WAIT 0 TTL N
              LOCKALL TTL N c d|LOCKALL WAIT N held c|SEQUENCE s N|LATCH l SET N|LATCH l DOWN N|LATCH l AWAIT WAIT N|ONCE o EVERY N|ONCE o DONE N
              BARRIER p N WAIT 10|BARRIER p 2 WAIT N|SET e t NX PX N|SET f t NX EX N|PEXPIRE e N|EXPIRE e N|FENCE e N|STEPDOWN N|REPLACE N
              TERMS N N|LEAVE N|LOCKS N|CLIENT SETNAME N"""


def numbers():
    """No number that a client says gets its node cut off by the others: a fence that cannot be is a hold that is not there."""
    with Cluster(3) as cluster:
        cluster.await_view([1, 2, 3])
        holder = cluster.client(1)
        fence = holder.ask("LOCK", "held", "TTL", 60000, "SECRET", "of the holder")
        assert holder.ask("CAMPAIGN", "boss") and fence
        for node in (1, 2, 3):
            for number in EDGES:
                for words in re.split(r"\||\n", NUMBERED):
                    client = cluster.client(node)
                    client.say(*(word.replace("N", str(number)) if word in ("N", "-N") else word for word in words.split()))
                    if "WAIT N" not in words:
                        with contextlib.suppress(Refused, Gone):
                            client.hear()
                    client.close()
            one = cluster.client(node)
            for number in (0, 2 ** 53, 2 ** 63 - 1):
                assert one.ask("UNLOCK", "held", number) == 0 and one.ask("RESIGN", "boss", number, "SECRET", "s") == 0
                assert one.ask("RENEW", "held", number) is None and one.ask("RENEW", "held", number, "TTL", 5000, "SECRET", "s") is None
                try:
                    raise AssertionError(one.ask("FORCE", "held", number, "why"))
                except Refused as refused:
                    assert str(refused).startswith(f"NOTHELD fence {number}: "), refused
            one.close()
        cluster.await_view([1, 2, 3])
        assert cluster.client(2).ask("RENEW", "held", fence, "SECRET", "of the holder") == 60000
        assert cluster.client(3).ask("LOCK", "new", "TTL", 5000) > fence
        holder.close()
    cluster.check()


if __name__ == "__main__":
    sys.exit(main([peers_port, slow_strangers, slow_clients, random_clients, forged_letters, forged_notices, forged_entries,
                   forged_dismissal, another_version, numbers]))
