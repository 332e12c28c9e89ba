# SPDX-License-Identifier: MIT
"""What all clients have in common: one session after the other, mostly at their own node, until they are stopped; and what
they do with a lock that was granted."""

import random
import time

from history import History
from hold import Hold
from resp import Gone
from session import Session, Silent
from ttl_hold import Over, TtlHold

WAIT_MS = 2000


class Visitor:
    """A client with a history of its own. `one_round` says what it does, again and again."""

    protocol = 3
    whole = False  # its history has every word and every answer

    def __init__(self, plan, who, home, stopping):
        """`home`: its own node, from 0 on; `stopping`: called, says whether it is time to end."""
        self.plan, self.who, self.home, self.stopping = plan, who, home, stopping
        self.random = random.Random(f"{plan['seed']} {who}")
        self.history = History(f"{plan['histories']}/{who}.jsonl", who)

    def pick_node(self):
        count = len(self.plan["addresses"])
        return self.home if self.random.random() < 0.75 else self.random.randrange(count)

    @staticmethod
    def pause(seconds):
        time.sleep(seconds)

    def one_round(self, session):
        raise NotImplementedError

    def one_session(self):
        node = self.pick_node()
        session = None
        why = "gone"
        try:
            session = Session(self.history, node + 1, self.plan["addresses"][node], self.protocol, whole=self.whole)
            for _ in range(self.random.randint(5, 60)):
                if self.stopping():
                    break
                session.pushes.clear()
                self.one_round(session)
        except Gone:
            time.sleep(self.random.uniform(0.05, 0.4))
        except Silent:
            why = "silent"
        if session:
            session.close(why)

    def run(self):
        while not self.stopping():
            self.one_session()
        self.history.note("done")


class Holder(Visitor):
    """A client that takes locks. `work` says what it does with one."""

    kind = "lock"

    def work(self, hold):
        raise NotImplementedError

    def believe(self, session, name, grant):
        return Hold(session, self.kind, name, grant)

    def release(self, name, fence):
        return ("UNLOCK", name, fence) if self.kind == "lock" else ("RESIGN", name)

    def leave(self, session, hold):
        """This client is outside before any other can be told that the lock is free."""
        if self.random.random() < 0.03:
            hold.end("closed")
            raise Gone("closed without a word")
        hold.end("released")
        session.ask(*self.release(hold.name, hold.fence))

    def inside(self, session, name, grant):
        hold = None
        try:
            hold = self.believe(session, name, grant)
            self.work(hold)
        except Over as over:
            if hold:
                hold.end(str(over))
            session.settle()
            session.ask(*self.release(name, hold.fence if hold else grant.answer))  # a late release does no harm
            return
        except (Gone, Silent) as error:
            if hold:
                hold.end("gone" if isinstance(error, Gone) else "silent")
            raise
        self.leave(session, hold)

    def outlast(self, session, wish, longest_s):
        """Works for a while with a lock that outlasts the connection. The session that it was granted in may end meanwhile."""
        grant = session.ask(*wish.ask(), wait_ms=wish.wait_ms)
        if not isinstance(grant.answer, list):
            time.sleep(0.1)
            return
        hold = TtlHold(self, session, wish, grant)
        try:
            self.work(hold)
            if longest_s:
                hold.rest(self.random.uniform(0.5, longest_s))
        except Over as over:
            hold.end(str(over))
        else:
            hold.end("released")
        hold.release()
        if not hold.close():
            raise Gone("went elsewhere")
