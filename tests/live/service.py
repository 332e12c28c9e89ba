# SPDX-License-Identifier: MIT
"""The clients' protocol: every command, RESP2 and RESP3, over a Unix socket and TCP."""

import shutil
import subprocess
import sys
import threading
import time

from harness import CONCLAVE, PATIENCE, Client, Gone, Node, Refused, free_port, main


def refused(client, *words):
    try:
        answer = client.ask(*words)
    except Refused as error:
        return str(error)
    raise AssertionError(f"{words} was answered {answer}")


def locks():
    with Node() as node:
        one, two = node.client(), node.client()
        first = one.ask("LOCK", "a")
        assert first > 0
        assert refused(one, "lock", "a").startswith("HELD")
        assert two.ask("LOCK", "a", "WAIT", 0) is None, "a try does not wait"
        begun = time.monotonic()
        assert two.ask("LOCK", "a", "WAIT", 50) is None
        assert time.monotonic() - begun >= 0.05
        assert two.ask("UNLOCK", "a", first + 1) == 0, "another fence releases nothing"
        assert one.ask("RENEW", "a", first) == -1
        two.say("LOCK", "a")
        for other in (first - 1, first + 1):
            assert one.ask("RENEW", "a", other) is None and one.ask("UNLOCK", "a", other) == 0, "nor does the holder with a lower or a higher one"
        assert one.ask("UNLOCK", "a", first) == 1
        second = two.hear()
        assert second > first
        assert one.ask("UNLOCK", "a", first) == 0, "a stale release has no effect"
        assert one.ask("RENEW", "a", first) is None
        assert one.ask("LOCK", "b") > 0, "names do not know of each other"
        two.close()
        assert one.ask("LOCK", "a") > second
        one.close()


def order():
    """First come, first served."""
    with Node() as node:
        holder = node.client()
        fence = holder.ask("LOCK", "a")
        waiting = []
        for _ in range(20):
            client = node.client()
            client.say("LOCK", "a")
            time.sleep(0.002)
            waiting.append(client)
        holder.ask("UNLOCK", "a", fence)
        for client in waiting:
            following = client.hear()
            assert following > fence
            fence = following
            assert client.ask("UNLOCK", "a", fence) == 1
            client.close()
        holder.close()


def time_to_live():
    with Node() as node:
        one, two = node.client(), node.client()
        fence = one.ask("LOCK", "a", "TTL", 150, "SECRET", "s")
        one.close()
        assert two.ask("RENEW", "a", fence, "SECRET", "s") == 150, "it outlasts its connection"
        begun = time.monotonic()
        assert two.ask("LOCK", "a") > fence
        assert 0.1 <= time.monotonic() - begun < 5
        three = node.client()
        fence = three.ask("LOCK", "b", "TTL", 60)
        assert three.push() == ["lost", "b", fence]
        assert three.ask("UNLOCK", "b", fence) == 0
        fence = three.ask("LOCK", "b", "TTL", 60000, "SECRET", "s")
        assert two.ask("UNLOCK", "b", fence, "SECRET", "s") == 1, "a client that shows the secret may release it"
        two.close()
        three.close()


def shared():
    with Node() as node:
        readers = [node.client() for _ in range(30)]
        fences = [reader.ask("LOCK", "a", "SHARED") for reader in readers]
        assert len(set(fences)) == 30 and fences == sorted(fences)
        writer, late = node.client(), node.client()
        writer.say("LOCK", "a")
        time.sleep(0.02)
        assert late.ask("LOCK", "a", "SHARED", "WAIT", 30) is None, "readers do not overtake a writer"
        lock, = late.ask("LOCKS", "a")
        assert lock["shared"] == 30 and lock["waiters"] == 1
        for reader, fence in zip(readers, fences):
            assert reader.ask("UNLOCK", "a", fence) == 1
        assert writer.hear() > fences[-1]
        for client in [*readers, writer, late]:
            client.close()


