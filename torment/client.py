#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A client: takes a lock or a leadership, changes what it protects, lets go, again and again until SIGTERM.

usage: client.py PLAN NUMBER    PLAN: a JSON file: seed, histories, register, addresses, names

It is nearly as careful as `conclave lock`: it believes in a lock only once RENEW has said how long that lasts, stops a tenth
before the time is up by its own clock, and at once when it is told `lost` or its connection ends (hold.py).

Every fifth client is plain: it speaks RESP2, which has no pushes, never says RENEW, and believes in its lock for as long as
its connection answers PING.

About half of them go by times to live: they show a secret, and go to another member when their own does not answer, as
`conclave lock` does (ttl_hold.py).
"""

import json
import signal
import socket
import sys
import time

from history import now_us
from session import SECOND
from ttl_hold import Wish
from visitor import WAIT_MS, Holder

TTL_MS = 1000


class Register:
    """The other end is register.py."""

    def __init__(self, path, who):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rw", encoding="utf-8")
        self.who = who
        self.writes = 0

    def order(self, **order):
        print(json.dumps(order | {"by": self.who}), file=self.file, flush=True)
        return json.loads(self.file.readline())

    def read(self, hold):
        return self.order(read=hold.name, fence=hold.fence, shared=hold.shared, until=hold.until_us)

    def write(self, name, fence, base, until):
        self.writes += 1
        return self.order(write=name, fence=fence, base=base, tag=f"{self.who}.{self.writes}", until=until)


class PlainHold:
    """A lock that lasts as long as the connection, as far as its client knows."""

    def __init__(self, session, kind, name, grant):
        self.session, self.kind, self.name, self.fence = session, kind, name, grant.answer
        self.shared = "SHARED" in grant.words
        self.until_us = None
        session.history.note("plain-hold", name=name, kind=kind, fence=self.fence, shared=self.shared, node=session.node)

    def rest(self, seconds):
        """A connection that has ended answers nothing."""
        end_us = now_us() + int(seconds * SECOND)
        while True:
            self.session.ask("PING")
            left_us = end_us - now_us()
            if left_us <= 0:
                return
            self.session.attend(now_us() + min(left_us, SECOND // 20))

    def end(self, why):
        self.session.history.note("plain-end", name=self.name, fence=self.fence, why=why)


class Client(Holder):
    def __init__(self, plan, number, stopping):
        super().__init__(plan, f"client-{number}", (number - 1) % len(plan["addresses"]), stopping)
        self.register = Register(plan["register"], self.who)
        self.kind = "election" if number % 4 == 0 else "lock"
        self.plain = number % 5 == 0
        self.protocol = 2 if self.plain else 3
        self.lasting = number % 3 != 1 and not self.plain

    def work(self, hold):
        """Reads, thinks, writes, or reads again if it shares; now and then holds on for long, so that faults find holders."""
        for _ in range(self.random.randint(1, 3)):
            hold.rest(0)
            seen = self.register.read(hold)
            hold.rest(self.random.uniform(0.001, 0.01))
            if hold.shared:
                self.register.read(hold)
            elif seen["accepted"]:
                self.register.write(hold.name, hold.fence, seen["tag"], hold.until_us)
        if self.random.random() < 0.05:
            hold.rest(self.random.uniform(0.3, 1.0))

    def believe(self, session, name, grant):
        return PlainHold(session, self.kind, name, grant) if self.plain else super().believe(session, name, grant)

    def hold_for_long(self, session):
        kind = "election" if self.random.random() < 0.2 else "lock"
        long = self.random.random() < 0.7  # of names that no other client waits for
        name = (self.random.choice(self.plan["names"]) if kind == "lock" else "leader") + (".lasting" if long else "")
        self.outlast(session, Wish(self.random, kind, name, WAIT_MS), 5 if long else 0)
        time.sleep(self.random.uniform(0.005, 0.06))

    def one_round(self, session):
        if self.lasting:
            self.hold_for_long(session)
            return
        name = self.random.choice(self.plan["names"]) if self.kind == "lock" else "leader"
        words = ["LOCK" if self.kind == "lock" else "CAMPAIGN", name, "WAIT", WAIT_MS]
        if self.kind == "lock" and not self.plain and self.random.random() < 0.25:
            words += ["TTL", TTL_MS]
        if self.kind == "lock" and self.random.random() < 0.4:
            words.append("SHARED")
        grant = session.ask(*words, wait_ms=WAIT_MS)
        if isinstance(grant.answer, int):
            self.inside(session, name, grant)
        pause = self.random.uniform(0.005, 0.06)
        time.sleep(pause if isinstance(grant.answer, int) else pause + 0.1)


def load_plan(path):
    """Addresses come as lists out of JSON; sockets want pairs."""
    with open(path, encoding="utf-8") as file:
        plan = json.load(file)
    plan["addresses"] = [tuple(address) for address in plan["addresses"]]
    return plan


def until_terminated():
    """Says whether SIGTERM has come."""
    came = []
    signal.signal(signal.SIGTERM, lambda *_: came.append(True))
    return lambda: bool(came)


if __name__ == "__main__":
    Client(load_plan(sys.argv[1]), int(sys.argv[2]), until_terminated()).run()
