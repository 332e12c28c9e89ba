# SPDX-License-Identifier: MIT
"""A server for tests of the client side: it keeps locks and elections in memory, answers in RESP3, remembers what it was
asked, and fails on request (hangs, drops its connections, takes a lock away, has no majority)."""

import collections
import os
import selectors
import signal
import socket
import threading
import time

# A shell makes its background jobs ignore these signals, as nohup does, and all children would ignore them, too.
for ignored in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    signal.signal(ignored, signal.SIG_DFL)

CRLF = b"\r\n"


def encode(value):
    """A Python value in RESP3; a status is ("+", text), an error ("-", text), a push (">", items)."""
    if value is None:
        return b"_" + CRLF
    if isinstance(value, int):
        return b":%d" % value + CRLF
    if isinstance(value, str):
        data = value.encode("utf-8", "surrogateescape")
        return b"$%d" % len(data) + CRLF + data + CRLF
    if isinstance(value, list):
        return b"*%d" % len(value) + CRLF + b"".join(map(encode, value))
    if isinstance(value, dict):
        return b"%%%d" % len(value) + CRLF + b"".join(encode(key) + encode(it) for key, it in value.items())
    kind, content = value
    if kind == ">":
        return b">%d" % len(content) + CRLF + b"".join(map(encode, content))
    return kind.encode() + content.encode() + CRLF


def decode(data):
    """The words of the first command and the bytes after it; (None, data) if it is not all there."""
    if not data.startswith(b"*") or CRLF not in data:
        return None, data
    head, rest = data.split(CRLF, 1)
    words = []
    for _ in range(int(head[1:])):
        if CRLF not in rest:
            return None, data
        head, rest = rest.split(CRLF, 1)
        size = int(head[1:])
        if len(rest) < size + 2:
            return None, data
        words.append(rest[:size].decode("utf-8", "surrogateescape"))
        rest = rest[size + 2:]
    return words, rest


class Session:
    def __init__(self, number, connection):
        self.number = number
        self.connection = connection
        self.received = b""
        self.waiting = None  # what it waits for: later commands wait too
        self.observed = set()

    def send(self, value):
        try:
            self.connection.sendall(encode(value))
        except OSError:
            pass


class Lock:
    def __init__(self):
        self.fence = 0
        self.holders = {}  # fence -> (session, shared, when it runs out or None, TTL)
        self.queue = []  # Wait, by priority and then by arrival


Wait = collections.namedtuple("Wait", "session shared until ttl priority")


