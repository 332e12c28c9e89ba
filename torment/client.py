#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A client: takes a lock or a leadership, changes what it protects, lets go, again and again until SIGTERM.

usage: client.py PLAN NUMBER    PLAN: a JSON file: seed, histories, register, addresses, names

It is nearly as careful as `conclave lock`: it believes in a lock only once RENEW has said how long that lasts, stops a tenth
before the time is up by its own clock, and at once when it is told `lost` or its connection ends.

Every fifth client is plain: it speaks RESP2, which has no pushes, never says RENEW, and believes in its lock for as long as
its connection answers PING.

About half of them go by times to live: they show a secret, and go to another member when their own does not answer, as
`conclave lock` does (ttl_hold.py).
"""

import json
import random
import signal
import socket
import sys
import time

from history import History, now_us
from resp import Gone
from session import SECOND, Session, Silent
from ttl_hold import Over, TtlHold, Wish

WAIT_MS = 2000
TTL_MS = 1000
LOOK_US = SECOND // 2  # between RENEWs of a lock that lasts for ever
SURE = 0.9  # of the time that is left: safe if clocks are wrong by up to a tenth

ENDINGS = {"lock": ("LOCK", "UNLOCK"), "election": ("CAMPAIGN", "RESIGN")}


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


class Hold:
    """A lock that was granted: how long it surely lasts, and whether it still does."""

    def __init__(self, session, kind, name, grant):
        self.session, self.kind, self.name, self.fence = session, kind, name, grant.answer
        self.shared = "SHARED" in grant.words
        self.until_us = None  # None: for ever
        self.asked_us = self.renew_us = 0
        self.lost = False
        self.renewed(session.ask("RENEW", name, self.fence))
        if self.lost:
            raise Over("lost")
        self.history = session.history
        self.history.note("hold", name=name, kind=kind, fence=self.fence, shared=self.shared, node=session.node,
                          confirmed=self.asked_us, until=self.until_us)

    def renewed(self, call):
        self.lost = not isinstance(call.answer, int)
        if self.lost:
            return
        self.asked_us = call.asked_us
        if call.answer >= 0:
            self.until_us = call.asked_us + int(call.answer * 1000 * SURE)
        self.renew_us = call.asked_us + (call.answer * 1000 // 3 if call.answer >= 0 else LOOK_US)

    def rest(self, seconds):
        """Lets time pass, and handles answers meanwhile."""
        end_us = now_us() + int(seconds * SECOND)
        while True:
            moment = now_us()
            if self.until_us is not None and moment >= self.until_us:
                raise Over("lease")
            if moment >= self.renew_us:
                self.renew_us = sys.maxsize  # until the answer
                self.session.say("RENEW", self.name, self.fence, answered=self.renewed)
            something = self.session.attend(min(end_us, self.renew_us, self.until_us or end_us))
            if self.lost or ["lost", self.name, self.fence] in self.session.pushes:
                raise Over("lost")
            if not something and moment >= end_us:
                return

    def end(self, why):
        """The hold ended with its time, so later events do not count as its loss."""
        moment = now_us()
        self.history.note("end", name=self.name, kind=self.kind, fence=self.fence, why=why,
                          ended=moment if self.until_us is None else min(moment, self.until_us))


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


class Client:
    def __init__(self, plan, number):
        self.plan = plan
        self.who = f"client-{number}"
        self.random = random.Random(f"{plan['seed']} {number}")
        self.history = History(f"{plan['histories']}/{self.who}.jsonl", self.who)
        self.register = Register(plan["register"], self.who)
        self.home = (number - 1) % len(plan["addresses"])
        self.kind = "election" if number % 4 == 0 else "lock"
        self.plain = number % 5 == 0
        self.lasting = number % 3 != 1 and not self.plain
        self.stopping = False
        signal.signal(signal.SIGTERM, self.stop)

    def stop(self, *_):
        self.stopping = True

    def pick_node(self):
        count = len(self.plan["addresses"])
        return self.home if self.random.random() < 0.75 else self.random.randrange(count)

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

    def leave(self, session, hold):
        """This client is outside before any other can be told that the lock is free."""
        if self.random.random() < 0.03:
            hold.end("closed")
            raise Gone("closed without a word")
        hold.end("released")
        session.ask(*self.release(hold))

    def release(self, hold):
        command = ENDINGS[self.kind][1]
        return (command, hold.name, hold.fence) if self.kind == "lock" else (command, hold.name)

    def inside(self, session, name, grant):
        hold = None
        try:
            hold = (PlainHold if self.plain else Hold)(session, self.kind, name, grant)
            self.work(hold)
        except Over as over:
            if hold:
                hold.end(str(over))
                session.settle()
                session.ask(*self.release(hold))  # a late release does no harm
            return
        except (Gone, Silent) as error:
            if hold:
                hold.end("gone" if isinstance(error, Gone) else "silent")
            raise
        self.leave(session, hold)

    @staticmethod
    def pause(seconds):
        time.sleep(seconds)

    def hold_for_long(self, session):
        """Works for a while with a lock that outlasts the connection; false if that has ended meanwhile."""
        kind = "election" if self.random.random() < 0.2 else "lock"
        long = self.random.random() < 0.7  # of names that no other client waits for
        name = (self.random.choice(self.plan["names"]) if kind == "lock" else "leader") + (".lasting" if long else "")
        wish = Wish(self.random, kind, name, WAIT_MS)
        grant = session.ask(*wish.ask(), wait_ms=WAIT_MS)
        if not isinstance(grant.answer, list):
            time.sleep(0.1)
            return True
        hold = TtlHold(self, session, wish, grant)
        try:
            self.work(hold)
            if long:
                hold.rest(self.random.uniform(0.5, 5))
        except Over as over:
            hold.end(str(over))
        else:
            hold.end("released")
        hold.release()
        return hold.close()

    def one_round(self, session):
        session.pushes.clear()
        if self.lasting:
            if not self.hold_for_long(session):
                raise Gone("went elsewhere")
            time.sleep(self.random.uniform(0.005, 0.06))
            return
        name = self.random.choice(self.plan["names"]) if self.kind == "lock" else "leader"
        words = [ENDINGS[self.kind][0], name, "WAIT", WAIT_MS]
        if self.kind == "lock" and not self.plain and self.random.random() < 0.25:
            words += ["TTL", TTL_MS]
        if self.kind == "lock" and self.random.random() < 0.4:
            words.append("SHARED")
        grant = session.ask(*words, wait_ms=WAIT_MS)
        if isinstance(grant.answer, int):
            self.inside(session, name, grant)
        pause = self.random.uniform(0.005, 0.06)
        time.sleep(pause if isinstance(grant.answer, int) else pause + 0.1)

    def one_session(self):
        node = self.pick_node()
        session = None
        why = "gone"
        try:
            session = Session(self.history, node + 1, self.plan["addresses"][node], 2 if self.plain else 3)
            for _ in range(self.random.randint(5, 60)):
                if self.stopping:
                    break
                self.one_round(session)
        except Gone:
            time.sleep(self.random.uniform(0.05, 0.4))
        except Silent:
            why = "silent"
        if session:
            session.close(why)

    def run(self):
        while not self.stopping:
            self.one_session()
        self.history.note("done")


def load_plan(path):
    """Addresses come as lists out of JSON; sockets want pairs."""
    with open(path, encoding="utf-8") as file:
        plan = json.load(file)
    plan["addresses"] = [tuple(address) for address in plan["addresses"]]
    return plan


if __name__ == "__main__":
    Client(load_plan(sys.argv[1]), int(sys.argv[2])).run()
