# SPDX-License-Identifier: MIT
"""The operator's view: /metrics, /healthz, and a line for each event."""

import contextlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

import prometheus
from group import Group
from harness import CONCLAVE, PATIENCE, Client, free_port, main
from secured import World
from starvation import stretch


def http(port, request, timeout=PATIENCE):
    """(status, headers, body)"""
    with socket.create_connection(("127.0.0.1", port), timeout) as connection:
        connection.sendall(request if isinstance(request, bytes) else f"{request} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        answer = b""
        while data := connection.recv(65536):
            answer += data
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *headers = head.decode().split("\r\n")
    return int(first.split(" ")[1]), {key.lower(): value for key, value in (line.split(": ", 1) for line in headers)}, body


@contextlib.contextmanager
def serving(*options, **streams):
    """Runs a node that ends with the test; it has to end in order."""
    node = subprocess.Popen([CONCLAVE, "node", *map(str, options)], stdout=subprocess.PIPE, text=True, **streams)
    try:
        assert "ready" in node.stdout.readline()
        yield node
        node.terminate()
        assert node.wait(PATIENCE) == 0
    finally:
        node.kill()
        node.wait()
        for stream in (node.stdout, node.stderr):
            if stream:
                stream.close()


class Watched(Group):
    """A group whose nodes serve HTTP and write logs."""

    def __init__(self, count, log="json", extra="", **settings):
        self.ports = {node: free_port() for node in range(1, count + 1)}
        self.log, self.extra = log, extra
        super().__init__(count, **settings)

    def configure(self, node, ports, joins):
        super().configure(node, ports, joins)
        path = self.directory / f"{node}.conf"
        path.write_text(path.read_text() + f"[node]\nhttp = 127.0.0.1:{self.ports[node]}\nlog = {self.log}\n{self.extra}",
                        encoding="utf-8")

    def metrics(self, node):
        status, headers, body = http(self.ports[node], "GET /metrics")
        assert status == 200 and headers["content-type"].startswith("text/plain; version=0.0.4"), headers
        assert int(headers["content-length"]) == len(body)
        return prometheus.parse(body.decode())

    def events(self, node):
        lines = (self.directory / f"{node}.log").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if not re.match(r"node \d+ ready", line)]


def until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def metrics_tell():
    """Every number agrees with the clients' own counts."""
    prometheus.self_test()
    with Watched(3, extra='[lock we"ird\\*]\nalgorithm = ricart-agrawala\n') as group:
        before = group.metrics(1)
        clients = [group.client(1) for _ in range(3)]
        for _ in range(5):
            assert clients[0].ask("UNLOCK", "x", clients[0].ask("LOCK", "x")) == 1
        fence = clients[0].ask("LOCK", "x")
        clients[1].say("LOCK", "x")
        clients[2].say("LOCK", "x", "WAIT", 30)
        assert clients[2].hear() is None
        assert clients[0].ask("LOCK", "short", "TTL", 20) > 0
        time.sleep(0.15)
        now = group.metrics(1)

        def grew(name):
            return now[name,] - before[name,]

        assert grew("conclave_grants_total") == 7 and grew("conclave_releases_total") == 5
        assert grew("conclave_losses_total") == 1 and now["conclave_held",] == 1 and now["conclave_waiting",] == 1
        time.sleep(0.1)
        assert clients[0].ask("UNLOCK", "x", fence) == 1
        clients[1].hear()
        now = group.metrics(1)
        assert grew("conclave_grants_total") == 8 and now["conclave_waiting",] == 0
        name = "conclave_grant_wait_seconds"
        waits = {float(dict(key[1:])["le"]): value for key, value in now.items() if key[0] == name + "_bucket"}
        assert waits[0.1] == 7 and waits[1] == 8, waits  # one has waited for a quarter of a second
        assert 0.2 < now[name + "_sum",] < 0.9 and now[name + "_count",] == 8
        assert now["conclave_members",] == 3 == now["conclave_view_members",] and now["conclave_suspected_members",] == 0
        assert now["conclave_can_grant",] == 1 and now["conclave_coordinator",] == group.view(1)["coordinator"]
        assert now["conclave_grace_left_seconds",] == 0
        assert 0 < now["conclave_lease_left_seconds",] <= now["conclave_lease_seconds",] == 0.3 * stretch()
        assert now["conclave_raft_committed_index",] >= 2 and now["conclave_disk_writes_total",] > 0
        assert 0 < now["conclave_disk_free_bytes",] <= shutil.disk_usage(group.directory).total
        assert abs(now["process_start_time_seconds",] - time.time()) < 60
        requests = now["conclave_messages_sent_total", ("algorithm", "central"), ("kind", "request"), ("names", "*")]
        releases = now["conclave_messages_sent_total", ("algorithm", "central"), ("kind", "release"), ("names", "*")]
        # Node 3 coordinates, so each entry costs node 1 a request, and each exit a release. Of the 8 grants one was handed on
        # within an entry, and that one has not ended.
        assert requests == 7 and releases == 6, (requests, releases)
        assert any(dict(key[1:]).get("names") == 'we"ird\\*' for key in now), "escaped labels"
        group.kill(3)
        until(lambda: group.metrics(1)["conclave_suspected_members",] == 1, "suspected")
        now = group.metrics(1)
        assert now["conclave_peer_suspected", ("peer", "3")] == 1 and now["conclave_peer_suspected", ("peer", "2")] == 0
        assert now["conclave_peer_suspicions_total", ("peer", "3")] == 1
        promtool = shutil.which(os.environ.get("PROMTOOL", "promtool"))
        if promtool:
            text = http(group.ports[1], "GET /metrics")[2]
            lint = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, check=False)
            assert lint.returncode == 0, lint.stderr
        for client in clients:
            client.close()