class Fake:
    """`lease`: milliseconds that a session's own lock lasts without RENEW; -1: it does not run out."""

    def __init__(self, path=None, lease=-1, hello=True):
        self.lease = lease
        self.hello = hello
        self.no_quorum = self.hung = self.stopped = False
        self.refuse_renewal = False
        self.path = path
        self.listener = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(path or ("127.0.0.1", 0))
        self.listener.listen(64)
        self.address = path or "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.locks = collections.defaultdict(Lock)
        self.sessions = []
        self.count = 0
        self.commands = []  # (time, session's number, words)
        self.mutex = threading.RLock()
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    # ---- what tests do to it and ask it ----

    def stop(self):
        if self.stopped:
            return
        self.stopped = True
        self.thread.join()
        self.drop()
        self.listener.close()
        self.selector.close()
        if self.path:
            os.unlink(self.path)

    def drop(self):
        """Closes every connection, as a server that dies does."""
        with self.mutex:
            for session in list(self.sessions):
                self.leave(session)

    def lose(self, name):
        """Takes the lock away and tells the holders."""
        with self.mutex:
            for fence, (session, *_) in self.locks[name].holders.items():
                session.send((">", ["lost", name, fence]))
            self.locks[name].holders.clear()
            self.grant(name)

    def holders(self, name):
        with self.mutex:
            return sorted(self.locks[name].holders)

    def waiting(self, name):
        with self.mutex:
            return len(self.locks[name].queue)

    def asked(self, command):
        with self.mutex:
            return [entry for entry in self.commands if entry[2][0].upper() == command]

    # ---- the loop ----

    def run(self):
        while not self.stopped:
            ready = self.selector.select(0.002)
            if self.hung:
                time.sleep(0.002)
                continue
            with self.mutex:
                for key, _ in ready:
                    if key.fileobj is self.listener:
                        self.accept()
                    elif key.data in self.sessions:
                        self.read(key.data)
                self.expire()

    def accept(self):
        connection, _ = self.listener.accept()
        self.count += 1
        session = Session(self.count, connection)
        self.sessions.append(session)
        self.selector.register(connection, selectors.EVENT_READ, session)

    def leave(self, session):
        self.sessions.remove(session)
        self.selector.unregister(session.connection)
        session.connection.close()
        for name, lock in list(self.locks.items()):
            lock.queue = [wait for wait in lock.queue if wait.session is not session]
            for fence, (holder, _, _, ttl) in list(lock.holders.items()):
                if holder is session and not ttl:
                    del lock.holders[fence]
            self.grant(name)

    def read(self, session):
        try:
            data = session.connection.recv(65536)
        except OSError:
            data = b""
        session.received += data
        if not data:
            self.leave(session)
        self.go_on(session)

    def go_on(self, session):
        while not session.waiting and session in self.sessions:
            words, session.received = decode(session.received)
            if words is None:
                return
            self.commands.append((time.monotonic(), session.number, words))
            handler = getattr(self, "on_" + words[0].lower(), None)
            if handler:
                handler(session, *words[1:])
            else:
                session.send(("-", f"ERR unknown command '{words[0]}'"))

    def expire(self):
        now = time.monotonic()
        for name, lock in list(self.locks.items()):
            for fence, (_, _, until, _) in list(lock.holders.items()):
                if until is not None and now >= until:
                    del lock.holders[fence]
            for wait in list(lock.queue):
                if wait.until is not None and now >= wait.until:
                    lock.queue.remove(wait)
                    self.answer(wait.session, None)
            self.grant(name)

    # ---- locks ----

    def answer(self, session, value):
        session.waiting = None
        session.send(value)
        self.go_on(session)

    def grant(self, name):
        lock = self.locks[name]
        while lock.queue:
            wait = lock.queue[0]
            if lock.holders and not (wait.shared and all(shared for _, shared, _, _ in lock.holders.values())):
                return
            lock.queue.pop(0)
            lock.fence += 1
            length = wait.ttl or (self.lease if self.lease > 0 else None)
            until = time.monotonic() + length / 1000 if length else None
            lock.holders[lock.fence] = (wait.session, wait.shared, until, wait.ttl)
            self.answer(wait.session, lock.fence)
            self.tell_leader(name)

    def want(self, session, name, options, priority=0):
        if self.no_quorum:
            session.send(("-", "NOQUORUM no majority can be reached"))
            return
        wait = ttl = None
        shared = False
        while options:
            word = options.pop(0).upper()
            if word == "WAIT":
                wait = int(options.pop(0))
            elif word == "TTL":
                ttl = int(options.pop(0))
            elif word == "PRIORITY":
                priority = int(options.pop(0))
            elif word == "SHARED":
                shared = True
        lock = self.locks[name]
        until = None if wait is None else time.monotonic() + wait / 1000
        lock.queue.append(Wait(session, shared, until, ttl, priority))
        lock.queue.sort(key=lambda it: -it.priority)
        session.waiting = name
        self.grant(name)
        if wait == 0 and session.waiting:
            lock.queue = [it for it in lock.queue if it.session is not session]
            self.answer(session, None)

    def on_lock(self, session, name, *options):
        self.want(session, name, list(options))

    def on_unlock(self, session, name, fence, *_secret):
        held = self.locks[name].holders.pop(int(fence), None)
        session.send(1 if held else 0)
        self.grant(name)
        self.tell_leader(name)

    def on_renew(self, session, name, fence, *_secret):
        holder = self.locks[name].holders.get(int(fence))
        if not holder or self.refuse_renewal:
            session.send(None)
            return
        length = holder[3] or self.lease
        if length > 0:
            self.locks[name].holders[int(fence)] = (*holder[:2], time.monotonic() + length / 1000, holder[3])
        session.send(length)

    # ---- elections ----

    def leader(self, name):
        lock = self.locks[name]
        for fence, (session, *_) in lock.holders.items():
            return [f"1/{session.number}", fence, 1]
        return None

    def tell_leader(self, name):
        leader = self.leader(name)
        for session in self.sessions:
            if name in session.observed:
                session.send((">", ["leader", name, *(leader[:2] if leader else [None, 0])]))

    def on_campaign(self, session, name, *options):
        self.want(session, name, list(options))

    def on_resign(self, session, name, fence=0, *_secret):
        lock = self.locks[name]
        mine = [held for held, (holder, *_) in lock.holders.items() if (held == int(fence) if fence else holder is session)]
        for fence in mine:
            del lock.holders[fence]
        session.send(len(mine))
        self.grant(name)
        self.tell_leader(name)

    def on_leader(self, session, name):
        session.send(self.leader(name))

    def on_observe(self, session, name):
        session.observed.add(name)
        session.send(self.leader(name))

    # ---- the rest ----

    def on_hello(self, session, *_):
        if self.hello:
            session.send({"server": "conclave", "version": "fake", "proto": 3, "id": 1, "mode": "single", "epoch": 1})
        else:
            session.send(("-", "NOAUTH who are you?"))

    def on_ping(self, session, text=None):
        session.send(text if text is not None else ("+", "PONG"))
