#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Who has no key gets nothing, who has one gets what its ACL says, and nobody can listen in."""

import hashlib
import hmac
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from harness import CONCLAVE, PATIENCE, Client, Cluster, free_port, main  # pylint: disable=wrong-import-position

SECRET_NAME = "the-name-nobody-shall-read"


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=60,
                          **options)


def conclave(*words, **options):
    return run(CONCLAVE, *words, **options)


class World:
    """A directory with keys and certificates."""

    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="conclave-test-"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def key(self, name, client=None, cluster="cluster"):
        """The file of a new cluster's key, or of a client's."""
        path = self.path / f"{name}.key"
        words = ["--client", client, "--from", self.path / f"{cluster}.key"] if client else []
        done = conclave("keygen", path, *words)
        assert done.returncode == 0, done.stderr
        assert path.stat().st_mode & 0o777 == 0o600
        return path

    def authority(self, name):
        path = self.path / f"{name}.pem"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", f"/CN={name}", "-keyout", self.path / f"{name}.ca-key", "-out", path)
        return path

    def certificate(self, name, authority, common=None, days=2, host="127.0.0.1"):
        """A certificate and its private key."""
        base = self.path / name
        extensions = base.with_suffix(".ext")
        extensions.write_text(f"subjectAltName=IP:{host}\n")
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                f"/CN={common or name}", "-keyout", base.with_suffix(".pk"), "-out", base.with_suffix(".csr"))
        openssl("x509", "-req", "-in", base.with_suffix(".csr"), "-CA", self.path / f"{authority}.pem", "-CAkey",
                self.path / f"{authority}.ca-key", "-CAcreateserial", "-days", days, "-extfile", extensions, "-out",
                base.with_suffix(".crt"))
        os.chmod(base.with_suffix(".pk"), 0o600)
        return base.with_suffix(".crt"), base.with_suffix(".pk")


def openssl(*words):
    done = run("openssl", *words)
    assert done.returncode == 0, done.stderr


class Secured:
    """`conclave node` with a configuration, on a Unix socket and a port."""

    def __init__(self, world, security, acl="", host="127.0.0.1"):
        self.port = free_port()
        self.address = f"{host}:{self.port}"
        self.socket = f"{world.path}/node.sock"
        self.config = world.path / "node.conf"
        self.write(security, acl)

    def write(self, security, acl=""):
        self.config.write_text(f"[node]\nlisten = {self.socket}\nlisten = {self.address}\n[security]\n{security}\n{acl}\n")

    def __enter__(self):
        self.process = subprocess.Popen([CONCLAVE, "node", "--config", str(self.config)], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert "ready" in line, self.process.communicate()
        return self

    def __exit__(self, *_):
        self.process.terminate()
        _, self.complaints = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, (self.process.returncode, self.complaints)

    def info(self):
        client = Client(self.socket)
        text = client.ask("INFO")
        client.close()
        return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)

    def lock(self, name, *options):
        return conclave("lock", name, "--server", self.address, "--wait", "5", *options, "--", "true")


def connect(port, host="127.0.0.1", source=None):
    return socket.create_connection((host, port), 5, source_address=(source, 0) if source else None)


def last_words(connection):
    """All that comes until the other end closes the connection."""
    connection.settimeout(PATIENCE)
    said = b""
    try:
        while True:
            some = connection.recv(65536)
            if not some:
                return said
            said += some
    except ConnectionError:
        return said
    finally:
        connection.close()


def is_alert(said):
    """Nothing, or TLS alerts: content type 21."""
    return not said or (said[0] == 21 and len(said) <= 16)


# ---- keys ----


