# SPDX-License-Identifier: MIT
"""A lock with a time to live and a secret, which outlives its node: renewed at any member, claimed after all have forgotten it.

The client believes in it until its time to live is over by its own clock, counted from when it asked, less a tenth. Until
then no node may tell it that the lock is lost: `ttl-holds-last` of judge.py.
"""

import secrets

from history import now_us
from resp import Gone
from session import SECOND, Session, Silent

TTLS_MS = (1000, 5000, 5000)
SURE = 0.9  # of the time that is left: safe if clocks are wrong by up to a tenth
RENEWED_AFTER = 0.3  # of the time to live
PATIENCE = 0.25  # of the time to live: after that long without an answer, another member is asked


class Over(Exception):
    """The hold is over: why."""


class Wish:
    """The commands for a node: LOCK or CAMPAIGN, then RENEW, and UNLOCK or RESIGN."""

    def __init__(self, random, kind, name, wait_ms, permits=0):
        """`permits`: of a semaphore; 0 if it is none."""
        self.kind, self.name, self.wait_ms, self.permits = kind, name, wait_ms, permits
        self.ttl_ms = random.choice(TTLS_MS)
        self.shared = kind == "lock" and not permits and random.random() < 0.4
        self.secret = secrets.token_hex(16)

    def way(self):
        """How it is held: beside whom."""
        return [*(["SHARED"] if self.shared else []), *(["PERMITS", self.permits] if self.permits else [])]

    def ask(self):
        return ("LOCK" if self.kind == "lock" else "CAMPAIGN", self.name, "WAIT", self.wait_ms, "TTL", self.ttl_ms,
                "SECRET", self.secret, "DEADLINE", *self.way())

    def renew(self, fence):
        return ("RENEW", self.name, fence, "SECRET", self.secret, "TTL", self.ttl_ms, *self.way(),
                *(["LEADER"] if self.kind == "election" else []))

    def release(self, fence):
        return ("UNLOCK" if self.kind == "lock" else "RESIGN", self.name, fence, "SECRET", self.secret)


class TtlHold:
    def __init__(self, client, session, wish, grant):
        """`client`: its history, random and addresses; `grant`: the call that was answered with the fence and the time."""
        self.client, self.session, self.wish = client, session, wish
        self.name, self.kind, self.shared = wish.name, wish.kind, wish.shared
        self.fence, left_ms = grant.answer
        self.own = False  # the session belongs to this hold alone: the session of the grant has ended
        self.renewal = None  # the RENEW that is not answered yet
        self.lost = self.released = False
        self.until_us = grant.asked_us + int(left_ms * 1000 * SURE)
        self.renew_us = grant.answered_us + int(wish.ttl_ms * 1000 * RENEWED_AFTER)
        client.history.note("hold", name=self.name, kind=self.kind, fence=self.fence, shared=self.shared, node=session.node,
                            confirmed=grant.asked_us, until=self.until_us, ttl_ms=wish.ttl_ms,
                            **({"permits": wish.permits} if wish.permits else {}))

    # ---- renewals ----

    def renewed(self, call):
        """Handles an answer. An error such as `NOQUORUM` is none. nil means that the hold is lost, which is allowed
        only after its time."""
        self.renewal = None
        self.renew_us = now_us() + SECOND // 50
        if call.answer is None:
            self.lost = True
        elif isinstance(call.answer, int):
            if self.own:
                self.client.history.note("moved", name=self.name, fence=self.fence, node=self.session.node)
            self.until_us = call.asked_us + int(call.answer * 1000 * SURE)
            self.renew_us = call.asked_us + int(self.wish.ttl_ms * 1000 * RENEWED_AFTER)

    def move(self, why):
        """Asks any other member; there may be none at the moment."""
        if self.own and self.session:
            self.session.close(why)
        self.own, self.renewal, self.session = True, None, None
        node = self.client.random.randrange(len(self.client.plan["addresses"]))
        try:
            self.session = Session(self.client.history, node + 1, self.client.plan["addresses"][node],
                                   patience_s=self.patience_us() / SECOND, whole=self.client.whole)
        except (Gone, Silent):
            self.renew_us = now_us() + SECOND // 20
            return
        self.renew_us = 0

    def patience_us(self):
        return int(self.wish.ttl_ms * 1000 * PATIENCE)

    def renew(self, moment):
        if not self.session:
            self.move("gone")
        elif self.renewal and moment >= self.renewal.asked_us + self.patience_us():
            self.move("left")
        elif not self.renewal and moment >= self.renew_us:
            self.renewal = self.session.say(*self.wish.renew(self.fence), answered=self.renewed)

    # ---- time ----

    def attend(self, end_us):
        moment = now_us()
        due_us = self.renewal.asked_us + self.patience_us() if self.renewal else self.renew_us
        until_us = max(moment, min(end_us, due_us, self.until_us))
        if not self.session:
            self.client.pause((until_us - moment) / SECOND)
            return
        try:
            self.session.attend(until_us)
        except Gone:
            self.move("gone")
        except Silent:
            self.move(self.session.silence)

    def rest(self, seconds):
        """Lets time pass, and handles answers meanwhile."""
        end_us = now_us() + int(seconds * SECOND)
        while True:
            moment = now_us()
            if self.lost or self.session and ["lost", self.name, self.fence] in self.session.pushes:
                raise Over("lost")
            if moment >= self.until_us:
                raise Over("lease")
            if moment >= end_us:
                return
            try:
                self.renew(moment)
            except Gone:
                self.move("gone")
            self.attend(end_us)

    # ---- the end ----

    def end(self, why):
        moment = now_us()
        self.client.history.note("end", name=self.name, kind=self.kind, fence=self.fence, why=why,
                                 ended=min(moment, self.until_us), ttl_ms=self.wish.ttl_ms, until=self.until_us)

    def release(self):
        """Gives the lock back, by the first member that answers. A command without an answer may have been carried out."""
        for attempt in range(4):
            try:
                if not self.session:
                    self.move("gone")
                if self.session:
                    self.session.settle()
                    call = self.session.ask(*self.wish.release(self.fence))
                    if isinstance(call.answer, int):
                        self.client.history.note("let-go", name=self.name, fence=self.fence, count=call.answer, again=attempt,
                                                 until=self.until_us)
                        return
            except (Gone, Silent) as error:
                self.move("gone" if isinstance(error, Gone) else self.session.silence)
            self.client.pause(0.05)

    def close(self):
        """True if the session that it was granted in is still good."""
        if self.own and self.session:
            self.session.close()
        return not self.own
