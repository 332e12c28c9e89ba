# SPDX-License-Identifier: MIT
"""A connection to a node: RESP3 over TCP or a Unix socket, never waiting longer than it is told to."""

import select
import socket


class Gone(Exception):
    """The connection ended, or never began."""


class Refused(Exception):
    """The node answered with an error."""


class Incomplete(Exception):
    """The item is incomplete."""


class Push(list):
    """A push."""


def parse(data, start=0):
    """(item, where it ends)."""
    end = data.find(b"\r\n", start)
    if end < 0:
        raise Incomplete
    kind, rest, after = data[start:start + 1], bytes(data[start + 1:end]), end + 2
    if kind == b"+":
        return rest.decode(), after
    if kind == b"-":
        return Refused(rest.decode()), after
    if kind == b":":
        return int(rest), after
    if kind == b"_" or (kind in b"$*" and rest == b"-1"):
        return None, after
    if kind == b"$":
        last = after + int(rest)
        if len(data) < last + 2:
            raise Incomplete
        return bytes(data[after:last]).decode(), last + 2
    if kind in (b"*", b">", b"%"):
        items = Push() if kind == b">" else []
        for _ in range(int(rest) * (2 if kind == b"%" else 1)):
            item, after = parse(data, after)
            items.append(item)
        return (dict(zip(items[::2], items[1::2])) if kind == b"%" else items), after
    raise Gone(f"no RESP: {bytes(data[start:end])!r}")


class Connection:
    def __init__(self, address, patience=2.0):
        """`address`: (host, port), or the path of a Unix socket."""
        try:
            if isinstance(address, tuple):
                self.socket = socket.create_connection(address, patience)
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            else:
                self.socket = socket.socket(socket.AF_UNIX)
                self.socket.settimeout(patience)
                self.socket.connect(address)
        except OSError as error:
            raise Gone(str(error)) from error
        self.data = bytearray()
        self.ready = select.poll()
        self.ready.register(self.socket, select.POLLIN)

    def say(self, *words):
        parts = [str(word).encode() for word in words]
        try:
            self.socket.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))
        except OSError as error:
            raise Gone(str(error)) from error

    def hear(self, seconds):
        """The next item within that time, as [item]; [] if there is none."""
        while True:
            try:
                item, end = parse(self.data)
                del self.data[:end]
                return [item]
            except Incomplete:
                pass
            if not self.ready.poll(max(0, seconds) * 1000):
                return []
            try:
                received = self.socket.recv(65536)
            except OSError as error:
                raise Gone(str(error)) from error
            if not received:
                raise Gone("end of file")
            self.data += received

    def close(self):
        self.socket.close()