def health_tells():
    """200 if the node can grant, 503 and why if not."""
    with Watched(3) as group:
        status, _, body = http(group.ports[1], "GET /healthz")
        assert (status, body) == (200, b"ok\n")
        status, headers, body = http(group.ports[1], "HEAD /healthz")
        assert status == 200 and body == b"" and headers["content-length"] == "3"
        group.kill(2, 3)
        until(lambda: http(group.ports[1], "GET /healthz")[0] == 503, "still healthy")
        until(lambda: b"no majority: 2 of 3 voters" in http(group.ports[1], "GET /healthz")[2], "why")
        assert b"(2,3)" in http(group.ports[1], "GET /healthz")[2]
        assert group.metrics(1)["conclave_can_grant",] == 0
        group.start(2, 3)
        group.await_view()
        until(lambda: http(group.ports[1], "GET /healthz")[0] == 200, "healthy again")


def requests_are_judged():
    port = free_port()
    with tempfile.TemporaryDirectory() as directory, \
            serving("--listen", f"{directory}/s", "--http", f"127.0.0.1:{port}"):
        for request, status in (("POST /metrics", 405), ("GET /nothing", 404), ("GET /metrics/", 404), ("GET /healthz?x=1", 200),
                                (b"GET /healthz HTTP/1.0\r\n\r\n", 200), (b"GET /healthz HTTP/1.1\n\n", 200),
                                (b"nonsense\r\n\r\n", 400), (b"GET /healthz\r\n\r\n", 400), (b"\r\n\r\n", 400),
                                (b"GET  HTTP/1.1\r\n\r\n", 400), (b"GET /healthz HTTP/2.0\r\n\r\n", 400),
                                (b"GET /healthz HTTP/1.1\r\nX: " + b"x" * 9000 + b"\r\n\r\n", 431)):
            answer = http(port, request)
            assert answer[0] == status, (request, answer)
        assert http(port, "PUT /x")[1]["allow"] == "GET, HEAD"
        numbers = prometheus.parse(http(port, "GET /metrics")[2].decode())
        assert ("conclave_lease_seconds",) not in numbers, "only a group raft has leases"
        with socket.create_connection(("127.0.0.1", port)) as drip:
            for byte in b"GET /healthz HTTP/1.1\r\nA: b\r\n\r\n":
                drip.sendall(bytes([byte]))
            assert drip.recv(100).startswith(b"HTTP/1.1 200")


