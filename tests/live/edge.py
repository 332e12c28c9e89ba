# SPDX-License-Identifier: MIT
"""The edge of a node: the worst inputs of clients, files and names."""

import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
# pylint: disable=wrong-import-position
from harness import CONCLAVE, PATIENCE, Client, Refused, free_port, main


class Node:
    """`conclave node` with settings of its own, at a Unix socket and at a port where clients are anonymous."""

    def __init__(self, settings="", options=(), environment=None, acl="", files=None):
        self.files = files
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="conclave-test-"))
        self.socket, self.config = f"{self.directory}/node.sock", self.directory / "node.conf"
        self.port = free_port()
        self.settings, self.options = settings, options
        self.environment = {**os.environ, **(environment or {})}
        self.write(acl)

    def write(self, acl):
        self.config.write_text(f"[node]\nlisten = {self.socket}\nlisten = 127.0.0.1:{self.port}\n{self.settings}\n{acl}\n")

    def __enter__(self):
        self.log = open(self.directory / "log", "w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen([CONCLAVE, "node", "--config", str(self.config), *self.options],
                                        stdout=subprocess.PIPE, stderr=self.log, text=True, env=self.environment,
                                        preexec_fn=self.limit_files if self.files else None)
        assert "ready" in self.process.stdout.readline(), self.said()
        return self

    def __exit__(self, *_):
        self.process.terminate()
        code = self.process.wait(PATIENCE)
        self.process.stdout.close()
        said = self.said()
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)
        assert code == 0, (code, said)

    def limit_files(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, (self.files, self.files))

    def said(self):
        return (self.directory / "log").read_text(encoding="utf-8", errors="replace")

    def client(self, **options):
        return Client(self.socket, **options)

    def stranger(self, **options):
        return Client(f"127.0.0.1:{self.port}", **options)

    def info(self, section="all"):
        client = self.client()
        text = client.ask("INFO", section)
        client.close()
        return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


def await_true(condition, patience=PATIENCE):
    """Waits until the condition holds, and returns its value."""
    end = time.monotonic() + patience
    while not (result := condition()):
        assert time.monotonic() < end, condition
        time.sleep(0.01)
    return result


def refusal(client, *words):
    try:
        answer = client.ask(*words)
    except Refused as error:
        return str(error)
    raise AssertionError(f"{words} was allowed: {answer}")


# ---- settings files ----