def elections():
    with Node() as node:
        one, two, three = node.client(), node.client(), node.client()
        assert one.ask("LEADER", "boss") is None
        fence = one.ask("CAMPAIGN", "boss")
        name = one.ask("LEADER", "boss")[0]
        assert one.ask("LEADER", "boss") == [name, fence, 1] and name.startswith("1/")
        two.say("CAMPAIGN", "boss", "PRIORITY", -1)
        time.sleep(0.02)
        three.say("CAMPAIGN", "boss")
        time.sleep(0.02)
        watcher = node.client()
        assert watcher.ask("OBSERVE", "boss") == [name, fence, 1]
        assert one.ask("RESIGN", "boss") == 1 and one.ask("RESIGN", "boss") == 0
        second = three.hear()
        assert second > fence, "the one of higher priority is next"
        assert watcher.push() == ["leader", "boss", None, fence]
        assert watcher.push()[3] == second
        three.close()
        assert two.hear() > second
        assert watcher.push() == ["leader", "boss", None, second]
        assert watcher.push()[0] == "leader"
        assert watcher.ask("UNOBSERVE") == 1
        old = node.client(protocol=2)
        assert old.ask("OBSERVE", "boss") is not None
        assert refused(old, "LOCK", "x").startswith("ERR 'LOCK'")
        assert old.ask("PING") == "PONG"
        for client in (one, two, watcher, old):
            client.close()


def wrong():
    with Node() as node:
        client = node.client()
        for words, expected in [
                (["FROB"], "ERR unknown command 'FROB'"),
                (["LOCK"], "ERR wrong number of arguments for 'LOCK'"),
                (["LOCK", ""], "ERR name ''"),
                (["LOCK", "x" * 513], "TOOBIG"),
                (["LOCK", "a\nb"], "ERR name 'a"),
                (["LOCK", "a", "WAIT"], "ERR WAIT ''"),
                (["LOCK", "a", "WAIT", "-1"], "ERR WAIT '-1'"),
                (["LOCK", "a", "TTL", "0"], "ERR TTL '0'"),
                (["LOCK", "a", "NICELY"], "ERR 'NICELY'"),
                (["UNLOCK", "a", "x"], "ERR fence 'x'"),
                (["CAMPAIGN", "a", "TTL", "0"], "ERR TTL '0'"),
                (["CAMPAIGN", "a", "PRIORITY", "--1"], "ERR PRIORITY '--1'"),
                (["CAMPAIGN", "a", "PRIORITY"], "ERR PRIORITY ''"),
                (["HELLO", "4"], "NOPROTO"),
                (["AUTH", "x"], "ERR Client sent AUTH"),
        ]:
            assert refused(client, *words).startswith(expected), (words, expected)
        assert client.ask("PING", "still there") == "still there"
        client.close()
        for garbage in (b"*1\r\n!3\r\nfoo\r\n", b"*99999\r\n", b"*2\r\n$4\r\nPING\r\n$99999999\r\n", b"\0" * 20000):
            other = node.client(protocol=2)
            other.socket.sendall(garbage)
            try:
                answer = other.item()
                assert isinstance(answer, Refused) and str(answer).startswith("ERR"), answer
                other.item()
                raise AssertionError("the connection should be over")
            except (Gone, ConnectionError):
                pass
            other.close()