def strangers_take_nothing():
    """Connections that send nothing, or a byte a second, are limited in number and time; clients do not notice them."""
    port = free_port()
    with tempfile.TemporaryDirectory() as directory, \
            serving("--listen", f"{directory}/s", "--http", f"127.0.0.1:{port}") as node:
        files = pathlib.Path(f"/proc/{node.pid}/fd")
        before = len(list(files.iterdir()))
        crowd = []
        resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
        for _ in range(400):
            stranger = socket.create_connection(("127.0.0.1", port))
            stranger.sendall(b"GET /metrics HTTP/1.1\r\nX:")
            crowd.append(stranger)
        assert http(port, "GET /healthz")[0] == 200, "the newest gets through"
        assert len(list(files.iterdir())) <= before + 33
        client = Client(f"{directory}/s")
        assert client.ask("LOCK", "x") > 0
        begun = time.monotonic()
        slow = socket.create_connection(("127.0.0.1", port))
        slow.settimeout(0.2)
        ended = False
        while not ended and time.monotonic() < begun + 10:
            try:
                slow.sendall(b"x")
                ended = slow.recv(1) == b""
            except socket.timeout:
                continue
            except OSError:
                ended = True
        assert ended and time.monotonic() - begun < 7, "a slow one is sent away after five seconds"
        until(lambda: len(list(files.iterdir())) <= before + 1, "all of them are gone")
        for stranger in (*crowd, slow, client):
            stranger.close()


def addresses_are_guarded():
    """Off by default; off loopback only with certificates, or if plaintext is asked for."""
    def refused(*options):
        result = subprocess.run([CONCLAVE, "node", *options], capture_output=True, text=True,
                                check=False, timeout=PATIENCE)
        assert result.returncode == 2 and result.stderr.count("\n") == 1, result
        return result.stderr

    with tempfile.TemporaryDirectory() as directory:
        listen = ("--listen", f"{directory}/s")
        for options, expected in (
                (("--http", "0.0.0.0:7797"), "expected certificates for an address off loopback"),
                (("--http", "nonsense"), "expected host:port"),
                (("--http", "127.0.0.1:7797 encrypted"), "then maybe plaintext"),
                (("--http", ""), "[node] http"),
                (("--log", "xml"), "[node] log = xml: expected text or json"),
                (("--set", "node.log-level=loud"), "expected error, warning or info")):
            assert expected in refused(*listen, *options), (options, refused(*listen, *options))
        port = free_port()
        with serving(*listen, "--http", f"0.0.0.0:{port} plaintext", stderr=subprocess.PIPE) as node:
            assert http(port, "GET /healthz")[0] in (200, 503)
            said = node.stderr.readline()
            assert "anyone can read /metrics" in said, said
        with serving(*listen, "--http", f"{directory}/http"), socket.socket(socket.AF_UNIX) as connection:
            connection.connect(f"{directory}/http")
            connection.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1")
            assert os.stat(f"{directory}/http").st_mode & 0o777 == 0o600


def others_need_certificates():
    """Off loopback it is TLS, for clients with a certificate of the CA."""
    port = free_port()

    def ask(context):
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as plain, \
                context.wrap_socket(plain, server_hostname="127.0.0.2") as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
            return connection.recv(1000)

    with World() as world:
        ca = world.authority("ca")
        certificate, key = world.certificate("node", "ca", host="127.0.0.2")
        mine, mine_key = world.certificate("me", "ca")
        context = ssl.create_default_context(cafile=ca)
        with serving("--listen", world.path / "s", "--http", f"0.0.0.0:{port}", "--set", f"security.ca={ca}", "--set",
                     f"security.certificate={certificate}", "--set", f"security.private-key={key}"):
            try:
                assert ask(context) == b"", "without a certificate"
            except OSError:
                pass
            context.load_cert_chain(mine, mine_key)
            assert ask(context).startswith(b"HTTP/1.1 200 OK")
            with socket.create_connection(("127.0.0.1", port), PATIENCE) as plain:
                plain.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
                assert not plain.recv(1000).startswith(b"HTTP")


def example_is_sound():
    """contrib/node1.conf, with addresses of this machine, starts a node."""
    source = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
    text = (source / "contrib" / "node1.conf").read_text(encoding="utf-8")
    with World() as world:
        key = world.key("cluster")
        text = re.sub(r"10\.0\.0\.\d:\d+|127\.0\.0\.1:\d+", lambda _: f"127.0.0.1:{free_port()}", text)
        text = text.replace("/etc/conclave/cluster.key", str(key)).replace("/run/conclave/node1", str(world.path))
        config = world.path / "node1.conf"
        config.write_text(text, encoding="utf-8")
        with serving("--config", config, "--set", f"node.directory={world.path}/d", stderr=subprocess.DEVNULL):
            pass


