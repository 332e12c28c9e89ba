#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""libconclave, called from Python against a fake server: every function, and failures of servers."""

import ctypes
import os
import pathlib
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import starvation  # pylint: disable=wrong-import-position
from fake import Fake  # pylint: disable=wrong-import-position

TIMEOUT, LOST, NO_SERVER, NO_QUORUM, REFUSED, DENIED, INTERRUPTED, INVALID = -1, -2, -3, -4, -5, -6, -7, -8
EVENT_LOST, EVENT_LEADER = 1, 2

library = ctypes.CDLL(os.environ["LIBCONCLAVE"])
library.conclave_explain.restype = ctypes.c_char_p
library.conclave_error_text.restype = ctypes.c_char_p
library.conclave_left_ms.restype = ctypes.c_int64


class Want(ctypes.Structure):
    _fields_ = [("wait_ms", ctypes.c_uint64), ("ttl_ms", ctypes.c_uint64), ("try_once", ctypes.c_bool),
                ("shared", ctypes.c_bool), ("ends_with_session", ctypes.c_bool)]


class Candidate(ctypes.Structure):
    _fields_ = [("wait_ms", ctypes.c_uint64), ("priority", ctypes.c_uint32), ("try_once", ctypes.c_bool),
                ("ttl_ms", ctypes.c_uint64), ("ends_with_session", ctypes.c_bool), ("value", ctypes.c_char_p),
                ("value_length", ctypes.c_size_t)]


class Leader(ctypes.Structure):
    _fields_ = [("leader", ctypes.c_char * 64), ("fence", ctypes.c_uint64), ("has_value", ctypes.c_bool),
                ("value_length", ctypes.c_size_t), ("value", ctypes.c_char * 1025)]


class Event(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("name", ctypes.c_char * 513), ("fence", ctypes.c_uint64),
                ("leader", ctypes.c_char * 64), ("has_value", ctypes.c_bool), ("value_length", ctypes.c_size_t),
                ("value", ctypes.c_char * 1025)]


class Session:
    """A session as a Python object; errors come back as negative numbers."""

    def __init__(self, servers, timeout_ms=500):
        self.pointer = ctypes.c_void_p()
        self.error = library.conclave_open(ctypes.byref(self.pointer), servers.encode(), timeout_ms)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        library.conclave_close(self.pointer)
        self.pointer = ctypes.c_void_p()

    def why(self):
        return library.conclave_explain(self.pointer).decode()

    def acquire(self, function, name, *options):
        fence = ctypes.c_uint64()
        error = function(self.pointer, name, *options, ctypes.byref(fence))
        return error or fence.value

    def lock(self, name=b"a", **want):
        """Ends with the session, unless a time to live is given."""
        want = Want(**want, ends_with_session=not want.get("ttl_ms"))
        return self.acquire(library.conclave_lock, name, ctypes.byref(want))

    def lock_by_default(self, name=b"a"):
        return self.acquire(library.conclave_lock, name, None)

    def try_lock(self, name=b"a"):
        return self.acquire(library.conclave_try_lock, name)

    def timed_lock(self, wait_ms, name=b"a"):
        return self.acquire(library.conclave_timed_lock, name, ctypes.c_uint64(wait_ms))

    def campaign(self, name=b"a", **candidate):
        candidate = Candidate(**candidate, ends_with_session=not candidate.get("ttl_ms"))
        return self.acquire(library.conclave_campaign, name, ctypes.byref(candidate))

    def campaign_by_default(self, name=b"a"):
        return self.acquire(library.conclave_campaign, name, None)

    def unlock(self, fence, name=b"a"):
        return library.conclave_unlock(self.pointer, name, ctypes.c_uint64(fence))

    def renew(self, fence, name=b"a"):
        left = ctypes.c_int64()
        return library.conclave_renew(self.pointer, name, ctypes.c_uint64(fence), ctypes.byref(left)) or left.value

    def left(self, name=b"a"):
        return library.conclave_left_ms(self.pointer, name)

    def resign(self, name=b"a"):
        return library.conclave_resign(self.pointer, name)

    def leader(self, function=library.conclave_who_leads, name=b"a"):
        leader = Leader()
        return function(self.pointer, name, ctypes.byref(leader)) or (leader.leader.decode(), leader.fence)

    def observe(self, name=b"a"):
        return self.leader(library.conclave_observe, name)

    def event(self, timeout_ms=1000):
        """(kind, name, fence, leader), or what the function returned."""
        event = Event()
        result = library.conclave_next_event(self.pointer, ctypes.byref(event), timeout_ms)
        return (event.kind, event.name.decode(), event.fence, event.leader.decode()) if result == 1 else result