def facts():
    with Node("--set", "node.id=7") as node:
        client = node.client()
        hello = client.ask("HELLO", 3)
        assert hello["server"] == "conclave" and hello["id"] == 7 and hello["mode"] == "single" and hello["proto"] == 3
        view = client.ask("VIEW")
        assert view["coordinator"] == 7 and [m["state"] for m in view["members"]] == ["self"]
        fence = client.ask("LOCK", "a")
        lock, = client.ask("LOCKS")
        assert 0 <= lock.pop("held_ms") < 10000
        assert lock == {"name": "a", "kind": "lock", "algorithm": "central", "holder": lock["holder"], "fence": fence,
                        "waiters": 0, "shared": 0, "client": None, "node": 7, "asked_back_ms": -1, "forced": 0}
        assert client.ask("LOCKS", "b*") == []
        info = client.ask("INFO")
        for section in ("Server", "Clients", "Peers", "Locks", "Messages", "Detector"):
            assert f"# {section}\r\n" in info, section
        assert "held:1\r\n" in client.ask("INFO", "locks") and "# Server" not in client.ask("INFO", "locks")
        old = node.client(protocol=2)
        flat, = old.ask("LOCKS")
        told = dict(zip(flat[::2], flat[1::2]))
        assert told.pop("held_ms") >= 0 and told == lock, told
        assert old.ask("QUIT") == "OK"
        old.close()
        client.close()


def pipelines():
    """Many commands in one go, over TCP; those after a waiting one wait, and go on when it ends."""
    port = free_port()
    with Node("--listen", f"127.0.0.1:{port}") as node:
        client, holder = Client(f"127.0.0.1:{port}"), node.client()
        client.socket.sendall(b"PING\r\n" * 5000)
        assert [client.hear() for _ in range(5000)] == ["PONG"] * 5000
        fence = holder.ask("LOCK", "a")
        client.socket.sendall(b"*2\r\n$4\r\nLOCK\r\n$1\r\na\r\nPING 1\r\nPING 2\r\n")
        time.sleep(0.02)
        holder.ask("UNLOCK", "a", fence)
        assert client.hear() > fence and [client.hear(), client.hear()] == ["1", "2"]
        client.close()
        holder.close()


def slow_clients():
    """A client that does not read its answers is not read from, and delays no other client."""
    with Node() as node:
        slow, quick = node.client(), node.client()
        stop = threading.Event()

        def flood():
            slow.socket.settimeout(0.2)
            try:
                while not stop.is_set():
                    slow.socket.sendall(b"INFO\r\n" * 1000)
            except OSError:
                pass

        thread = threading.Thread(target=flood)
        thread.start()
        times = []
        for _ in range(300):
            begun = time.monotonic()
            fence = quick.ask("LOCK", "a")
            quick.ask("UNLOCK", "a", fence)
            times.append(time.monotonic() - begun)
        stop.set()
        thread.join()
        assert sorted(times)[150] < 0.05, sorted(times)[150]
        with open(f"/proc/{node.process.pid}/statm", encoding="ascii") as statm:
            resident = int(statm.read().split()[1]) * 4096
        assert "anitize" in str(node.process.args) or resident < 400 << 20, resident
        slow.close()
        quick.close()


def restarts():
    """A node that comes back on the same machine gives higher fences than ever before."""
    highest = 0
    for _ in range(3):
        with Node() as node:
            client = node.client()
            for _ in range(100):
                fence = client.ask("LOCK", "a")
                assert fence > highest
                highest = fence
                client.ask("UNLOCK", "a", fence)
            client.close()


def many_names():
    """Unused names are forgotten in time; held locks and the order of fences are not."""
    with Node("--set", "node.names=1000") as node:
        client, holder = node.client(), node.client()
        held = holder.ask("LOCK", "held")
        highest = 0
        for turn in range(30):
            for number in range(100):
                fence = client.ask("LOCK", f"name-{turn}-{number}")
                client.ask("UNLOCK", f"name-{turn}-{number}", fence)
            fence = client.ask("LOCK", "again")
            assert fence > highest
            highest = fence
            client.ask("UNLOCK", "again", fence)
            time.sleep(0.06)  # a new view takes up to a message time to begin
        assert int(client.ask("INFO", "locks").split("names:")[1].split()[0]) < 1000
        assert int(client.ask("INFO", "server").split("views:")[1].split()[0]) > 2
        assert client.ask("LOCK", "held", "WAIT", 0) is None
        assert holder.ask("UNLOCK", "held", held) == 1
        fences = [holder.ask("LOCK", f"kept-{number}") for number in range(400)]
        assert all(holder.ask("RENEW", f"kept-{number}", fence) == -1 for number, fence in enumerate(fences))
        client.close()
        holder.close()


