# SPDX-License-Identifier: MIT
"""The node's page: what it tells, whom it tells it, and what readers can do to the node at worst."""

import base64
import hashlib
import json
import pathlib
import re
import resource
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
# pylint: disable=wrong-import-position
from edge import Node, await_true, is_sanitized, refusal
from harness import CONCLAVE, PATIENCE, Client, Cluster, free_port, free_ports, main
from operations import Watched, http, serving, until
from secured import World
from starvation import stretch
from turns import LONGEST_MS, Watch, pipeline, wire

NAMES = 20_000 if is_sanitized() else 65_536
ROWS = 200  # shown of them
READERS, READERS_EACH = 32, 16


class Reader:
    """A connection to /events."""

    def __init__(self, where, host="127.0.0.1", fields="", context=None):
        if isinstance(where, int):
            self.socket = socket.create_connection(("127.0.0.1", where), PATIENCE)
        else:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(PATIENCE)
            self.socket.connect(str(where))
        if context:
            self.socket = context.wrap_socket(self.socket, server_hostname="127.0.0.2")
        self.socket.sendall(f"GET /events HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n".encode())
        self.file = self.socket.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.headers = {}
        while line := self.file.readline().decode().strip():
            key, _, value = line.partition(": ")
            self.headers[key.lower()] = value

    def event(self):
        """(kind, data) of the next one; None at the end."""
        kind, data = "message", None
        try:
            while line := self.file.readline():
                text = line.rstrip(b"\n")
                if text.startswith(b"event: "):
                    kind = text[7:].decode()
                elif text.startswith(b"data: "):
                    data = text[6:]
                elif not text and data is not None:
                    return kind, data
        except ConnectionError:
            pass
        return None

    def next(self):
        """The next snapshot."""
        kind, data = self.event()
        assert kind == "message", kind
        assert not re.search(rb"[\x00-\x1f\x7f]", data), data
        return json.loads(data.decode("utf-8"))

    def until(self, condition):
        """The first snapshot of which it is true."""
        end = time.monotonic() + PATIENCE
        while True:
            snapshot = self.next()
            if condition(snapshot):
                return snapshot
            assert time.monotonic() < end, snapshot

    def ended(self):
        """Reads on; true when the other end has closed it."""
        while self.event():
            pass
        return True

    def close(self):
        self.file.close()
        self.socket.close()


def snapshot_of(where, condition=lambda snapshot: True):
    reader = Reader(where)
    assert reader.status == 200, reader.status
    result = reader.until(condition)
    reader.close()
    return result


def soon(port):
    """The next snapshot of a node that may not listen yet; {} if it does not."""
    try:
        return snapshot_of(port)
    except OSError:
        return {}


def paged(settings="", **options):
    port = free_port()
    node = Node(f"http = 127.0.0.1:{port}\n{settings}", **options)
    node.page = port
    return node


def name_of(snapshot, name):
    found = [row for row in snapshot["names"] if row["name"] == name]
    assert len(found) == 1, (name, snapshot["names"])
    return found[0]


# ---- what it is ----


