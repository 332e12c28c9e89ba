# SPDX-License-Identifier: MIT
"""A connection that speaks RESP3, and the servers and credentials to make one.

A library for Redis is no help here. It reconnects and sends a command again by itself, so that a LOCK would be asked
for twice, and hides for how long a connection was gone. A holder has to know both, at once.
"""

import asyncio
import collections
import getpass
import hmac
import os
import re
import shutil
import socket
import ssl
import stat
import subprocess
import sys
import time
from typing import NamedTuple, Optional

from .errors import ConclaveError, Invalid, NoServer, of_reply

DEFAULT = "127.0.0.1:7700"


def clock():
    """Seconds by a clock that nobody sets, and that runs on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


# ---- servers and credentials ----


class Server(NamedTuple):
    text: str
    path: Optional[str]
    host: str = ""
    port: int = 0


def read_servers(given=None):
    """A list of host:port, [address]:port and paths of sockets, or such a text, or $CONCLAVE_SERVER."""
    if given is None:
        given = os.environ.get("CONCLAVE_SERVER") or DEFAULT
    words = re.split(r"[,\s]+", given) if isinstance(given, str) else list(given)
    servers = [read_server(word) for word in words if word]
    if not servers:
        raise Invalid("the list of servers is empty")
    return servers


def read_server(text):
    place = text[len("tls://"):] if text.startswith("tls://") else text
    if "/" in place:
        if place is not text:
            raise Invalid(f"{text}: tls:// expects host:port")
        return Server(text, place)
    match = re.fullmatch(r"(?:\[([^\]]+)\]|([^:\[\]]+))(?::(\d{1,5}))?", place)
    if not match or int(match[3] or 7700) > 65535:
        raise Invalid(f"{text}: neither host:port nor the path of a socket")
    return Server(text, None, match[1] or match[2], int(match[3] or 7700))


class Credentials:
    """The files that prove who this is: a key, or certificates. Without any, connections are in plain text."""

    def __init__(self, key=None, tls_ca=None, tls_certificate=None, tls_private_key=None):
        def choose(given, variable):
            return str(given) if given else os.environ.get(variable) or None

        self.key = choose(key, "CONCLAVE_KEY")
        self.ca = choose(tls_ca, "CONCLAVE_TLS_CA")
        self.certificate = choose(tls_certificate, "CONCLAVE_TLS_CERTIFICATE")
        self.private_key = choose(tls_private_key, "CONCLAVE_TLS_PRIVATE_KEY")
        self.context = None
        try:
            if self.key:
                self.context = self._by_key()
            elif self.ca or self.certificate or self.private_key:
                self.context = self._by_certificate()
        except OSError as error:
            raise Invalid(f"{error.filename or self.key or self.certificate}: {error.strerror or error}") from error

    def __bool__(self):
        return bool(self.key or self.ca or self.certificate or self.private_key)

    def _by_certificate(self):
        if not (self.ca and self.certificate and self.private_key):
            raise Invalid("TLS by certificate expects tls_ca, tls_certificate and tls_private_key")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_verify_locations(self.ca)
        context.load_cert_chain(self.certificate, self.private_key)
        revoked = os.environ.get("CONCLAVE_TLS_CRL")
        if revoked:
            context.load_verify_locations(revoked)
            context.verify_flags |= ssl.VERIFY_CRL_CHECK_CHAIN
        return context

    def _by_key(self):
        """Python knows TLS by key from 3.13 on. Before that, `conclave tunnel` speaks it: None."""
        if stat.S_IMODE(os.stat(self.key).st_mode) & 0o77:
            raise Invalid(f"{self.key}: expected mode 0600: a key is for its owner alone")
        with open(self.key, encoding="ascii") as file:
            lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
        if not lines or len(lines[0]) != 4 or lines[0][0] != "conclave-key":
            raise Invalid(f"{self.key}: expected a key; conclave keygen makes one")
        _, name, number, secret = lines[0]
        if not getattr(ssl, "HAS_PSK", False):
            return None
        secret = bytes.fromhex(secret)
        if name == "cluster":  # HKDF-Expand: the key by which the cluster's own clients are known
            secret = hmac.digest(secret, b"conclave client cluster\x01", "sha256")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False  # the key proves it; a server that shows a certificate instead finds no authority
        context.set_psk_client_callback(lambda _: (f"{name}.{number}", secret))
        return context


def own_name():
    """What others see of this process."""
    name = f"{getpass.getuser()}@{socket.gethostname()}:{os.getpid()}:{os.path.basename(sys.argv[0] or 'python')}"
    return re.sub(r"[^!-~]", "_", name)[:128]


# ---- RESP ----


def encode(words):
    parts = [word if isinstance(word, bytes) else str(word).encode("utf-8", "surrogateescape") for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


async def decode(reader):
    """(kind, value) of the next reply. An error is a value: an exception."""
    line = await reader.readuntil(b"\r\n")
    kind, rest = chr(line[0]), line[1:-2]
    if kind in "+-":
        text = rest.decode("utf-8", "surrogateescape")
        return kind, text if kind == "+" else of_reply(text)
    if kind in ":(":
        return kind, int(rest)
    if kind == "_" or (kind in "$*" and rest == b"-1"):
        return kind, None
    if kind in "$=":
        value = (await reader.readexactly(int(rest) + 2))[:-2].decode("utf-8", "surrogateescape")
        return kind, value if kind == "$" else value[4:]
    if kind in "*>~":
        return kind, [(await decode(reader))[1] for _ in range(int(rest))]
    if kind == "%":
        pairs = [(await decode(reader))[1] for _ in range(2 * int(rest))]
        return kind, dict(zip(pairs[::2], pairs[1::2]))
    if kind == ",":
        return kind, float(rest)
    if kind == "#":
        return kind, rest == b"t"
    raise ValueError(f"no RESP: {line[:40]!r}")


# ---- connections ----


class Broken(Exception):
    """The connection ended before the answer came."""


class Connection:
    """Answers come in the order of the questions, pushes in between."""

    def __init__(self, server, reader, writer, process=None):
        self.server = server
        self.closed = None  # why
        self.on_push = self.on_close = lambda _: None
        self._reader, self._writer, self._process = reader, writer, process
        self._questions = collections.deque()
        self._task = asyncio.ensure_future(self._read())

    @classmethod
    async def open(cls, server, credentials, timeout, name):
        """Says HELLO and waits for the answer: a process that hangs accepts connections, but does not answer."""
        connection = None
        try:
            connection = cls(server, *await asyncio.wait_for(dial(server, credentials), timeout))
            await asyncio.wait_for(connection.ask("HELLO", "3", "SETNAME", name), timeout)
            return connection
        except BaseException as error:
            if connection:
                connection.close("no answer")
            if isinstance(error, (OSError, Broken, EOFError, ValueError, asyncio.TimeoutError)) and not isinstance(error, ConclaveError):
                raise NoServer(f"{server.text}: {str(error) or 'no answer'}") from error
            raise

    async def _read(self):
        why = "the server closed the connection"
        try:
            while True:
                kind, value = await decode(self._reader)
                if kind == ">":
                    self.on_push(value)
                    continue
                question = self._questions.popleft()
                if question.done():
                    continue  # nobody waits for it any more
                if isinstance(value, Exception):
                    question.set_exception(value)
                else:
                    question.set_result(value)
        except (OSError, EOFError, ValueError, IndexError) as error:
            why = str(error) or why
        finally:
            self.close(why)

    def ask(self, *words):
        """A future of the answer."""
        question = asyncio.get_running_loop().create_future()
        if self.closed:
            question.set_exception(Broken(self.closed))
            return question
        self._questions.append(question)
        self._writer.write(encode(words))
        return question

    @property
    def idle(self):
        return not self.closed and not self._questions

    async def last_words(self, question, seconds=0.5):
        """Tells the server that nothing more will come: an answer that is on its way is not lost. None: there is none."""
        try:
            self._shut()
            done, _ = await asyncio.wait([question], timeout=seconds)
            return question.result() if done and not question.cancelled() and not question.exception() else None
        except OSError:
            return None
        finally:
            self.close("given up")

    def _shut(self):
        with socket.socket(fileno=os.dup(self._writer.get_extra_info("socket").fileno())) as raw:
            raw.shutdown(socket.SHUT_WR)

    def close(self, why="closed"):
        if self.closed:
            return
        self.closed = why
        self._task.cancel()
        self._writer.transport.abort()
        if self._process:
            self._process.kill()
            self._process.wait()
        for question in self._questions:
            if not question.done():
                question.set_exception(Broken(why))
                question.exception()  # whoever asked may have gone
        self.on_close(why)


async def dial(server, credentials):
    """A reader, a writer, and the process in between if there is one."""
    if server.path:
        return await asyncio.open_unix_connection(server.path)
    if credentials and not credentials.context:
        return await dig(server, credentials)
    hostname = server.host if credentials and credentials.context.check_hostname else None
    if not credentials and server.text.startswith("tls://"):
        raise Invalid(f"{server.text}: expected a key or certificates")
    reader, writer = await asyncio.open_connection(server.host, server.port, ssl=credentials.context,
                                                   **({"server_hostname": hostname or ""} if credentials else {}))
    harden(writer.get_extra_info("socket"))
    return reader, writer


async def dig(server, credentials):
    """`conclave tunnel` speaks TLS by key, which this Python does not know."""
    program = shutil.which("conclave")
    if not program:
        raise Invalid("TLS by key expects Python 3.13, or the program conclave in PATH")
    near, far = socket.socketpair()
    with far:
        process = subprocess.Popen([program, "tunnel", "--server", server.text, "--key", credentials.key], stdin=far,
                                   stdout=far, stderr=subprocess.DEVNULL)
    return (*await asyncio.open_connection(sock=near), process)


def harden(sock):
    """A machine that has vanished does not close its connections. The kernel finds out after about ten seconds."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 4), ("TCP_KEEPINTVL", 2), ("TCP_KEEPCNT", 3), ("TCP_USER_TIMEOUT", 10000)):
        if hasattr(socket, option):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