failures = []


def expect(what, found, expected):
    if found != expected:
        failures.append(what)
        print(f"FAILED: {what}: {found!r} instead of {expected!r}")


def within(what, found, low, high):
    if not low <= found <= high:
        failures.append(what)
        print(f"FAILED: {what}: {found!r} is not in {low!r}..{high!r}")


def until(condition, seconds=starvation.PATIENCE):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.002)
    return condition()


# ---- locks ----


def check_locks():
    with Fake() as server, Session(server.address) as one, Session(server.address) as two:
        expect("lock", one.lock(), 1)
        expect("try what is held", two.try_lock(), TIMEOUT)
        began = time.monotonic()
        expect("timed", two.timed_lock(80), TIMEOUT)
        within("it waited so long", time.monotonic() - began, 0.08, 0.5 * starvation.stretch())
        expect("a wrong fence unlocks nothing", two.unlock(9), LOST)
        expect("still held", server.holders("a"), [1])
        expect("unlock", one.unlock(1), 0)
        expect("unlock twice", one.unlock(1), LOST)
        expect("try what is free", two.try_lock(), 2)
        expect("timed with 0 tries once", one.timed_lock(0), TIMEOUT)
        expect("shared beside exclusive", one.lock(shared=True, try_once=True), TIMEOUT)
        expect("a stale unlock leaves the newer holder", (one.unlock(1), server.holders("a")), (LOST, [2]))
        two.close()
        expect("a closed session holds nothing", until(lambda: not server.holders("a")), True)
    with Fake() as server, Session(server.address) as one, Session(server.address) as two:
        expect("two readers", (one.lock(shared=True), two.lock(shared=True)), (1, 2))
        expect("both hold it", server.holders("a"), [1, 2])


def check_waiting():
    with Fake() as server, Session(server.address) as one, Session(server.address) as two:
        expect("lock", one.lock(), 1)
        granted = []
        waiter = threading.Thread(target=lambda: granted.append(two.lock()))
        waiter.start()
        expect("it waits", until(lambda: server.waiting("a") == 1), True)
        expect("not granted yet", granted, [])
        expect("unlock", one.unlock(1), 0)
        waiter.join()
        expect("granted", granted, [2])
        waiter = threading.Thread(target=lambda: granted.append(one.lock()))
        waiter.start()
        until(lambda: server.waiting("a") == 1)
        library.conclave_interrupt(one.pointer)
        waiter.join()
        expect("interrupted", granted[1:], [INTERRUPTED])
        expect("the wait is given up", until(lambda: server.waiting("a") == 0), True)
        expect("and the session is of use", one.try_lock(b"b"), 1)


def check_arguments():
    with Fake() as server, Session(server.address) as one:
        for name in (b"", b"x" * 513, b"a\nb", b"\x7f"):
            expect(f"name {name[:9]!r}", one.lock(name), INVALID)
        longest = b"x" * 512
        expect("the longest name", one.lock(longest), 1)
        expect("no NULL", library.conclave_lock(one.pointer, None, None, None), INVALID)
        expect("bytes of any other kind", one.lock("größe mit platz".encode()), 1)
    for servers in ("", " , "):
        with Session(servers) as nowhere:
            expect("an empty list", nowhere.error, INVALID)
    expect("texts", library.conclave_error_text(TIMEOUT), b"waited too long")
    expect("unknown", library.conclave_error_text(-99), b"unknown error")


