#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Clients: without a key a client gets nothing; with a key its ACL decides."""

import hashlib
import hmac
import os
import pathlib
import re
import shutil
import signal
import ssl
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
# pylint: disable=wrong-import-position
from harness import CONCLAVE, PATIENCE, Client, free_port, main
from secured import Secured, World, conclave, connect, is_alert, last_words, run


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
    """A client that has a key speaks with no node that has none."""
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


def long_waits_with_a_key():
    """A client that waits for long checks that the server still answers: with the same key, wherever that came from."""
    with World() as world:
        world.key("cluster")
        key = world.key("build", "build")
        with Secured(world, f"cluster-key = {world.path}/cluster.key\n") as node:
            holder = subprocess.Popen([CONCLAVE, "lock", "busy", "--server", node.address, "--key", str(key), "--", "cat"],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            deadline = time.monotonic() + PATIENCE
            while node.info().get("held") != "1" and time.monotonic() < deadline:
                time.sleep(0.02)
            waiter = subprocess.Popen([CONCLAVE, "lock", "busy", "--server", node.address, "--key", str(key), "--", "true"],
                                      stderr=subprocess.PIPE, text=True)
            time.sleep(4.5)  # longer than the client waits before it checks
            assert waiter.poll() is None, (waiter.returncode, waiter.stderr.read())
            assert node.info()["refused_clients"] == "0", "the look was not refused"
            holder.communicate(b"")
            assert waiter.wait(PATIENCE) == 0, waiter.stderr.read()
            waiter.stderr.close()


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


def try_node(host, *words):
    """Starts a node at a free port and ends it once it is ready: its exit code and complaints."""
    while True:
        command = [CONCLAVE, "node", "--listen", f"{host}:{free_port()}", *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as node:
            if node.stdout.readline():
                node.terminate()
            code, complaint = node.wait(PATIENCE), node.stderr.read()
        if "already in use" not in complaint:  # by another test, since a moment ago
            return code, complaint


def plaintext_stays_on_loopback():
    with World() as world:
        for address, allowed in (("127.0.0.1", True), ("127.0.0.2", True), ("[::1]", True), ("0.0.0.0", False),
                                 ("*", False), ("[::]", False)):
            if address == "[::1]" and not pathlib.Path("/proc/net/if_inet6").exists():
                continue
            code, complaint = try_node(address)
            assert code == (0 if allowed else 2), (address, complaint)
            if not allowed:
                assert "off loopback" in complaint and "plaintext = yes" in complaint, complaint
                assert len(complaint.splitlines()) == 1
                code, complaint = try_node(address, "--set", "security.plaintext=yes")
                assert code == 0, complaint
                assert re.search(r"level=warning event=exposed .*message=\"clients at .* are neither encrypted nor authenticated", complaint), complaint
        done = conclave("node", "--set", "node.id=1", "--set", "members.1=127.0.0.1:7999", "--set",
                        "members.2=192.0.2.1:7999", "--set", "group.mode=static")
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
                ("UNOBSERVE",), ("LOCKS",), ("VIEW",), ("INFO",), ("PING",), ("ACL", "WHOAMI"),
                ("WAITERS", "build-1"), ("WAITERS", "other"), ("ASKBACK", "db"), ("ASKBACK", "other"),
                ("FORCE", "build-1", 1, "why"), ("CLIENT", "LIST"), ("CLIENT", "INFO"), ("LATCH", "build-1", "SET", 1),
                ("LATCH", "other"), ("LATCH", "other", "DOWN"), ("BARRIER", "other", 1), ("BARRIER", "build-1", 1), ("MEMBERS", "other"),
                ("MEMBERS", "build-1", "JOIN"), ("MEMBERS", "other", "WATCH"), ("MEMBERS", "other", "LEAVE")]
    table = {"build": "101011010101010110011" + "1010001" + "100010100", "watcher": "000000000001111110011" + "1100001" + "010001010",
             "boss": "1" * 37, "cluster": "1" * 37}
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
            # Without a section: TLS succeeds, but every command is refused.
            assert node.lock("build-1", "--key", world.path / "nobody.key").returncode == 123
            # The Unix socket is for users that can open it; AUTH acts as another client, by name and secret.
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
            # LOCKS shows a client only names that it may use.
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
    if name == "cluster":  # its key as a client is derived like any other's
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


def until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def hang_up(node, condition):
    os.kill(node.process.pid, signal.SIGHUP)
    until(condition, "HUP changed nothing")


# ---- certificates ----


def revoked_certificates_are_refused():
    """From the next HUP on, also for connected clients; a list that is out of date or missing lets no client in."""
    with World() as world:
        ca = world.authority("ours")
        node_crt, node_pk = world.certificate("node", "ours")
        for name in ("build", "stolen"):
            world.certificate(name, "ours")
        security = f"ca = {ca}\ncertificate = {node_crt}\nprivate-key = {node_pk}\ncrl = {world.revoked('ours')}\n"
        with Secured(world, security) as node:
            for name in ("build", "stolen"):
                assert node.lock("x", *certificate_options(world, name)).returncode == 0, name
            held, kept = (subprocess.Popen([CONCLAVE, "lock", name, "--server", node.address,
                                            *map(str, certificate_options(world, name)), "--", "cat"], stdin=subprocess.PIPE,
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                          for name in ("stolen", "build"))
            client = Client(node.socket)
            until(lambda: [lock["holder"] is not None for lock in client.ask("LOCKS")] == [True, True], "held")
            world.revoked("ours", "stolen")
            hang_up(node, lambda: node.lock("x", *certificate_options(world, "stolen")).returncode == 123)
            held.wait(PATIENCE)  # its command would end with its input
            _, complaint = held.communicate()
            assert held.returncode == 122 and "lost" in complaint, (held.returncode, complaint)
            assert node.lock("x", *certificate_options(world, "build")).returncode == 0
            _, complaint = kept.communicate("", timeout=PATIENCE)
            assert kept.returncode == 0, complaint
            clients_list = world.path / "clients.pem"
            shutil.copy(world.revoked("ours", "node"), clients_list)
            refusing = conclave("lock", "x", "--server", node.address, *certificate_options(world, "build"), "--", "true",
                                env={**os.environ, "CONCLAVE_TLS_CRL": str(clients_list)})
            assert refusing.returncode == 123 and "revoked" in refusing.stderr, refusing
            world.revoked("ours", seconds=1)  # soon it is out of date
            hang_up(node, lambda: node.lock("x", *certificate_options(world, "build")).returncode == 123)
            pathlib.Path(world.path / "ours-crl" / "list.pem").write_text("nonsense\n")
            os.kill(node.process.pid, signal.SIGHUP)
            client.close()
        assert f"crl {world.path}/ours-crl/list.pem: " in node.complaints, node.complaints
        config = world.path / "alone.conf"
        config.write_text(f"[security]\ncrl = {ca}\n")
        done = conclave("node", "--config", config)
        assert done.returncode == 2 and "expected ca, certificate and private-key with it" in done.stderr, done


def dumpable(*command):
    """May others than root read the memory of this command, or get its core? What such a process has in /proc is its user's."""
    user = 65534 if os.geteuid() == 0 else None
    process = subprocess.Popen([str(word) for word in command], user=user, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    line = process.stdout.readline()
    assert "ready" in line, line
    owner = os.stat(f"/proc/{process.pid}/environ").st_uid
    process.terminate()
    process.communicate(timeout=PATIENCE)
    return owner != 0


def keys_are_not_dumped():
    """A process with a key leaves no core, and its memory is root's to read: the node, and commands that are given a key."""
    with World() as world, World() as others:
        key = world.key("cluster")
        with Secured(world, f"cluster-key = {key}\n") as node:
            theirs = others.path / "cluster.key"
            shutil.copy(key, theirs)
            if os.geteuid() == 0:
                for path in (others.path, theirs):
                    os.chown(path, 65534, 65534)
            alone = [CONCLAVE, "node", "--listen", others.path / "s"]
            if not dumpable(*alone) or "asan" in os.path.realpath(CONCLAVE):
                print("     not checked: nothing may be dumped here, or the sanitizer has to read it")
                return
            assert not dumpable(*alone, "--set", f"security.cluster-key={theirs}"), "a node with a key"
            command = [CONCLAVE, "lock", "x", "--server", node.address, "--key", theirs, "--", "sh", "-c", "echo ready; cat"]
            assert not dumpable(*command), "who holds a lock by a key"


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
        # A server with another one's certificate is refused.
        world.certificate("elsewhere", "ours", host="192.0.2.7")
        security = f"ca = {ca}\ncertificate = {world.path}/elsewhere.crt\nprivate-key = {world.path}/elsewhere.pk\n"
        with Secured(world, security) as node:
            done = node.lock("x", *certificate_options(world, "build"))
            assert done.returncode == 123 and "mismatch" in done.stderr, done


def certificate_options(world, name):
    return ["--tls-ca", world.path / "ours.pem", "--tls-certificate", world.path / f"{name}.crt", "--tls-private-key",
            world.path / f"{name}.pk"]


TESTS = [strangers_get_nothing, another_server_is_not_believed, long_waits_with_a_key, key_files_are_private, plaintext_stays_on_loopback,
         unix_socket_has_its_mode, acl_matrix, reload_changes_keys_and_acls, certificates,
         revoked_certificates_are_refused, keys_are_not_dumped]

if __name__ == "__main__":
    sys.exit(main(TESTS))