def one_document():
    """The page is one file that asks nobody else for anything, and its policy allows its own script and style alone."""
    with paged() as node:
        status, headers, body = http(node.page, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert status == 200 and headers["content-type"] == "text/html; charset=utf-8", headers
        assert int(headers["content-length"]) == len(body) < 40_000
        text, policy = body.decode(), headers["content-security-policy"]
        for tag, kind in (("style", "style-src"), ("script", "script-src")):
            parts = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
            assert len(parts) == 1
            digest = base64.b64encode(hashlib.sha256(parts[0].encode()).digest()).decode()
            assert f"{kind} 'sha256-{digest}'" in policy, policy
        assert "unsafe" not in policy and policy.startswith("default-src 'none';") and "frame-ancestors 'none'" in policy
        assert set(re.findall(r"https?://[^'\"\s)]+", text)) == {"http://www.w3.org/2000/svg"}
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)
        assert not re.search(r"\son[a-z]+=|style=\"", text), "the policy forbids these"
        for field, value in (("x-content-type-options", "nosniff"), ("x-frame-options", "DENY"), ("cache-control", "no-store"),
                             ("referrer-policy", "no-referrer"), ("cross-origin-resource-policy", "same-origin")):
            assert headers[field] == value, headers
        status, headers, body = http(node.page, b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert status == 200 and not body and int(headers["content-length"]) == len(text.encode())
        status, headers, body = http(node.page, b"HEAD /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert status == 200 and not body and headers["content-type"] == "text/event-stream"
        for request in (b"POST / HTTP/1.1\r\n\r\n", b"DELETE /events HTTP/1.1\r\n\r\n", b"OPTIONS / HTTP/1.1\r\n\r\n"):
            assert http(node.page, request)[0] == 405


def one_reader_follows():
    """Who holds, who waits, since when; what happened; how many messages: as clients count themselves."""
    with Watched(3) as group:
        holder, waiter, third = (group.client(1) for _ in range(3))
        reader = Reader(group.ports[1])
        assert reader.status == 200 and reader.headers["content-type"] == "text/event-stream"
        first = reader.next()
        assert first["node"] == 1 and first["mode"] == "raft" and "trouble" not in first, first
        assert first["view"]["members"] == 3 and first["view"]["coordinator"] == group.view(1)["coordinator"]
        assert 0 < first["lease"]["left"] <= first["lease"]["length"] == 300 * stretch() and first["log"]["leader"] in (1, 2, 3)
        assert [it["id"] for it in first["members"]] == [1, 2, 3] and first["names"] == []
        assert {it["state"] for it in first["members"]} == {"self", "alive"} and all(it["voter"] for it in first["members"])
        assert first["counts"]["clients"] >= 3 and abs(first["time"] / 1000 - time.time()) < 60
        holder.ask("CLIENT", "SETNAME", "\"</script>&<b>")
        waiter.ask("CLIENT", "SETNAME", "bob")
        third.ask("CLIENT", "SETNAME", "carol")
        fence = holder.ask("LOCK", "build")
        waiter.say("LOCK", "build", "WAIT", 60000)
        third.say("CAMPAIGN", "primary", "TTL", 60000)
        lead = third.hear()
        now = reader.until(lambda it: len(it["names"]) == 2 and it["counts"]["waiting"] == 1)
        row = name_of(now, "build")
        assert row["kind"] == "lock" and row["algorithm"] == "central" and row["holding"] == row["waiting"] == 1, row
        assert row["holders"][0]["fence"] == str(fence) and row["holders"][0]["who"].startswith("1/"), row
        assert row["holders"][0]["client"] == "\"</script>&<b>" and row["waiters"][0]["client"] == "bob", row
        assert 0 <= now["clock"] - row["holders"][0]["since"] < 60000 and row["waiters"][0]["since"] >= row["holders"][0]["since"]
        assert now["names"][0] is row, "what is waited for comes first"
        row = name_of(now, "primary")
        assert row["kind"] == "election" and row["holders"][0]["fence"] == str(lead) and row["holders"][0]["ttl"] == 60000, row
        assert now["in_use"] == 2 and now["hidden"] == 0 and now["counts"]["held"] == 2
        requests = dict((kind, sent) for kind, sent, _ in now["messages"][1]["kinds"])
        assert now["messages"][1]["algorithm"] == "central" and requests["request"] == 2, now["messages"]
        told = {(it["change"], it["name"]): it for it in now["recent"]}
        assert told["granted", "build"]["fence"] == str(fence) and told["granted", "primary"]["election"], now["recent"]
        elsewhere = snapshot_of(group.ports[2], lambda it: it["names"])
        row = name_of(elsewhere, "primary")
        assert row["holders"][0]["client"] == "carol", "a promise goes with the name of its client"
        assert row["elsewhere"] and row["holders"][0]["who"].startswith("1/") and row["holders"][0]["fence"] == str(lead), row
        assert holder.ask("UNLOCK", "build", fence) == 1
        passed = waiter.hear()
        now = reader.until(lambda it: it["counts"]["waiting"] == 0)
        assert name_of(now, "build")["holders"][0]["fence"] == str(passed)
        assert [it["change"] for it in now["recent"] if it["name"] == "build"] == ["granted", "ended", "granted"]
        waiter.close()
        reader.until(lambda it: [row["name"] for row in it["names"]] == ["primary"])
        reader.close()


def troubles_are_shown():
    """A member that dies, no majority, and a node that is just starting: the page tells, and goes on telling."""
    with Watched(3) as group:
        client = group.client(1)
        assert client.ask("LOCK", "x") > 0
        reader = Reader(group.ports[1])
        epoch = reader.next()["view"]["epoch"]
        group.kill(3)
        now = reader.until(lambda it: it["view"]["epoch"] > epoch and "trouble" not in it)
        assert {it["id"]: it["state"] for it in now["members"]} == {1: "self", 2: "alive", 3: "suspected"}
        assert {it["id"]: it["view"] for it in now["members"]} == {1: True, 2: True, 3: False}
        kinds = [it["event"] for it in now["events"]]
        assert kinds.index("started") < kinds.index("peer-suspected") < len(kinds) - kinds[::-1].index("view-begun"), kinds
        assert any("peer=3" in it["text"] and it["level"] == "warning" for it in now["events"]), now["events"]
        group.kill(2)
        now = reader.until(lambda it: "no majority" in it.get("trouble", ""))
        assert "coordinator" not in now["view"] and now["lease"]["left"] == 0 and now["names"] == [], now
        now = reader.until(lambda it: any(one["change"] == "lost" for one in it["recent"]))
        assert "lease-lost" in [it["event"] for it in now["events"]]
        reader.close()
        group.kill(1)
        group.start(1)
        until(lambda: "trouble" in soon(group.ports[1]), "alone after a restart")
        group.start(2, 3)
        group.await_view()
        assert "trouble" not in snapshot_of(group.ports[1], lambda it: "trouble" not in it)
        client.close()


# ---- names ----


NASTY = [b"<script>alert(1)</script>", b"\"'&<img src=x onerror=alert(1)>", b"\xff\xfe", "\u202eevil\u2028\u0085".encode(), b"back\\slash\\x1b", b"\xed\xa0\x80\xf4\x90\x80\x80", "ключ 🔑".encode(), b" ", b"}]", b"a" * 512,
         b"\x80" * 512]
SHOWN = ["<script>alert(1)</script>", "\"'&<img src=x onerror=alert(1)>", r"\xff\xfe", r"\u202eevil\u2028\u0085", r"back\\slash\\x1b", r"\xed\xa0\x80\xf4\x90\x80\x80", "ключ 🔑", " ", "}]", "a" * 512,
         r"\x80" * 512]


def any_bytes():
    """A name is shown as what it is, on one line, whatever its bytes are."""
    with paged() as node:
        client = node.client()
        for name in NASTY:
            assert client.ask("LOCK", name) > 0
        for name, why in ((b"a" * 1024, "TOOBIG"), (b"data: {}\n\nevent: full\n\n", "control"), (b"\x00\x1b[31m", "control")):
            assert why in refusal(client, "LOCK", name)
        now = snapshot_of(node.page, lambda it: len(it["names"]) == len(NASTY))
        assert sorted(row["name"] for row in now["names"]) == sorted(SHOWN), now["names"]
        assert {it["name"] for it in now["recent"]} >= {"}]", "ключ 🔑"}
        client.close()


def many_names():
    """The first few hundred of very many, those that are waited for first; no turn of the loop takes long."""
    with paged("measure-turns = yes\nclients = 10000\n[limits]\nheld-per-client = 1000000") as node:
        client, waiter = node.client(), node.client()
        pipeline(client, [wire("LOCK", f"name-{i}") for i in range(NAMES)])
        waiter.say("LOCK", f"name-{NAMES - 1}", "WAIT", 100000)
        await_true(lambda: node.info("locks")["waiting"] == "1")
        watch = Watch(node)

        def read():
            readers = [Reader(node.page) for _ in range(READERS_EACH)]
            for reader in readers:
                now = reader.until(lambda it: it["counts"]["waiting"] == 1)
                assert len(now["names"]) == ROWS and now["in_use"] == NAMES, (len(now["names"]), now["in_use"])
                assert now["names"][0]["name"] == f"name-{NAMES - 1}" and now["names"][0]["waiting"] == 1
                reader.next()
                reader.close()

        watch.step(f"{READERS_EACH} readers of {NAMES} names", read)
        watch.step("the page", lambda: [http(node.page, b"GET / HTTP/1.1\r\n\r\n") for _ in range(50)])
        watch.told()
        client.close()
        waiter.close()


def long_names():
    """What a reader gets at once is limited in bytes, too, and so is the time to write it."""
    with paged("measure-turns = yes\n[limits]\nheld-per-client = 1000000") as node:
        client = node.client()
        pipeline(client, [wire("LOCK", b"\x80" * 500 + b"%d" % i) for i in range(ROWS)])
        watch, reader = Watch(node), Reader(node.page)

        def read():
            for _ in range(3):
                _, data = reader.event()
                assert 100_000 < len(data) < 131_072, len(data)
                now = json.loads(data)
                assert 10 < len(now["names"]) < ROWS == now["in_use"], len(now["names"])

        watch.step("long names", read)
        watch.told()
        reader.close()
        client.close()


def names_that_come_and_go():
    """Each name that is held all the time is shown exactly once, however many others come and go."""
    with paged() as node:
        client, busy = node.client(), node.client()
        kept = {f"kept-{i}" for i in range(150)}
        for name in kept:
            assert client.ask("LOCK", name) > 0
        reader = Reader(node.page)
        for turn in range(4):
            for part in range(30):
                fences = pipeline(busy, [wire("LOCK", f"brief-{turn}-{part}-{i}") for i in range(100)])
                pipeline(busy, [wire("UNLOCK", f"brief-{turn}-{part}-{i}", fence) for i, fence in enumerate(fences)])
            shown = [row["name"] for row in reader.next()["names"] if row["name"].startswith("kept")]
            assert len(shown) == len(set(shown)) and set(shown) == kept, shown
        now = reader.until(lambda it: it["changes"] >= 24_150)
        assert len(now["recent"]) == 32 and now["recent"][0]["number"] == now["changes"]
        for one in (reader, client, busy):
            one.close()


# ---- readers ----


def crowds_of_readers():
    """A thousand readers: a few are served, the newest among them; clients of the node do not notice."""
    count = 200 if is_sanitized() else 1000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with paged("measure-turns = yes") as node:
        files = pathlib.Path(f"/proc/{node.process.pid}/fd")
        client, watch = node.client(), Watch(node)
        before = len(list(files.iterdir()))
        oldest = Reader(node.page)
        oldest.next()

        def crowd():
            readers = [Reader(node.page) for _ in range(count)]
            assert readers[-1].next()["node"] == 1, "the newest is served"
            until(lambda: len(list(files.iterdir())) <= before + READERS_EACH + 1, "few stay")
            assert client.ask("UNLOCK", "x", client.ask("LOCK", "x")) == 1
            for reader in readers:
                reader.close()

        watch.step(f"{count} readers", crowd)
        while event := oldest.event():
            last = event
        assert last == ("full", b""), last
        oldest.close()
        until(lambda: len(list(files.iterdir())) <= before + 1, "all are gone")
        assert snapshot_of(node.page)["node"] == 1
        watch.told()
        client.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def slow_readers_go():
    """One that does not read is dropped after some ten seconds; others hear everything meanwhile."""
    with paged("[limits]\nheld-per-client = 1000000") as node:
        client = node.client()
        pipeline(client, [wire("LOCK", b"\x80" * 500 + b"%d" % i) for i in range(ROWS)])
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.connect(("127.0.0.1", node.page))
        slow.sendall(b"GET /events HTTP/1.1\r\n\r\n")
        files, reader = pathlib.Path(f"/proc/{node.process.pid}/fd"), Reader(node.page)
        reader.next()
        full, begun = len(list(files.iterdir())), time.monotonic()
        while len(list(files.iterdir())) == full:
            reader.next()
            assert time.monotonic() - begun < 60, "still there"
        assert time.monotonic() - begun > 5, "it had some time"
        reader.next()
        for one in (slow, reader, client):
            one.close()


def talkative_readers_go():
    """A reader that says anything after its request is no browser."""
    with paged() as node:
        reader = Reader(node.page)
        reader.next()
        reader.socket.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert reader.ended()
        reader.close()


# ---- who may read ----


def hosts_are_judged():
    """A name of somebody else's makes a browser read here by DNS rebinding: it gets neither page nor events."""
    machine = socket.gethostname()
    with paged() as node:
        for host, good in (("127.0.0.1", True), (f"127.0.0.1:{node.page}", True), ("localhost:1", True), ("LOCALHOST", True), ("[::1]:80", True),
                           ("10.1.2.3", True), (machine, True), (f"{machine}:7780", True), ("evil.example", False), ("127.0.0.1.evil.example", False),
                           (f"evil.example:{node.page}", False), ("localhost.evil.example", False), ("", False), ("x" * 300, False), ("[evil]", False),
                           ("127.0.0.1\0.evil", False), ("127.1", False)):
            for path in ("/", "/events", "/?x=1"):
                status, _, body = http(node.page, f"HEAD {path} HTTP/1.1\r\nhOsT:  {host}\t\r\n\r\n".encode())
                assert (status, body) == (200 if good else 421, b""), (host, path, status)
            assert http(node.page, f"GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())[0] == 200, "as ever"
        assert http(node.page, b"GET / HTTP/1.0\r\n\r\n")[0] == 200
        assert http(node.page, b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")[0] == 400
        status, _, body = http(node.page, b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        assert status == 421 and body.startswith(b"expected an address") and body.count(b"\n") == 1, body
        for site, status in (("same-origin", 200), ("none", 200), ("cross-site", 403), ("same-site", 403), ("x", 403)):
            assert Reader(node.page, fields=f"Sec-Fetch-Site: {site}\r\n").status == status, site
        assert http(node.page, b"GET / HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\n\r\n")[0] == 200, "a link"
    with tempfile.TemporaryDirectory() as directory, \
            serving("--listen", f"{directory}/s", "--http", f"{directory}/http"):
        reader = Reader(f"{directory}/http", host="anything")
        assert reader.next()["node"] == 1
        reader.close()
    port = free_port()
    with tempfile.TemporaryDirectory() as directory, \
            serving("--listen", f"{directory}/s", "--http", f"localhost:{port}"):
        assert http(port, f"HEAD / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())[0] == 200


RIGHTS = "[acl anonymous]\nlock = a-*\n"


def rights_count():
    """The page is for whoever may read /metrics. Names are for those who may observe them, addresses and events for admins."""
    with paged(acl=RIGHTS) as node:
        client = node.client()
        for name in ("a-1", "a-2", "b-1"):
            assert client.ask("LOCK", name) > 0
        reader = Reader(node.page)
        now = reader.until(lambda it: it["in_use"] == 3)
        assert sorted(row["name"] for row in now["names"]) == ["a-1", "a-2"] and now["hidden"] == 1
        assert sorted(it["name"] for it in now["recent"]) == ["a-1", "a-2"] and "events" not in now
        assert all("address" not in it for it in now["members"]), now["members"]
        assert "b-1" not in json.dumps(now)
        node.write("[acl anonymous]\nadmin = yes\n")
        node.process.send_signal(signal.SIGHUP)
        now = reader.until(lambda it: it["hidden"] == 0)
        assert len(now["names"]) == 3 and any(it["event"] == "reloaded" for it in now["events"])
        node.write("[acl somebody]\nadmin = yes\n")
        node.process.send_signal(signal.SIGHUP)
        now = reader.until(lambda it: it["hidden"] == 3)
        assert now["names"] == [] == now["recent"] and now["counts"]["held"] == 3
        reader.close()
        client.close()


def certificates_count():
    """Off loopback: by TLS, for the names that the certificate's identity may observe, as long as it may do anything."""
    port = free_port()
    with World() as world:
        ca = world.authority("ca")
        certificate, key = world.certificate("node", "ca", host="127.0.0.2")
        mine, mine_key = world.certificate("me", "ca")
        context = ssl.create_default_context(cafile=ca)
        context.load_cert_chain(mine, mine_key)
        config = world.path / "node.conf"
        text = (f"[node]\nlisten = {world.path}/s\nhttp = 0.0.0.0:{port}\n[security]\nca = {ca}\ncertificate = {certificate}\n"
                f"private-key = {key}\n")
        config.write_text(text + "[acl me]\nobserve = a-*\n", encoding="utf-8")
        with serving("--config", config) as node:
            client = Client(f"{world.path}/s")
            for name in ("a-1", "b-1"):
                assert client.ask("LOCK", name) > 0
            reader = Reader(port, host="anything.example", context=context)
            now = reader.until(lambda it: it["in_use"] == 2)
            assert [row["name"] for row in now["names"]] == ["a-1"] and now["hidden"] == 1
            config.write_text(text + "[acl other]\nobserve = a-*\n", encoding="utf-8")
            node.send_signal(signal.SIGHUP)
            assert reader.ended(), "it may do nothing any more"
            reader.close()
            client.close()


# ---- where it is ----


def status_tells():
    """`conclave status` prints the addresses of the pages; --json has them, too."""
    def status(server, *options):
        return subprocess.run([CONCLAVE, "status", "--server", server, *options], capture_output=True, text=True, check=True,
                              timeout=PATIENCE).stdout

    port = free_ports(2)
    with Cluster(2, "--http", str(port), record=False) as cluster:
        server, pages = cluster.address(1), [f"http://127.0.0.1:{port}/", f"http://127.0.0.1:{port + 1}/"]
        told = status(server)
        assert f"live pages: node 1 {pages[0]}, node 2 {pages[1]}\n" in told, told
        assert [it["page"] for it in json.loads(status(server, "--json"))["members"]] == pages
        assert [snapshot_of(port + i)["node"] for i in (0, 1)] == [1, 2]
    port = free_port()
    with tempfile.TemporaryDirectory() as directory:
        with serving("--listen", f"{directory}/s"):
            assert "live page" not in status(f"{directory}/s") and "\"page\"" not in status(f"{directory}/s", "--json")
        with serving("--listen", f"{directory}/s", "--http", f"0.0.0.0:{port} plaintext", stderr=subprocess.PIPE):
            assert f"live pages: node 1 http://localhost:{port}/\n" in status(f"{directory}/s")


def cluster_has_pages():
    """`conclave cluster N --http P`."""
    port = free_port()
    with tempfile.TemporaryDirectory() as directory:
        cluster = subprocess.Popen([CONCLAVE, "cluster", "1", "--port", "0", "--http", str(port), "--dir", directory], stdout=subprocess.PIPE,
                                   text=True)
        try:
            assert "ready" in cluster.stdout.readline()
            assert cluster.stdout.readline() == f"pages at http://127.0.0.1:{port}/..{port}\n"
            assert snapshot_of(port)["node"] == 1
        finally:
            cluster.terminate()
            cluster.wait(PATIENCE)
            cluster.stdout.close()
    done = subprocess.run([CONCLAVE, "cluster", "1", "--http", "x"], capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert done.returncode == 2 and "--http x: expected a port" in done.stderr, done


if __name__ == "__main__":
    sys.exit(main([one_document, one_reader_follows, troubles_are_shown, any_bytes, many_names, long_names, names_that_come_and_go,
                   crowds_of_readers, slow_readers_go, talkative_readers_go, hosts_are_judged, rights_count, certificates_count,
                   status_tells, cluster_has_pages]))