def full_disk_is_told():
    """A node that cannot write ends, and the line before its last says why."""
    with Watched(2) as group:
        group.kill(1, which=signal.SIGTERM)
        node = subprocess.Popen([CONCLAVE, "node", "--config", str(group.directory / "1.conf")], text=True,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))
        group.await_view([1, 2])
        size = (group.directory / "1" / "journal").stat().st_size
        resource.prlimit(node.pid, resource.RLIMIT_FSIZE, (size, size))
        group.kill(2)
        group.start(2)
        _, said = node.communicate(timeout=PATIENCE)
        assert node.returncode == 1, said
        failed = [event for event in map(json.loads, said.splitlines()) if event["event"] == "disk-failed"]
        assert len(failed) == 1 and failed[0]["level"] == "error" and "journal: File too large" in failed[0]["message"]


def refusals_are_told():
    """A client with another cluster's key, or none, is refused, and the log says from where and why."""
    port = free_port()
    with World() as world:
        key, other = world.key("cluster"), world.key("other")
        mine = world.key("mine", client="me", cluster="other")
        assert other
        with serving("--listen", f"127.0.0.1:{port}", "--log", "json", "--set", f"security.cluster-key={key}",
                     stderr=subprocess.PIPE) as node:
            told = subprocess.run([CONCLAVE, "status", "--server", f"127.0.0.1:{port}", "--key", mine],
                                  capture_output=True, check=False)
            assert told.returncode == 2
            with socket.create_connection(("127.0.0.1", port)) as stranger:
                stranger.sendall(b"PING\r\n")
                stranger.recv(100)
            refused = []
            while len(refused) < 2:
                event = json.loads(node.stderr.readline())
                refused += [event] if event["event"] == "client-refused" else []
            for event in refused:
                assert event["from"] == "127.0.0.1" and event["level"] == "warning" and event["why"], event
            assert refused[0]["why"] != refused[1]["why"], refused


def logs_tell():
    """The log has an event for everything that happens to a group, in order."""
    with Watched(3) as group:
        group.kill(3)
        group.await_view([1, 2])
        group.kill(2, which=signal.SIGSTOP)
        until(lambda: any(e["event"] == "lease-lost" for e in group.events(1)), "lease-lost")
        until(lambda: any(e["event"] == "peer-suspected" and e["peer"] == 2 for e in group.events(1)), "suspected")
        group.kill(2, which=signal.SIGCONT)
        group.await_view([1, 2])
        os.kill(group.processes[1].pid, signal.SIGHUP)
        until(lambda: any(e["event"] == "reloaded" for e in group.events(1)), "reloaded")
        config = group.directory / "1.conf"
        config.write_text(config.read_text() + "[nonsense]\nx = y\n", encoding="utf-8")
        os.kill(group.processes[1].pid, signal.SIGHUP)
        until(lambda: any(e["event"] == "not-reloaded" for e in group.events(1)), "not-reloaded")
        group.kill(1, which=signal.SIGTERM)
        events = group.events(1)
        names = [event["event"] for event in events]
        assert names[0] == "started" and "leaving" in names[-2:], names
        for event in events:
            assert set(event) >= {"time", "level", "event", "node"} and event["node"] == 1, event
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event["time"]), event
        views = [event for event in events if event["event"] == "view-begun"]
        assert views[0]["members"] == "1,2,3" and views[0]["coordinator"] == 3, views
        assert any(view["members"] == "1,2" for view in views) and sorted(v["epoch"] for v in views) == [v["epoch"] for v in views]
        assert [e["peer"] for e in events if e["event"] == "peer-suspected"][:2] == [3, 2], events
        order = [name for name in names if name in ("lease-held", "lease-lost")]
        assert order[:3] == ["lease-held", "lease-lost", "lease-held"], order


def logs_by_default():
    """By default a node logs only what is wrong; as text in logfmt, and for the journal with a priority."""
    for options, expected in (((), False), (("--log", "text"), True),
                              (("--set", "node.log-level=error", "--log", "text"), False)):
        reading, writing = os.pipe()
        info = os.fstat(writing)
        with tempfile.TemporaryDirectory() as directory, \
                serving("--listen", f"{directory}/s", *options, stderr=writing,
                        env=dict(os.environ, JOURNAL_STREAM=f"{info.st_dev}:{info.st_ino}")):
            os.close(writing)
            client = Client(f"{directory}/s")
            assert client.ask("LOCK", "x") > 0
            client.close()
        with open(reading, encoding="utf-8") as said:
            lines = said.read().splitlines()
        assert bool(lines) == expected, lines
        for line in lines:
            assert re.match(r"<6>time=\S+Z level=info event=[a-z-]+ node=1 [a-z_]+=", line), line