FULL = "ERR max number of clients reached"


def all_places_taken():
    """A client that wants a lock is told that there is no place; one that asks for the state gets in, as does the doctor."""
    port = free_port()
    with Node("--listen", f"127.0.0.1:{port}", "--set", "node.clients=4", "--set", "node.log-level=error") as node:
        crowd = [Client(f"127.0.0.1:{port}", protocol=2) for _ in range(4)]
        fence = crowd[0].ask("LOCK", "a")
        for address in (node.address(), f"127.0.0.1:{port}"):
            late = Client(address)
            assert refused(late, "LOCK", "b") == FULL
            try:
                late.ask("PING")
                raise AssertionError("it was let in after all")
            except (Gone, OSError):
                late.close()
        asks = Client(f"127.0.0.1:{port}")
        assert asks.ask("VIEW")["mode"] == "single" and "rejected_connections:2" in asks.ask("INFO", "clients")
        seen = subprocess.run([CONCLAVE, "doctor", "--server", f"127.0.0.1:{port}"], capture_output=True, text=True,
                              check=False)
        assert "all 4 places for clients of node 1 are taken" in seen.stdout, seen
        # The places that are kept are few, and some of them are for Unix sockets.
        strangers = [Client(f"127.0.0.1:{port}", protocol=2) for _ in range(20)]
        strangers[-1].socket.settimeout(5)
        assert strangers[-1].file.readline() == f"-{FULL}\r\n".encode() and not strangers[-1].file.readline()
        local = node.client()
        assert local.ask("PING") == "PONG"
        for stranger in strangers:
            stranger.close()
        # A place that gets free is for any client, also for those that are there already.
        crowd.pop().close()
        end = time.monotonic() + PATIENCE
        while int(dict(line.split(":", 1) for line in asks.ask("INFO", "clients").splitlines() if ":" in line)
                  ["connected_clients"]) > 5 and time.monotonic() < end:
            time.sleep(0.01)
        assert local.ask("LOCK", "b") > 0 and crowd[0].ask("UNLOCK", "a", fence) == 1
        assert refused(asks, "LOCK", "c") == FULL
        for client in (asks, local, *crowd):
            client.close()


def no_stay_in_kept_places():
    """The reserved places are for clients that ask, not for clients that stay."""
    with Node("--set", "node.clients=1", "--set", "node.log-level=error") as node:
        one, idler = node.client(), node.client()
        begun = time.monotonic()
        idler.socket.settimeout(PATIENCE)
        try:
            idler.hear()
            raise AssertionError("nothing was to be heard")
        except Refused as told:
            assert str(told) == FULL, told
        assert time.monotonic() - begun > 5
        assert one.ask("PING") == "PONG"
        one.close()
        idler.close()


def redis_cli():
    if not shutil.which("redis-cli"):
        return
    port = free_port()
    with Node("--listen", f"127.0.0.1:{port}"):
        for version in ([], ["-3"]):
            def cli(*words, version=version):
                return subprocess.run(["redis-cli", *version, "-p", str(port), *words], capture_output=True, text=True,
                                      check=True).stdout.strip()
            assert cli("PING") == "PONG"
            fence = cli("LOCK", "a", "TTL", "60000", "SECRET", "s")
            assert fence.isdigit() and cli("LOCK", "a", "WAIT", "0") == "" and cli("UNLOCK", "a", fence, "SECRET", "s") == "1"
            assert "# Server" in cli("INFO")


if __name__ == "__main__":
    sys.exit(main([locks, order, time_to_live, shared, elections, wrong, facts, pipelines, slow_clients, restarts,
                   many_names, all_places_taken,
                   no_stay_in_kept_places, redis_cli]))