def refused(text):
    """The line with which a node refuses that settings file; it must not start."""
    with tempfile.TemporaryDirectory(prefix="conclave-test-") as directory:
        path = pathlib.Path(directory) / "node.conf"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        # A correct line that is reached only if all lines before it are accepted: these settings do not fit together.
        done = subprocess.run([CONCLAVE, "node", "--config", str(path), "--set", "group.timeout=1"],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, (text, done)
        return done.stderr


def settings_lines():
    """No line is read as another: neither indented nor long lines, nor odd section names or text after them."""
    rights = "[node]\nlisten = /tmp/none.sock\n[acl build]\n"
    for text, line, words in (
            (rights + "lock = build-*\n  observe = *\n", 5, "indented"),
            (rights + "  lock = build-*\n", 4, "indented"),
            (rights + "lock = build-*\n\tadmin = yes\n", 5, "indented"),
            (rights + "lock = " + "a" * 190 + " admin = yes\n", 4, "bytes"),
            (rights + "lock = " + "a" * 192 + "\nadmin = yes\n", 4, "bytes"),
            ("[acl " + "b" * 60 + "]\nadmin = yes\n", 1, "section"),
            ("[acl build] admin = yes\n", 1, "after a [section]"),
            (b"[acl build]\nlock = a\0b\n", 2, "byte of 0"),
            (b"\xef\xbb\xbf[acl build] admin = yes\n", 1, "after a [section]"),
            (rights + "nonsense\n", 4, "expected [section]"),
            (rights + "lock: x\nnonsense = 1\n", 5, "expected lock, elect"),
            ("nonsense\n  indented = 1\n", 1, "expected [section]")):
        said = refused(text)
        assert f"node.conf:{line}: " in said and words in said, (text, said)
    # These lines are unusual but correct: all of them are read.
    comment = "; " + "a" * 197 + "admin = yes\n"
    for text in (rights + comment, rights + "   " + comment, rights + "# " + "x" * 5000 + "\n",
                 rights + "lock = " + "a" * 190 + "\n", rights + "lock = a ; a comment\n", rights + "\n   \n\t\nlock = a\n",
                 rights + "lock = a\r\nobserve = b\r\n", "\ufeff" + rights + "lock = a\n", rights + "lock = a",
                 "[acl " + "b" * 45 + "] ; a comment\nlock = a\n"):
        said = refused(text)
        assert "[group] timeout" in said, (text, said)


# ---- rights ----


def renewing_takes_the_right_for_it():
    """A client that may stand for an election cannot renew the lock of the same name, here or by another member."""
    with Node(acl="[acl anonymous]\nelect = job\n") as node:
        holder, stranger = node.client(), node.stranger()
        fence = holder.ask("LOCK", "job", "TTL", 60000)
        assert stranger.ask("RENEW", "job", fence) is None
        assert holder.ask("RENEW", "job", fence) > 0
        led = stranger.ask("CAMPAIGN", "job")
        assert stranger.ask("RENEW", "job", led) is not None
        assert refusal(stranger, "RENEW", "other", 1).startswith("NOPERM")
        holder.close()
        stranger.close()
    ports = [free_port(), free_port()]
    members = f"[members]\n1 = 127.0.0.1:{ports[0]}\n2 = 127.0.0.1:{ports[1]}\n[group]\nmode = static\n"
    with Node(f"id = 1\n{members}") as one, Node(f"id = 2\n{members}", acl="[acl anonymous]\nelect = job\n") as two:
        await_true(lambda: {node.info()["view_members"] for node in (one, two)} == {"2"})
        holder, leader, stranger = one.client(), one.client(), two.stranger()
        holder.ask("UNLOCK", "job", holder.ask("LOCK", "job"))  # so that the fences differ
        fence, led = holder.ask("LOCK", "job", "TTL", 60000, "SECRET", "s"), leader.ask("CAMPAIGN", "job", "SECRET", "s")
        assert fence != led
        assert stranger.ask("RENEW", "job", fence, "SECRET", "s") is None
        assert stranger.ask("RENEW", "job", led, "SECRET", "s") is not None
        assert two.client().ask("RENEW", "job", fence, "SECRET", "s") > 0
        for client in (holder, leader, stranger):
            client.close()


def a_right_that_is_gone_grants_nothing():
    """HUP takes away the right while a LOCK waits for its turn: the client is told, and gets nothing when its turn comes."""
    before, after = "[acl anonymous]\nlock = job\nelect = job\n", "[acl anonymous]\nlock = other\n"
    with Node(acl=before) as node:
        holder, waiting, candidate = node.client(), node.stranger(), node.stranger()
        fence = holder.ask("LOCK", "job")
        holder.ask("CAMPAIGN", "job")
        waiting.say("LOCK", "job")
        candidate.say("CAMPAIGN", "job")
        await_true(lambda: node.info()["waiting"] == "2")
        node.write(after)
        os.kill(node.process.pid, signal.SIGHUP)
        for client, what in ((waiting, "lock"), (candidate, "elect")):
            try:
                raise AssertionError(f"{client.hear()} came of it")
            except Refused as error:
                assert str(error) == f"NOPERM anonymous may not {what} 'job'", error
        assert holder.ask("UNLOCK", "job", fence) == 1
        assert [lock["kind"] for lock in holder.ask("LOCKS")] == ["election"]
        assert waiting.ask("LOCK", "other") > 0
        for client in (holder, waiting, candidate):
            client.close()


# ---- other protocols ----


def http_requests_end_at_once():
    """A POST whose body has commands: none of them is read, the connection ends, and it is told and counted."""
    with Node() as node:
        commands = b"LOCK a\r\nLOCKS\r\n*2\r\n$4\r\nLOCK\r\n$1\r\nb\r\n"
        requests = [b"POST / HTTP/1.1\r\n", b"GET /locks HTTP/1.0\r\n", b"post / HTTP/1.1\r\n", b"Host: here\r\n",
                    b"host: here\r\n", b"OPTIONS * HTTP/1.1\r\n", b"PRI * HTTP/2.0\r\n", b"PUT\r\n", b"DELETE /x y\r\n"]
        for count, request in enumerate(requests, 1):
            for address in (node.socket, f"127.0.0.1:{node.port}"):
                client = Client(address, protocol=2)
                client.socket.sendall(request + b"Content-Length: 1000\r\n\r\n" + commands)
                try:
                    assert client.file.read() == b"", request
                except ConnectionError:
                    pass  # the node has not read all of it
                client.close()
            assert int(node.info()["http_requests"]) == 2 * count, request
        assert node.info()["grants"] == "0"
        assert "an HTTP request to the port of clients" in node.said() and "127.0.0.1" in node.said()
        client = node.client()
        assert client.ask("GET", "/") is None, "an array: no browser sends one"
        client.close()


def typed_by_hand():
    """An inline command may read but not change anything; as an array it may."""
    with Node() as node:
        client = node.stranger(protocol=2)

        def by_hand(line):
            client.socket.sendall(line + b"\r\n")
            return client.item()

        assert by_hand(b"PING") == "PONG" and by_hand(b"LOCKS") == [] and "epoch" in by_hand(b"VIEW")
        assert "conclave_version" in by_hand(b"INFO") and by_hand(b"LEADER x") is None
        for line in (b"LOCK a", b"UNLOCK a 1", b"RENEW a 1", b"CAMPAIGN a", b"RESIGN a", b"LEAVE 3", b"JOIN 9 h:1",
                     b"STEPDOWN", b"OBSERVE a", b"UNOBSERVE", b"AUTH a b", b"lock a"):
            answer = by_hand(line)
            assert isinstance(answer, Refused) and "expected a RESP array" in str(answer), (line, answer)
        assert client.ask("LOCK", "a") > 0
        client.close()


# ---- memory ----

FAILING = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
/* One allocation of the size of a connection fails for each byte of the file; then there is memory again. */
void *calloc(size_t count, size_t size)
{
    static void *(*real)(size_t, size_t);
    static int depth;
    const char *path = getenv("FAILING");
    if (!real) {
        if (depth++)
            return NULL; /* dlsym asks, and can do without */
        real = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
    }
    if (path && count == 1 && size >= 600 && size <= 4000 && access(path, F_OK) == 0) {
        unlink(path);
        return NULL;
    }
    return real(count, size);
}
"""


def library_of(directory, text):
    """For LD_PRELOAD."""
    source, library = directory / "preload.c", directory / "preload.so"
    source.write_text(text)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True)
    return library


def is_sanitized():
    return b"__asan_init" in pathlib.Path(CONCLAVE).read_bytes()


def a_listener_survives_a_failed_allocation():
    """No memory for one connection, at each kind of listener: it and all that follow are let in."""
    if is_sanitized():
        return  # a sanitizer brings an allocator of its own
    with tempfile.TemporaryDirectory(prefix="conclave-test-") as directory:
        directory = pathlib.Path(directory)
        fail, http, peers = directory / "fail", free_port(), free_port()
        environment = {"LD_PRELOAD": str(library_of(directory, FAILING)), "FAILING": str(fail)}
        settings = (f"id = 1\nhttp = 127.0.0.1:{http}\n[members]\n1 = 127.0.0.1:{peers}\n"
                    f"2 = 127.0.0.1:{free_port()}\n[group]\nmode = static\n")
        with Node(settings, environment=environment) as node:
            for _ in range(3):
                fail.touch()
                client = node.stranger(protocol=2)
                assert client.ask("PING") == "PONG" and not fail.exists()
                client.close()
                fail.touch()
                with socket.create_connection(("127.0.0.1", http), PATIENCE) as page:
                    page.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
                    assert page.makefile("rb").read().startswith(b"HTTP/1.1 200") and not fail.exists()
                fail.touch()
                with socket.create_connection(("127.0.0.1", peers), PATIENCE) as peer:
                    peer.sendall(b"nonsense" * 10)
                    try:
                        assert peer.recv(100) == b""
                    except ConnectionError:
                        pass
                    assert not fail.exists()


# ---- files ----


def start_in(directory):
    """A node alone that keeps its memory there: its exit code, and what it says. It ends once it is ready."""
    command = [CONCLAVE, "node", "--listen", f"{directory}/../node.sock", "--set", f"node.directory={directory}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as node:
        if node.stdout.readline():
            node.terminate()
        return node.wait(PATIENCE), node.stderr.read()


def no_directory_for_the_socket():
    """A path in a directory that does not exist, or that the node may not write to, is refused with the reason."""
    with tempfile.TemporaryDirectory(prefix="conclave-test-") as place:
        for address, reason in ((f"{place}/none/x.sock", f"there is no directory {place}/none"), ("/none/x.sock", "there is no directory /none"),
                                (f"{place}/file/x.sock", "not a directory")):
            (pathlib.Path(place) / "file").touch()
            result = subprocess.run([CONCLAVE, "node", "--listen", address], capture_output=True, text=True, check=False, timeout=PATIENCE)
            assert result.returncode and result.stderr.count("\n") == 1 and address in result.stderr and reason in result.stderr, result


def descriptors_are_kept():
    """More connections than the system allows: the node keeps what its journal, members and an operator need."""
    limit = 200
    with tempfile.TemporaryDirectory(prefix="conclave-test-") as place:
        with Node(f"directory = {place}/data\nclients = 1000\n", files=limit) as node:
            assert "may open 200 files" in node.said() and "clients = 1000" in node.said(), node.said()
            crowd = []

            def operator_is_served():
                """It may come while the crowd is being let in, and be turned away."""
                try:
                    return node.client().ask("VIEW")["mode"] == "raft"
                except OSError:
                    return False

            for _ in range(2 * limit):
                connection = socket.create_connection(("127.0.0.1", node.port), PATIENCE)
                connection.sendall(b"*2\r\n$4\r\nLOCK\r\n$4")
                crowd.append(connection)
            await_true(operator_is_served)
            assert int(node.info()["maxclients"]) <= limit // 2
            used = len(list(pathlib.Path(f"/proc/{node.process.pid}/fd").iterdir()))
            assert used <= limit - 40, used
            for connection in crowd:
                connection.close()
            await_true(lambda: node.client().ask("LOCK", "a") > 0)


def links_are_not_followed():
    """A directory that others can write to is refused; a link in it never has the node write elsewhere."""
    with tempfile.TemporaryDirectory(prefix="conclave-test-") as place:
        place = pathlib.Path(place)
        directory, victim = place / "data", place / "victim"
        for mode in (0o777, 0o1777, 0o770, 0o720):
            directory.mkdir()
            directory.chmod(mode)
            code, said = start_in(directory)
            assert code == 2 and f"its mode is {mode:04o}" in said and said.count("\n") == 1, (code, said)
            assert not list(directory.iterdir())
            directory.rmdir()
        directory.mkdir(0o755)
        for name in ("journal.new", "members.new", "journal", "lock", "members"):
            victim.write_text("precious\n")
            (directory / name).unlink(missing_ok=True)
            (directory / name).symlink_to(victim)
            code, said = start_in(directory)
            assert victim.read_text() == "precious\n", (name, victim.read_bytes()[:50])
            assert code == 0 or said.count("\n") == 1, (name, code, said)
            shutil.rmtree(directory)
            directory.mkdir(0o755)
        assert start_in(directory)[0] == 0


# ---- names of hosts ----

SLOW_NAMES = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>
/* A name server that takes its time. Addresses need none. */
int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **found)
{
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
        (int (*)(const char *, const char *, const struct addrinfo *, struct addrinfo **))dlsym(RTLD_NEXT, "getaddrinfo");
    if (host && strstr(host, "slow.example") && !(hints && hints->ai_flags & AI_NUMERICHOST)) {
        sleep(4);
        return EAI_NONAME;
    }
    return real(host, port, hints, found);
}
"""


def names_are_looked_up_elsewhere():
    """JOIN with a name that takes seconds to look up: the node serves on meanwhile, and ends when it is told to."""
    if is_sanitized():
        return
    with tempfile.TemporaryDirectory(prefix="conclave-test-") as place:
        library = library_of(pathlib.Path(place), SLOW_NAMES)
        settings = (f"id = 1\ndirectory = {place}/data\n[members]\n1 = 127.0.0.1:{free_port()}\n[group]\nmode = raft\n")
        with Node(settings, environment={"LD_PRELOAD": str(library)}) as node:
            await_true(lambda: node.info()["serves"] == "1")
            operator, client = node.client(), node.client()
            fence = client.ask("LOCK", "a")
            begun = time.monotonic()
            assert operator.ask("JOIN", 9, "slow.example:7800", "STANDBY") == "OK"
            await_true(lambda: any(member["id"] == 9 for member in operator.ask("VIEW")["members"]))
            assert client.ask("RENEW", "a", fence) is not None and client.ask("UNLOCK", "a", fence) == 1
            taken = time.monotonic() - begun
            assert taken < 3.5 and int(node.info()["loop_late_ms"]) < 2000, (taken, node.info()["loop_late_ms"])
            assert "ERR JOIN" in refusal(operator, "JOIN", 10, "slow.example:0")
            operator.close()
            client.close()
            node.process.terminate()
            node.process.wait(PATIENCE)


# ---- foreign text ----


def harmless(text):
    """Nothing in it that a terminal obeys."""
    return all(letter >= " " and not "\x7f" <= letter < "\xa0" and not "\u2028" <= letter <= "\u202e" or letter == "\n"
               for letter in text)


def names_of_any_bytes():
    """Names that are no UTF-8, or turn text around: what is shown and recorded of them is text, and tells them apart."""
    names = [b"\xff\xfe", b"\\xff\\xfe", b"\xff\xff", "\u202egnp.exe".encode(), b"\xc2\x9b2J", b"\x9b2J", "grün".encode()]
    record = pathlib.Path(tempfile.gettempdir()) / f"conclave-test-{os.getpid()}.jsonl"
    with Node(options=("--record", str(record))) as node:
        client = node.client()
        for name in names:
            assert client.ask("LOCK", name) > 0
        done = subprocess.run([CONCLAVE, "status", "--json", "--server", node.socket], capture_output=True, check=True)
        shown = {lock["name"] for lock in json.loads(done.stdout.decode())["locks"]}
        assert len(shown) == len(names) and {"grün", "\\xff\\xfe", "\\\\xff\\\\xfe", "\\u202egnp.exe"} <= shown, shown
        assert all(map(harmless, shown))
        for command in (("status",), ("doctor",)):
            done = subprocess.run([CONCLAVE, *command, "--server", node.socket], capture_output=True, check=False)
            assert harmless(done.stdout.decode() + done.stderr.decode()), done
        client.close()
    try:
        lines = [json.loads(line) for line in record.read_bytes().decode().splitlines()]
        assert {line["name"] for line in lines if line.get("event") == "grant"} == shown
        done = subprocess.run([CONCLAVE, "judge", "--json", str(record)], capture_output=True, check=False)
        assert {name["name"] for name in json.loads(done.stdout.decode())["names"]} >= shown, done
        done = subprocess.run([CONCLAVE, "judge", str(record)], capture_output=True, check=False)
        assert harmless(done.stdout.decode()), done.stdout
    finally:
        record.unlink()


def servers_are_not_obeyed():
    """A server that is not ours answers with escapes: commands show them, and a member's address has none."""
    server = socket.create_server(("127.0.0.1", 0))
    said = b"-ERR \x1b[2J\x1b]0;owned\x07 \xe2\x80\xaedne \x9b\xff\r\n"

    def serve():
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            connection.recv(4096)
            connection.sendall(said)
            connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    address = f"127.0.0.1:{server.getsockname()[1]}"
    for command in (("lock", "x", "--wait", "1", "--", "true"), ("status",), ("doctor",), ("elect", "--observe", "x"),
                    ("leave", "3"), ("step-down",)):
        words = [CONCLAVE, command[0], "--server", address, *command[1:]]
        done = subprocess.run(words, capture_output=True, check=False, timeout=PATIENCE)
        text = done.stdout.decode() + done.stderr.decode()
        assert done.returncode and harmless(text), (command, text)
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    with tempfile.TemporaryDirectory(prefix="conclave-test-") as place:
        settings = f"id = 1\ndirectory = {place}/data\n[members]\n1 = 127.0.0.1:{free_port()}\n[group]\nmode = raft\n"
        with Node(settings) as node:
            await_true(lambda: node.info()["serves"] == "1")
            operator = node.client()
            for client in (b"\x1b[2J", b"h:1\r\nserves:0", b"\x9b", "\u202e".encode(), b"a,b", b"", b"a b"):
                assert "ERR JOIN" in refusal(operator, "JOIN", 9, "127.0.0.1:9", "CLIENT", client, "STANDBY"), client
            operator.close()


# ---- limits ----


def what_clients_observe_is_bounded():
    """The same name again costs nothing; others up to a limit, for each client and for all of them."""
    with Node(acl="[limits]\nobserved-per-client = 3\nobserved = 5\n") as node:
        one, other = node.client(), node.client()
        for _ in range(1000):
            one.ask("OBSERVE", "a")
        assert node.info()["observed"] == "1"
        leader = node.client()
        leader.ask("CAMPAIGN", "a")
        assert one.push()[1] == "a" and one.ask("PING") == "PONG" and not one.pushes  # told once
        one.ask("OBSERVE", "b")
        one.ask("OBSERVE", "c")
        assert "BUSY" in refusal(one, "OBSERVE", "d")
        other.ask("OBSERVE", "a")
        other.ask("OBSERVE", "b")
        assert "BUSY" in refusal(other, "OBSERVE", "c")
        assert one.ask("UNOBSERVE") == 3 and other.ask("OBSERVE", "c") is None
        for client in (one, other, leader):
            client.close()
        await_true(lambda: node.info()["observed"] == "0")


def what_clients_hold_is_bounded():
    with Node(acl="[limits]\nheld-per-client = 2\n") as node:
        client = node.client()
        fence = client.ask("LOCK", "a")
        client.ask("CAMPAIGN", "a")
        assert "BUSY" in refusal(client, "LOCK", "b") and "BUSY" in refusal(client, "CAMPAIGN", "b")
        client.ask("UNLOCK", "a", fence)
        assert client.ask("LOCK", "b") > 0
        limits = node.info("limits")
        assert limits["limit_held-per-client"] == "2" and limits["limit_command-timeout"] == "10000"
        assert {"limit_clients", "limit_names", "limit_observed", "limit_output"} <= set(limits)
        client.close()


def answers_together_are_bounded():
    """Clients that ask and do not read: what they have yet to read is bounded, and others are served."""
    with Node(acl="[limits]\noutput = 4M\noutput-per-client = 1M\n") as node:
        greedy = []
        for _ in range(60):
            client = node.stranger(protocol=2)
            client.socket.setblocking(False)
            greedy.append(client)
        for _ in range(20):
            for client in greedy:
                try:
                    client.socket.send(b"PING " + b"x" * 15000 + b"\r\n")
                except OSError:
                    pass
        assert int(node.info()["output_bytes"]) <= 4 << 20
        await_true(lambda: node.client().ask("PING") == "PONG")
        for client in greedy:
            client.close()
        await_true(lambda: int(node.info()["output_bytes"]) < 1 << 20)
        many = node.client()
        many.socket.sendall(b"".join(b"*2\r\n$4\r\nLOCK\r\n$400\r\n%0400d\r\n" % i for i in range(3000)))
        for _ in range(3000):
            many.hear()
        assert "BUSY the answer is too long" in refusal(many, "LOCKS")
        assert len(many.ask("LOCKS", "*000")) == 3
        many.close()


def commands_have_to_end():
    """Half a command is no place to stay; a client that waits for its turn, or says nothing at all, may."""
    with Node(acl="[limits]\ncommand-timeout = 300\n") as node:
        holder, waiting, idle = node.client(), node.client(), node.client()
        holder.ask("LOCK", "a")
        waiting.socket.sendall(b"*2\r\n$4\r\nLOCK\r\n$1\r\na\r\n*1\r\n$4\r\nPI")
        halves = [node.stranger(protocol=2) for _ in range(20)]
        for half in halves:
            half.socket.sendall(b"*2\r\n$4\r\nLOCK\r\n$400\r\nabc")
        for half in halves:
            assert b"did not end within 300 ms" in half.file.read()
            half.close()
        dripping = node.stranger(protocol=2)
        begun = time.monotonic()
        try:
            while time.monotonic() < begun + PATIENCE:
                dripping.socket.sendall(b"x")
                time.sleep(0.02)
            raise AssertionError("a command that never ends was listened to")
        except OSError:
            pass
        assert int(node.info()["dropped_unfinished"]) == 21
        assert idle.ask("PING") == "PONG"
        holder.close()
        assert waiting.hear() > 0
        waiting.socket.sendall(b"NG\r\n")
        assert waiting.hear() == "PONG"
        waiting.close()
        idle.close()


TESTS = [settings_lines, what_clients_observe_is_bounded, what_clients_hold_is_bounded, answers_together_are_bounded,
         commands_have_to_end, names_of_any_bytes, servers_are_not_obeyed, names_are_looked_up_elsewhere, no_directory_for_the_socket, descriptors_are_kept, links_are_not_followed, renewing_takes_the_right_for_it, a_right_that_is_gone_grants_nothing, http_requests_end_at_once,
         typed_by_hand, a_listener_survives_a_failed_allocation]

if __name__ == "__main__":
    sys.exit(main(TESTS))