# ---- servers ----


def check_servers():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "node.sock")
        with Fake(path) as server, Session(path) as one:
            expect("a Unix socket", (one.error, one.lock()), (0, 1))
            expect("it was asked", server.holders("a"), [1])
        for nowhere, why in ((path, path), ("127.0.0.1:1", "refused"), ("127.0.0.1:x", "host:port"), ("[::1", "host:port"),
                             ("no.such.host.invalid:1", "no.such.host"), (":7700", "host:port"), ("/" + "x" * 200, "too long")):
            with Session(nowhere) as session:
                expect(f"nobody at {nowhere}", session.error, NO_SERVER)
                expect(f"{nowhere}: {session.why()} tells why", why in session.why(), True)
    with Fake() as server:
        with Session("127.0.0.1:1, " + server.address) as session:
            expect("the next in the list", (session.error, session.lock()), (0, 1))
        os.environ["CONCLAVE_SERVER"] = server.address
        pointer = ctypes.c_void_p()
        expect("$CONCLAVE_SERVER", library.conclave_open(ctypes.byref(pointer), None, 500), 0)
        library.conclave_close(pointer)
        library.conclave_close(None)
        with Fake() as hung:
            hung.hung = True
            with Session(f"{hung.address} {server.address}", 100) as session:
                expect("one that hangs is left for the next", (session.error, session.try_lock(b"b")), (0, 1))
            hung.hung = False
    with Fake(hello=False) as server, Session(server.address) as session:
        expect("a server that wants a password", session.error, DENIED)
        expect("its words", "who are you" in session.why(), True)
    with Fake() as server, Session(server.address) as session:
        server.no_quorum = True
        expect("no majority", session.lock(), NO_QUORUM)


# ---- losing ----


def check_losing():
    with Fake() as server, Session(server.address) as one:
        one.lock()
        one.lock(b"b")
        server.lose("a")
        expect("told that it is lost", one.event(), (EVENT_LOST, "a", 1, ""))
        expect("nothing is left of it", one.left(), 0)
        expect("the other is held", (one.left(b"b"), one.event(20)), (-1, 0))
        server.drop()
        expect("lost with the server", one.event(), (EVENT_LOST, "b", 1, ""))
        expect("nothing is of interest any more", one.event(20), NO_SERVER)
        expect("but it can begin anew", one.lock(b"c"), 1)
    with Fake(lease=1000) as server, Session(server.address) as one:
        expect("lock", one.lock(), 1)
        expect("nothing happens in two leases", [one.event(100) for _ in range(20)], [0] * 20)
        within("renewed about every third of a lease", len(server.asked("RENEW")), 4, 10)
        within("left", one.left(), 300, 1000)
        server.hung = True
        began = time.monotonic()
        expect("a server that hangs", one.event(), (EVENT_LOST, "a", 1, ""))
        within("is given up when the lease runs out", time.monotonic() - began, 0.3, 1.1 * starvation.stretch())
        server.hung = False


def check_ttl():
    with Fake() as server, Session(server.address) as one:
        expect("lock", one.lock(ttl_ms=1000), 1)
        within("left", one.left(), 700, 1000)
        expect("renew", one.renew(1), 1000)
        expect("nothing happens in twice its life", [one.event(100) for _ in range(20)], [0] * 20)
        server.drop()
        expect("it outlives the connection", [one.event(100) for _ in range(15)], [0] * 15)
        expect("held", server.holders("a"), [1])
        server.refuse_renewal = True
        expect("not renewed", one.event(), (EVENT_LOST, "a", 1, ""))
    with Fake() as first, Fake() as second:
        second.locks = first.locks
        with Session(f"{first.address},{second.address}") as one:
            expect("lock", one.lock(ttl_ms=1000), 1)
            first.stop()
            expect("renewed with another server", [one.event(100) for _ in range(15)], [0] * 15)
            expect("there", bool(second.asked("RENEW")), True)
            second.stop()
            began = time.monotonic()
            expect("no server", one.event(2000), (EVENT_LOST, "a", 1, ""))
            within("told when it runs out", time.monotonic() - began, 0.3, 1.1 * starvation.stretch())
    with Fake() as server, Session(server.address) as one, Session(server.address) as two:
        one.lock()
        timer = threading.Timer(0.3, lambda: one.unlock(1))
        timer.start()
        expect("granted after a wait", two.lock(ttl_ms=1000), 2)
        expect("its time is asked, not guessed", len(server.asked("RENEW")), 1)
        timer.join()


