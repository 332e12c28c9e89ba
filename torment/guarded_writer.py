# SPDX-License-Identifier: MIT
"""A writer of torment/guards: takes a lock, looks once more whether it holds it, and writes to everything with its fence.

Two times of three it stops between the look and the write, as a process does whose machine is paused. It is woken when the
lock has long been another's, and goes on as if nothing had happened: it knows nothing of it. argv: the arrangement, as JSON.
"""

import ctypes
import http.client
import json
import os
import pathlib
import random
import signal
import sys
import time

from resp import Connection, Gone, Refused

STALE = -11  # CONCLAVE_STALE


class File:
    def __init__(self, arrangement, guarded):
        self.directory = pathlib.Path(arrangement["directory"])
        self.library = ctypes.CDLL(arrangement["library"], use_errno=True) if guarded else None

    def write(self, name, fence):
        text = str(fence).encode()
        if not self.library:
            new = self.directory / f"plain-{name}.{os.getpid()}"
            new.write_bytes(text)
            new.replace(self.directory / f"plain-{name}")
            return True
        guarded = ctypes.c_void_p()
        path = str(self.directory / f"guarded-{name}").encode()
        error = self.library.conclave_guard_open(ctypes.byref(guarded), path, ctypes.c_uint64(fence))
        if not error:
            os.write(self.library.conclave_guard_fd(guarded), text)
            error = self.library.conclave_guard_commit(guarded)
        if error not in (0, STALE):
            raise OSError(ctypes.get_errno(), f"conclave_guard: {error}")
        return not error


class Redis:
    def __init__(self, arrangement, guarded):
        self.connection = Connection(arrangement["redis"], 30)
        self.script = arrangement["redis_guard"] if guarded else None

    def write(self, name, fence):
        if self.script:
            self.connection.say("EVAL", self.script, 2, f"fence-{name}", f"guarded-{name}", fence, "SET", fence)
        else:
            self.connection.say("SET", f"plain-{name}", fence)
        answer, = self.connection.hear(30)
        if answer != "OK" and not (isinstance(answer, Refused) and str(answer).startswith("STALE")):
            raise Gone(str(answer))
        return answer == "OK"


class PostgreSQL:
    """By libpq; several statements in one query are one transaction."""

    def __init__(self, arrangement, guarded):
        self.guarded = guarded
        self.libpq = ctypes.CDLL("libpq.so.5")
        for function, result in (("PQconnectdb", ctypes.c_void_p), ("PQexec", ctypes.c_void_p), ("PQresultErrorField", ctypes.c_char_p),
                                 ("PQerrorMessage", ctypes.c_char_p)):
            getattr(self.libpq, function).restype = result
        self.connection = ctypes.c_void_p(self.libpq.PQconnectdb(f"host={arrangement['postgresql']} user=owner dbname=postgres".encode()))
        if self.libpq.PQstatus(self.connection):
            raise OSError(self.libpq.PQerrorMessage(self.connection).decode())

    def write(self, name, fence):
        write = f"UPDATE {'guarded' if self.guarded else 'plain'}_{name} SET fence = {fence}"
        query = f"SELECT conclave.present('{name}', {fence}); {write}" if self.guarded else write
        result = ctypes.c_void_p(self.libpq.PQexec(self.connection, query.encode()))
        state = self.libpq.PQresultErrorField(result, ord("C"))
        self.libpq.PQclear(result)
        if state not in (None, b"CF001"):
            raise OSError(f"PostgreSQL: {state}")
        return state is None


class Http:
    def __init__(self, arrangement, guarded):
        self.prefix = "guarded" if guarded else "plain"
        self.connection = http.client.HTTPConnection("127.0.0.1", arrangement["http_guard" if guarded else "http"], timeout=60)

    def write(self, name, fence):
        self.connection.request("PUT", f"/{self.prefix}-{name}", str(fence), {"Conclave-Lock": name, "Conclave-Fence": str(fence)})
        answer = self.connection.getresponse()
        answer.read()
        if answer.status not in (204, 412):
            raise OSError(f"HTTP: {answer.status}")
        return answer.status == 204


KINDS = {"file": File, "Redis": Redis, "PostgreSQL": PostgreSQL, "HTTP": Http}


class Writer:
    def __init__(self, arrangement, number):
        self.number, self.ttl_ms = number, arrangement["ttl_ms"]
        self.names = arrangement["names"]
        self.chance = random.Random(f"{arrangement['seed']} {number}")
        self.out = arrangement["pipe"]
        self.node = arrangement["nodes"][number % len(arrangement["nodes"])]
        self.connection = None
        self.resources = [(f"{kind} {'guarded' if guarded else 'plain'}", KINDS[kind](arrangement, guarded))
                          for kind in arrangement["kinds"] for guarded in (False, True)]

    def tell(self, **event):
        os.write(self.out, json.dumps({"writer": self.number, **event}).encode() + b"\n")  # short enough to be one piece

    def ask(self, *words):
        """A RESP2 connection ends when its lock is lost, and the next is a new one."""
        self.connection = self.connection or Connection(self.node, 30)
        try:
            self.connection.say(*words)
            answer, = self.connection.hear(60)
        except (Gone, ValueError):
            self.connection.close()
            self.connection = None
            raise
        if isinstance(answer, Refused):
            raise answer
        return answer

    def hold_and_write(self):
        name = self.names[self.number % len(self.names)]
        sent = time.monotonic()
        granted = self.ask("LOCK", name, "WAIT", 20000, "TTL", self.ttl_ms, "DEADLINE")
        if not granted:
            return
        fence, left_ms = granted
        stops = self.chance.random() < 0.65
        if time.monotonic() >= sent + left_ms / 1000:
            return  # it knows that it is too late
        self.tell(what="holds", name=name, fence=fence, stops=stops, at=time.monotonic())
        if stops:
            os.kill(os.getpid(), signal.SIGSTOP)
        self.chance.shuffle(self.resources)
        for resource, access in self.resources:
            begun = time.monotonic()
            try:
                accepted = access.write(name, fence)
            except (Gone, ValueError) as error:
                raise RuntimeError(f"{resource} is gone") from error
            self.tell(what="wrote", name=name, fence=fence, resource=resource, accepted=accepted, begun=begun, ended=time.monotonic())
        self.tell(what="done", name=name, fence=fence)
        self.ask("UNLOCK", name, fence)


def main():
    arrangement, number = json.loads(sys.argv[1]), int(sys.argv[2])
    writer = Writer(arrangement, number)
    while True:
        try:
            writer.hold_and_write()
        except Refused:
            time.sleep(0.05)
        except (Gone, ValueError):
            pass


if __name__ == "__main__":
    main()