def errors_have_time_and_level():
    """Every line of a running node has the form, also when it fails, and also without --log."""
    line = re.compile(r"time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z level=(error|warning|info) event=[a-z-]+ node=1 ")
    for options in ((), ("--log", "text")):
        with tempfile.TemporaryDirectory() as directory:
            config = pathlib.Path(directory) / "node.conf"
            config.write_text(f"[node]\nlisten = {directory}/s\n", encoding="utf-8")
            node = subprocess.Popen([CONCLAVE, "node", "--config", str(config), *options], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True)
            assert "ready" in node.stdout.readline()
            config.write_text("[node]\nlisten = nonsense:nonsense\n[security]\nnonsense = 1\n", encoding="utf-8")
            node.send_signal(signal.SIGHUP)
            said = ""
            while "everything stays as it was" not in said:
                said += node.stderr.readline()
            node.terminate()
            said += node.communicate(timeout=PATIENCE)[1]
            assert node.returncode == 0 and "level=error event=not-reloaded" in said and 'message="HUP: ' in said, said
            assert all(line.match(each) for each in said.splitlines()), said


def has_priority():
    """If the kernel allows it; if not, the node runs nevertheless, and says so if it was asked for."""
    def run(priority, check, **options):
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o777)
            node = subprocess.Popen([CONCLAVE, "node", "--listen", f"{directory}/s", "--set", f"node.priority={priority}"],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
            assert "ready" in node.stdout.readline()
            client = Client(f"{directory}/s")
            assert client.ask("LOCK", "x") > 0
            client.close()
            seen = check(node.pid)
            node.terminate()
            said = node.communicate(timeout=PATIENCE)[1]
            assert node.returncode == 0, said
            return seen, said

    def rank(pid):
        return os.sched_getscheduler(pid), os.getpriority(os.PRIO_PROCESS, pid)

    before = os.getpriority(os.PRIO_PROCESS, 0)
    assert run("normal", rank) == ((os.SCHED_OTHER, before), "")
    if os.getuid() == 0:
        assert run("auto", rank) == ((os.SCHED_OTHER, min(before, -10)), "")
        assert run("realtime", rank)[0][0] == os.SCHED_RR
        nobody = {"user": 65534, "group": 65534}
        assert run("auto", rank, **nobody) == ((os.SCHED_OTHER, before), "")
        seen, said = run("realtime", rank, **nobody)
        assert seen == (os.SCHED_OTHER, before) and "event=priority" in said and len(said.splitlines()) == 1, said
    wrong = subprocess.run([CONCLAVE, "node", "--set", "node.priority=high"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2 and "expected auto, normal or realtime" in wrong.stderr, wrong


def logs_are_bounded():
    """Ten thousand strangers make a few dozen lines; and a log that is not read does not stop the node."""
    with Watched(2, log="text") as group:
        port = int(re.search(r"peers = 127.0.0.1:(\d+)", (group.directory / "1.conf").read_text())[1])
        for _ in range(2000):
            with socket.create_connection(("127.0.0.1", port)) as stranger:
                stranger.sendall(b"GET / HTTP/1.1\r\n\r\n\x1b[31m\n" * 4)
        until(lambda: "event=peer-refused" in (group.directory / "1.log").read_text(), "refused")
        lines = [line for line in (group.directory / "1.log").read_text().splitlines() if "peer-refused" in line]
        assert 10 <= len(lines) <= 25, len(lines)
        assert "from=127.0.0.1" in lines[0] and 'why="not what members say"' in lines[0], lines[0]
        refused = group.metrics(1)["conclave_refused_peers_total",]
        assert refused > 100, refused
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    try:
        while True:
            os.write(writing, b"x" * 4096)
    except BlockingIOError:
        pass
    os.set_blocking(writing, True)
    with tempfile.TemporaryDirectory() as directory, \
            serving("--listen", f"{directory}/s", "--log", "json", stderr=writing):
        os.close(writing)
        client = Client(f"{directory}/s")
        assert client.ask("LOCK", "x") > 0
        client.close()
    os.close(reading)


if __name__ == "__main__":
    sys.exit(main([metrics_tell, health_tells, requests_are_judged, strangers_take_nothing, addresses_are_guarded,
                   others_need_certificates,
                   example_is_sound, full_disk_is_told, refusals_are_told, logs_tell, logs_by_default,
                   errors_have_time_and_level, has_priority, logs_are_bounded]))