def check_defaults():
    """By default, locks and leaderships have a time to live and a secret, and conclave_close() gives them back."""
    with Fake() as server:
        with Session(server.address) as one:
            expect("lock", one.lock_by_default(), 1)
            expect("lead", one.campaign_by_default(b"b"), 1)
            within("left", one.left(), 9000, 10000)
            (_, _, words), (_, _, leads) = server.asked("LOCK")[0], server.asked("CAMPAIGN")[0]
            expect("its words", words[:4] + words[4:5], ["LOCK", "a", "TTL", "10000", "SECRET"])
            expect("the same secret", (len(words[5]), leads[3:]), (32, ["10000", "SECRET", words[5]]))
            server.drop()
            expect("nothing is lost", one.event(200), 0)
            expect("renewed by the secret", server.asked("RENEW")[-1][2][3:5], ["SECRET", words[5]])
        expect("given up", until(lambda: not server.holders("a") and not server.holders("b"), 5), True)


def wait_until_it_dies(server, holder, waiter):
    """One holds the lock, the other waits for it, and the server is gone: the waiter's thread, and what it will be granted."""
    granted = []
    holder.lock(ttl_ms=60000)
    thread = threading.Thread(target=lambda: granted.append(waiter.lock()))
    thread.start()
    until(lambda: server.waiting("a") == 1)
    server.stop()
    return thread, granted


def check_waiting_through_a_failure():
    """The server dies while the session waits: the wait goes on with another server."""
    with Fake() as first, Fake() as second:
        second.locks = first.locks
        with Session(first.address) as holder, Session(f"{first.address},{second.address}") as waiter:
            thread, granted = wait_until_it_dies(first, holder, waiter)
            expect("it waits with the other", until(lambda: len(second.asked("LOCK")) == 1), True)
            with Session(second.address) as other:
                expect("unlock", other.unlock(1), 0)
            thread.join()
            expect("granted", granted, [2])


def check_waiting_for_a_server():
    """The only server dies while the session waits, and is there again half a second later: the wait goes on."""
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/server"
        first = Fake(path)
        with Session(path) as holder, Session(path) as waiter:
            thread, granted = wait_until_it_dies(first, holder, waiter)
            time.sleep(0.5)
            with Fake(path):
                thread.join()
            expect("granted", granted, [1])


def check_silence():
    """No server answers any more, though all accept connections: the loss is told when the time is over, not later."""
    with Fake() as first, Fake() as second, Session(f"{first.address},{second.address}", 8000) as one:
        second.locks = first.locks
        expect("lock", one.lock(ttl_ms=1000), 1)
        first.hung = second.hung = True
        began = time.monotonic()
        expect("told", one.event(), (EVENT_LOST, "a", 1, ""))
        within("in time", time.monotonic() - began, 0.3, 7)
        first.hung = second.hung = False


def check_stale_grant():
    """A lock that is lost by the time that its grant is heard of is asked for again."""
    with Fake() as server, Session(server.address) as holder, Session(server.address) as waiter:
        holder.lock(ttl_ms=60000)
        granted = []
        thread = threading.Thread(target=lambda: granted.append(waiter.lock(ttl_ms=2000)))
        thread.start()
        until(lambda: server.waiting("a") == 1)
        time.sleep(0.3)  # a grant after more than a tenth of the time to live is looked at
        server.refuse_renewal = True
        holder.unlock(1)
        until(lambda: server.asked("RENEW"))
        server.refuse_renewal = False
        thread.join()
        within("it asks again", len(server.asked("LOCK")), 3, 1000)
        expect("and gets it", server.holders("a"), granted)


