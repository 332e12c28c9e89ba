# SPDX-License-Identifier: MIT
"""Helpers of the security tests: keys and certificates, a node with a configuration, a tap on the wire."""

import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading

from harness import CONCLAVE, PATIENCE, Client, free_port


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


    def revoked(self, authority, *names, seconds=100000):
        """The authority's list of what it has revoked: a file that lists these certificates."""
        base = self.path / f"{authority}-crl"
        base.mkdir(exist_ok=True)
        config = base / "ca.conf"
        config.write_text(f"[ca]\ndefault_ca = d\n[d]\ndatabase = {base}/index\ndefault_md = sha256\n")
        (base / "index").touch()
        signing = ("ca", "-config", config, "-keyfile", self.path / f"{authority}.ca-key", "-cert", self.path / f"{authority}.pem")
        for name in names:
            openssl(*signing, "-revoke", (self.path / name).with_suffix(".crt"))
        openssl(*signing, "-gencrl", "-crlsec", seconds, "-out", base / "list.pem")
        return base / "list.pem"


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


class Tap:
    """A proxy on loopback that records all bytes."""

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