def strangers_get_nothing():
    """Plaintext, and TLS without the key: not even PING is answered."""
    with World() as world:
        key = world.key("cluster")
        world.key("build", "build")
        world.key("other")
        world.key("other-build", "build", "other")
        with Secured(world, f"cluster-key = {key}\n") as node:
            for words in (b"PING\r\n", b"*1\r\n$4\r\nPING\r\n", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x00\x05hello"):
                connection = connect(node.port)
                connection.sendall(words)
                said = last_words(connection)
                assert is_alert(said), said
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            try:
                context.wrap_socket(connect(node.port)).sendall(b"PING\r\n")
                raise AssertionError("TLS without a key was accepted")
            except ssl.SSLError:
                pass
            for name in ("other", "other-build"):
                done = node.lock("x", "--key", world.path / f"{name}.key")
                assert done.returncode == 123 and "does not know this key" in done.stderr, done
            # The id of the right cluster, the secret of another.
            words = (world.path / "build.key").read_text().split()
            words[3] = words[3][::-1]
            forged = world.path / "forged.key"
            forged.write_text(" ".join(words) + "\n")
            os.chmod(forged, 0o600)
            done = node.lock("x", "--key", forged)
            assert done.returncode == 123, done
            assert node.lock("x").returncode == 123
            assert node.lock("x", "--key", world.path / "build.key").returncode == 0
            assert int(node.info()["refused_clients"]) >= 8


def another_server_is_not_believed():
    """A client that has a key speaks with nobody who does not."""
    with World() as world:
        world.key("cluster")
        key = world.key("build", "build")
        world.key("other")
        with Secured(world, f"cluster-key = {world.path}/other.key\n") as node:
            assert node.lock("x", "--key", key).returncode == 123
        with Secured(world, "") as node:  # plaintext, on loopback
            done = node.lock("x", "--key", key)
            assert done.returncode == 123 and "TLS" in done.stderr, done
            assert node.lock("x").returncode == 0
            done = conclave("lock", "x", "--server", f"tls://{node.address}", "--", "true")
            assert done.returncode == 125 and "a key or certificates" in done.stderr, done


def key_files_are_private():
    with World() as world:
        key = world.key("cluster")
        for mode in (0o640, 0o604, 0o660):
            os.chmod(key, mode)
            done = conclave("node", "--set", f"security.cluster-key={key}")
            assert done.returncode == 2 and f"its mode is 0{mode:o}, expected 0600" in done.stderr, done
            assert len(done.stderr.splitlines()) == 1
            done = conclave("lock", "x", "--key", key, "--", "true")
            assert done.returncode == 125 and f"its mode is 0{mode:o}" in done.stderr, done
            done = conclave("keygen", world.path / "new.key", "--client", "a", "--from", key)
            assert done.returncode == 2 and not (world.path / "new.key").exists(), done
        os.chmod(key, 0o600)
        assert conclave("keygen", key).returncode == 2, "an existing key is not overwritten"


def try_node(*words):
    """Starts a node and ends it once it is ready: its exit code and complaints."""
    with subprocess.Popen([CONCLAVE, "node", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as node:
        if node.stdout.readline():
            node.terminate()
        return (node.wait(PATIENCE), node.stderr.read())


def plaintext_stays_on_loopback():
    with World() as world:
        for address, allowed in (("127.0.0.1", True), ("127.0.0.2", True), ("[::1]", True), ("0.0.0.0", False),
                                 ("*", False), ("[::]", False)):
            if address == "[::1]" and not pathlib.Path("/proc/net/if_inet6").exists():
                continue
            words = ["--listen", f"{address}:{free_port()}"]
            code, complaint = try_node(*words)
            assert code == (0 if allowed else 2), (address, complaint)
            if not allowed:
                assert "off loopback" in complaint and "plaintext = yes" in complaint, complaint
                assert len(complaint.splitlines()) == 1
                code, complaint = try_node(*words, "--set", "security.plaintext=yes")
                assert code == 0, complaint
                assert re.search(r"warning: clients at .* are neither encrypted nor authenticated", complaint), complaint
        done = conclave("node", "--set", "node.id=1", "--set", "members.1=127.0.0.1:7999", "--set",
                        "members.2=192.0.2.1:7999")
        assert done.returncode == 2 and "peer 192.0.2.1:7999" in done.stderr and "off loopback" in done.stderr, done
        key = world.key("cluster")
        done = conclave("node", "--set", f"security.cluster-key={key}", "--set", "security.plaintext=yes")
        assert done.returncode == 2 and "plaintext = yes: expected no key" in done.stderr, done


def unix_socket_has_its_mode():
    with World() as world:
        with Secured(world, "") as node:
            assert os.stat(node.socket).st_mode & 0o777 == 0o600
        with Secured(world, "socket-mode = 0660\n") as node:
            assert os.stat(node.socket).st_mode & 0o777 == 0o660


# ---- what an identity may do ----

ACL = """
[acl build]
lock = build-* deploy
elect = db
[acl watcher]
observe = *
[acl boss]
admin = yes
"""


def acl_matrix():
    """Every command for every identity, against a table written by hand: 1 allowed, 0 NOPERM."""
    commands = [("LOCK", "build-1", "WAIT", 0), ("LOCK", "other", "WAIT", 0), ("UNLOCK", "deploy", 1),
                ("UNLOCK", "other", 1), ("RENEW", "build-1", 1), ("RENEW", "db", 1), ("RENEW", "other", 1),
                ("CAMPAIGN", "db", "WAIT", 0), ("CAMPAIGN", "build-1", "WAIT", 0), ("RESIGN", "db"),
                ("RESIGN", "other"), ("LEADER", "db"), ("LEADER", "other"), ("OBSERVE", "db"), ("OBSERVE", "other"),
                ("UNOBSERVE",), ("LOCKS",), ("VIEW",), ("INFO",), ("PING",), ("ACL", "WHOAMI")]
    table = {"build": "101011010101010110011", "watcher": "000000000001111110011", "boss": "1" * 21, "cluster": "1" * 21}
    with World() as world:
        key = world.key("cluster")
        secrets = {"cluster": None}
        for name in ("build", "watcher", "boss", "nobody"):
            secrets[name] = world.key(name, name).read_text().split()[3]
        with Secured(world, f"cluster-key = {key}\n", ACL) as node:
            for name, expected in table.items():
                found = "".join("0" if answer.startswith("-NOPERM") else "1"
                                for answer in speak(node, world.path / f"{name}.key", commands))
                assert found == expected, (name, found, expected)
            # Without a section: TLS succeeds, and that is all.
            assert node.lock("build-1", "--key", world.path / "nobody.key").returncode == 123
            # The Unix socket is for who can open it; AUTH acts as somebody else, by name and secret.
            local = Client(node.socket)
            assert local.ask("ACL", "WHOAMI") == "local"
            assert refusal(local, "AUTH", "build", secrets["watcher"]).startswith("WRONGPASS")
            assert refusal(local, "AUTH", secrets["build"]).startswith("WRONGPASS")
            assert refusal(local, "AUTH", "nobody", secrets["nobody"]).startswith("NOPERM")
            assert local.ask("ACL", "WHOAMI") == "local"
            assert local.ask("AUTH", "build", secrets["build"]) == "OK"
            assert local.ask("ACL", "WHOAMI") == "build"
            assert refusal(local, "LOCK", "other").startswith("NOPERM build may not lock 'other'")
            assert local.ask("HELLO", 3, "AUTH", "watcher", secrets["watcher"])["server"] == "conclave"
            assert refusal(local, "LOCK", "build-1").startswith("NOPERM watcher")
            local.close()
            # LOCKS shows what concerns one.
            local = Client(node.socket)
            local.ask("LOCK", "build-1")
            local.ask("LOCK", "other")
            local.ask("AUTH", "build", secrets["build"])
            assert {lock["name"] for lock in local.ask("LOCKS")} >= {"build-1"}
            assert "other" not in {lock["name"] for lock in local.ask("LOCKS")}
            local.close()


def refusal(client, *words):
    try:
        answer = client.ask(*words)
    except Exception as error:  # pylint: disable=broad-except
        return str(error)
    raise AssertionError(f"{words} was allowed: {answer}")


def speak(node, key, commands):
    """Says the commands over TLS with OpenSSL's own client, an implementation that is not ours; RESP2 answers."""
    _, name, number, secret = key.read_text().split()
    if name == "cluster":  # its own voice as a client is derived like any other's
        done = conclave("lock", "x", "--server", node.address, "--key", key, "--", "true")
        assert done.returncode == 0, done
        secret = derive(secret, "cluster")
    client = subprocess.Popen(["openssl", "s_client", "-quiet", "-no_ign_eof", "-tls1_3", "-connect", node.address, "-psk",
                               secret, "-psk_identity", f"{name}.{number}"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    pipe = Pipe(client)
    pipe.ask("HELLO", 3)
    answers = []
    for command in commands:
        try:
            pipe.ask(*command)
            answers.append("+")
        except Exception as error:  # pylint: disable=broad-except
            answers.append(f"-{error}")
    client.kill()
    client.wait()
    client.stdin.close()
    client.stdout.close()
    return answers


def derive(secret, name):
    return hmac.new(bytes.fromhex(secret), f"conclave client {name}\x01".encode(), hashlib.sha256).hexdigest()


class Pipe(Client):
    """RESP through another process."""

    def __init__(self, process):  # pylint: disable=super-init-not-called
        self.process = process
        self.file = process.stdout
        self.pushes = []

    def say(self, *words):
        parts = [str(word).encode() for word in words]
        self.process.stdin.write(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
        self.process.stdin.flush()


def reload_changes_keys_and_acls():
    """HUP: a new ACL, then from one cluster key to the next without a break."""
    with World() as world:
        key = world.key("cluster")
        old = world.key("build", "build")
        fresh = world.key("next")
        new = world.key("new-build", "build", "next")
        with Secured(world, f"cluster-key = {key}\n", "[acl build]\nlock = a\n") as node:
            assert node.lock("a", "--key", old).returncode == 0
            assert node.lock("b", "--key", old).returncode == 125
            node.write(f"cluster-key = {key}\n", "[acl build]\nlock = b\n")
            hang_up(node, lambda: node.lock("b", "--key", old).returncode == 0)
            assert node.lock("a", "--key", old).returncode == 125
            assert node.lock("b", "--key", new).returncode == 123
            key.write_text(key.read_text() + fresh.read_text())
            hang_up(node, lambda: node.lock("b", "--key", new).returncode == 0)
            assert node.lock("b", "--key", old).returncode == 0
            key.write_text(fresh.read_text())
            hang_up(node, lambda: node.lock("b", "--key", old).returncode == 123)
            assert node.lock("b", "--key", new).returncode == 0
            key.write_text("nonsense\n")
            os.kill(node.process.pid, signal.SIGHUP)
            time.sleep(0.2)
            assert node.lock("b", "--key", new).returncode == 0
        assert "everything stays as it was" in node.complaints, node.complaints


def hang_up(node, until):
    os.kill(node.process.pid, signal.SIGHUP)
    end = time.monotonic() + PATIENCE
    while not until():
        assert time.monotonic() < end, "HUP changed nothing"


# ---- certificates ----


def certificates():
    """Ours are accepted, by redis-cli too; those of others, expired ones and none are not."""
    with World() as world:
        ca = world.authority("ours")
        world.authority("theirs")
        node_crt, node_pk = world.certificate("node", "ours")
        world.certificate("build", "ours")
        world.certificate("old", "ours", days=0)
        world.certificate("foreign", "theirs", common="build")
        world.certificate("usurper", "ours", common="cluster")
        time.sleep(1.1)  # "old" is old now
        security = f"ca = {ca}\ncertificate = {node_crt}\nprivate-key = {node_pk}\n"
        with Secured(world, security, "[acl build]\nlock = build-*\n") as node:
            for name, code in (("build", 0), ("old", 123), ("foreign", 123), ("usurper", 123), ("node", 123)):
                done = node.lock("build-1", *certificate_options(world, name))
                assert done.returncode == code, (name, done)
            done = node.lock("db", *certificate_options(world, "build"))
            assert done.returncode == 125 and "NOPERM build may not lock 'db'" in done.stderr, done
            if "--tls" in run("redis-cli", "--help").stderr + run("redis-cli", "--help").stdout:
                for name, answer in (("build", "PONG"), ("foreign", ""), ("old", "")):
                    done = run("redis-cli", "-p", node.port, "--tls", "--cacert", ca, "--cert", world.path / f"{name}.crt",
                               "--key", world.path / f"{name}.pk", "PING")
                    assert done.stdout.strip() == answer, (name, done)
            context = ssl.create_default_context(cafile=str(ca))
            secured = context.wrap_socket(connect(node.port), server_hostname="127.0.0.1")
            try:  # without a certificate of one's own; in TLS 1.3 the client hears of it with the first answer
                secured.sendall(b"PING\r\n")
                assert not secured.recv(100)
            except (ssl.SSLError, ConnectionError):
                pass
            secured.close()
        os.chmod(node_pk, 0o644)
        done = conclave("node", "--config", node.config)
        assert done.returncode == 2 and "private-key" in done.stderr and "0644" in done.stderr, done
        # A server that shows somebody else's certificate is not believed.
        world.certificate("elsewhere", "ours", host="192.0.2.7")
        security = f"ca = {ca}\ncertificate = {world.path}/elsewhere.crt\nprivate-key = {world.path}/elsewhere.pk\n"
        with Secured(world, security) as node:
            done = node.lock("x", *certificate_options(world, "build"))
            assert done.returncode == 123 and "mismatch" in done.stderr, done


def certificate_options(world, name):
    return ["--tls-ca", world.path / "ours.pem", "--tls-certificate", world.path / f"{name}.crt", "--tls-private-key",
            world.path / f"{name}.pk"]


# ---- members ----


class Tap:
    """A proxy on loopback that keeps all that goes through it."""

    def __init__(self, target):
        self.target = target
        self.seen = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            try:
                far = connect(self.target)
            except OSError:
                near.close()
                continue
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self.carry, args=(one, other), daemon=True).start()

    def carry(self, one, other):
        try:
            while some := one.recv(65536):
                self.seen.append(some)
                other.sendall(some)
        except OSError:
            pass
        one.close()
        other.close()

    def close(self):
        self.listener.close()
        return b"".join(self.seen)


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
    """1 and 2 share a key, 3 has another: it never reaches a handler, and says why it is alone."""
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
    """The same cluster as in the other tests, encrypted: a member is killed, the lock goes on, the record holds."""
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
    """Thousands that connect and say nothing, or begin a handshake: others get in, and memory stays."""
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
    """Hundreds of connections of one address: they push out each other, not the slow one from elsewhere."""
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
            while node.info()["connected_clients"] != "1":  # who asks
                assert time.monotonic() < end, node.info()


TESTS = [strangers_get_nothing, another_server_is_not_believed, key_files_are_private, plaintext_stays_on_loopback,
         unix_socket_has_its_mode, acl_matrix, reload_changes_keys_and_acls, certificates, eavesdroppers_read_nothing,
         members_with_another_key_stay_out, members_by_certificates, clusters_keep_their_promises_with_tls,
         half_open_connections_do_not_shut_others_out, one_address_does_not_crowd_out_another, garbage_does_no_harm]

if __name__ == "__main__":
    sys.exit(main(TESTS))