def check_hanging():
    """Servers that hang without closing anything: waiters, locks with a time to live and observers go elsewhere."""
    with Fake() as first, Fake() as second:
        second.locks = first.locks
        both = f"{first.address},{second.address}"
        with Session(second.address) as holder, Session(both, 3500) as waiter, Session(both, 200) as keeper, \
                Session(both, 200) as observer, Session(second.address) as leader:
            holder.lock(ttl_ms=60000)
            keeper.lock(b"b", ttl_ms=2000)
            expect("nobody", observer.observe(b"c"), ("", 0))
            granted = []
            thread = threading.Thread(target=lambda: granted.append(waiter.lock()))
            thread.start()
            until(lambda: first.waiting("a") == 1)
            first.hung = True
            with first.mutex:
                first.locks["a"].queue.clear()
            leader.campaign(b"c")
            expect("renewed elsewhere", [keeper.event(100) for _ in range(30)], [0] * 30)
            expect("there", bool(second.asked("RENEW")), True)
            expect("observed elsewhere", observer.event(8000)[:3], (EVENT_LEADER, "c", 1))
            expect("it waits elsewhere", until(lambda: len(second.asked("LOCK")) == 2), True)
            holder.unlock(1)
            thread.join()
            expect("granted there", granted, [2])
        first.hung = False


# ---- elections ----


def check_elections():
    with Fake() as server, Session(server.address) as one, Session(server.address) as two, \
            Session(server.address) as observer:
        expect("nobody leads", one.leader(), ("", 0))
        expect("nobody is observed", observer.observe(), ("", 0))
        expect("campaign", one.campaign(), 1)
        expect("the leader", two.leader(), ("1/1", 1))
        expect("told", observer.event(), (EVENT_LEADER, "a", 1, "1/1"))
        expect("too long", two.campaign(wait_ms=50), TIMEOUT)
        expect("try", two.campaign(try_once=True), TIMEOUT)
        expect("resign", one.resign(), 0)
        expect("told that nobody leads", observer.event(), (EVENT_LEADER, "a", 0, ""))
        expect("resign twice", one.resign(), LOST)
        expect("campaign with a priority", two.campaign(priority=3), 2)
        expect("it was sent", server.asked("CAMPAIGN")[-1][2][2:], ["PRIORITY", "3"])
        expect("told of it", observer.event(), (EVENT_LEADER, "a", 2, "1/2"))
        server.drop()
        expect("a leader without a server leads no more", two.event(), (EVENT_LOST, "a", 2, ""))
        expect("the observer sees that after it found the server again", observer.event(), (EVENT_LEADER, "a", 0, ""))
        expect("campaign", two.campaign(), 3)
        expect("and goes on", observer.event()[:3], (EVENT_LEADER, "a", 3))


def check_own_loop():
    """conclave_fd and conclave_next_ms: what a program's own loop needs."""
    with Fake(lease=600) as server, Session(server.address) as one:
        expect("nothing to do", library.conclave_next_ms(one.pointer), -1)
        one.lock()
        expect("something is due", library.conclave_next_ms(one.pointer), 0)
        expect("no event", one.event(0), 0)
        until(lambda: len(server.asked("RENEW")) == 1)
        time.sleep(0.02)
        expect("no event yet", one.event(0), 0)
        within("due after a third of the lease", library.conclave_next_ms(one.pointer), 100, 200)
        within("a descriptor", library.conclave_fd(one.pointer), 3, 1000)


def main(wanted):
    for check in (check_locks, check_waiting, check_arguments, check_servers, check_losing, check_ttl, check_defaults,
                  check_waiting_through_a_failure, check_waiting_for_a_server, check_silence, check_stale_grant,
                  check_hanging, check_elections, check_own_loop):
        if not wanted or check.__name__ in wanted:
            starvation.run(check, failures=failures)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
