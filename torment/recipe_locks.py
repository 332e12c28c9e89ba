# SPDX-License-Identifier: MIT
"""Clients of the recipes that hold something: semaphores, several names at once, locks taken again, sharers that upgrade.

They are as careful as client.py's. recipe_judge.py judges what they saw.
"""

import time

from client import Register
from history import now_us
from hold import Hold
from resp import Gone
from session import SECOND, Silent
from ttl_hold import Over, Wish
from visitor import WAIT_MS, Holder

PERMITS = 3
SCENE_S = 3  # for so long all players of a recipe use the same name


class Player(Holder):
    whole = True

    def scene(self):
        """A number that is the same for all players at a time."""
        return now_us() // (SCENE_S * SECOND)

    def name(self, suffix):
        """Of a lock by every algorithm in turn."""
        names = self.plan["names"]
        return f"{names[self.scene() % len(names)]}.{suffix}"

    def ask(self, session, *words, wait_ms=0):
        """A call that lasts until the group serves, if it does not."""
        return session.ask(*words, wait_ms=wait_ms + int(self.plan["serve_s"] * 1000))

    def draw(self, chance):
        return self.random.random() < chance

    def think(self, most_s=0.05):
        time.sleep(self.random.uniform(0.002, most_s))


class Semaphore(Player):
    """Takes one of the permits, or now and then all of them; half of the players go by times to live."""

    def work(self, hold):
        hold.rest(self.random.uniform(0.002, 0.04))
        if self.draw(0.05):
            hold.rest(self.random.uniform(0.3, 1.0))

    def one_round(self, session):
        name = self.name("semaphore")
        alone = self.draw(0.08)
        if self.home % 2 and not alone:
            self.outlast(session, Wish(self.random, "lock", name, WAIT_MS, PERMITS), 1.5 if self.draw(0.1) else 0)
        else:
            words = [] if alone else ["PERMITS", PERMITS]
            grant = session.ask("LOCK", name, "WAIT", WAIT_MS, *words, wait_ms=WAIT_MS)
            if isinstance(grant.answer, int):
                self.inside(session, name, grant)
        self.think()


class Reentrant(Player):
    """Takes a lock two or three times, and gives it back as often: only the last UNLOCK frees it."""

    def work(self, hold):
        try:
            self.again_and_again(hold)
        except Over as over:
            raise Gone("it may have to be given back several times") from over

    def again_and_again(self, hold):
        more = self.random.randint(1, 2)
        for _ in range(more):
            hold.rest(self.random.uniform(0.001, 0.01))
            hold.session.settle()
            again = hold.session.ask("LOCK", hold.name, "REENTRANT", "WAIT", WAIT_MS, wait_ms=WAIT_MS)
            self.check(hold, again)
        for _ in range(more):
            hold.rest(self.random.uniform(0.001, 0.02))
            hold.session.settle()
            hold.session.ask("UNLOCK", hold.name, hold.fence)
        hold.rest(self.random.uniform(0.001, 0.02))

    def check(self, hold, again):
        """The judge compares the fences. Another one is good only if the hold was lost meanwhile."""
        lost = ["lost", hold.name, hold.fence] in hold.session.pushes
        self.history.note("again", name=hold.name, fence=hold.fence, got=again.result(), lost=lost)
        if again.answer != hold.fence:
            raise Over("lost")

    def one_round(self, session):
        name = self.name("reentrant")
        grant = session.ask("LOCK", name, "WAIT", WAIT_MS, "REENTRANT", wait_ms=WAIT_MS)
        if isinstance(grant.answer, int):
            self.inside(session, name, grant)
        self.think()


def lock_all_names(names):
    """The names that LockAll draws from; the driver asks for all of them."""
    return [f"{name}.all" for name in names] + [f"{names[0]}.all-2"]


class LockAll(Player):
    """Takes several of a few names at once, in any order."""

    def one_round(self, session):
        names = lock_all_names(self.plan["names"])
        wanted = self.random.sample(names, self.random.randint(2, min(3, len(names))))
        ttl = ["TTL", 1000] if self.draw(0.3) else []
        grant = session.ask("LOCKALL", "WAIT", 2 * WAIT_MS, *ttl, *wanted, wait_ms=2 * WAIT_MS)
        if isinstance(grant.answer, list):
            self.inside_all(session, wanted, grant)
        elif self.draw(0.3):
            self.look(session, wanted[0])
        self.think()

    def inside_all(self, session, names, grant):
        holds, why = [], "released"
        try:
            for name, fence in zip(names, grant.answer):
                holds.append(Hold(session, "lock", name, grant, fence))
            for hold in holds:
                hold.rest(self.random.uniform(0.001, 0.02))
            if self.draw(0.03):
                raise Gone("closed without a word")
        except Over as over:
            why = str(over)
        except (Gone, Silent) as error:
            self.end(holds, "gone" if isinstance(error, Gone) else "silent")
            raise
        self.end(holds, why)
        session.settle()
        for name, fence in zip(names, grant.answer):
            session.ask("UNLOCK", name, fence)

    @staticmethod
    def end(holds, why):
        for hold in holds:
            hold.end(why)

    def look(self, session, name):
        """None of the names was left to this connection: it may wait for them."""
        grant = session.ask("LOCK", name, "WAIT", 0)
        if isinstance(grant.answer, int):
            session.ask("UNLOCK", name, grant.answer)


class Upgrade(Player):
    """Reads as a sharer, becomes the only holder, writes, becomes a sharer again, reads."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.register = Register(self.plan["register"], self.who)

    def one_round(self, session):
        name = self.name("upgrade")
        shared = [] if self.draw(0.2) else ["SHARED"]
        grant = session.ask("LOCK", name, "WAIT", WAIT_MS, *shared, wait_ms=WAIT_MS)
        if isinstance(grant.answer, int):
            self.inside(session, name, grant)
        self.think()

    def work(self, hold):
        if not hold.shared:
            self.rewrite(hold)
            return
        self.read_twice(hold)
        if self.draw(0.6) and self.upgrade(hold):
            self.rewrite(hold)
            if self.draw(0.7):
                self.downgrade(hold)
                self.read_twice(hold)

    def rewrite(self, hold):
        hold.rest(0)
        seen = self.register.read(hold)
        hold.rest(self.random.uniform(0.001, 0.01))
        if seen["accepted"]:
            self.register.write(hold.name, hold.fence, seen["tag"], hold.until_us)

    def read_twice(self, hold):
        hold.rest(0)
        self.register.read(hold)
        hold.rest(self.random.uniform(0.001, 0.02))
        self.register.read(hold)

    def upgrade(self, hold):
        """It is a sharer until it is answered with a fence, and remains one if it is not. It cannot renew meanwhile."""
        wait_ms = self.random.choice([0, 100, 500, 1000])
        hold.session.settle()
        call = hold.session.ask("UPGRADE", hold.name, hold.fence, "WAIT", wait_ms, wait_ms=wait_ms)
        if isinstance(call.answer, int):
            self.change(hold, call, False, call.answered_us)
            return True
        self.renew(hold)
        return False

    def downgrade(self, hold):
        """From when it asks it is at least a sharer; and no more than one, as others may come in at any moment."""
        hold.session.settle()
        hold.rest(0)
        call = hold.session.ask("DOWNGRADE", hold.name, hold.fence)
        if not isinstance(call.answer, int):
            raise Over("lost")
        self.change(hold, call, True, call.asked_us)

    @staticmethod
    def renew(hold):
        """What is held now has been held by this fence all the time."""
        hold.renewed(hold.session.ask("RENEW", hold.name, hold.fence))
        if hold.lost:
            raise Over("lost")

    def change(self, hold, call, shared, ended_us):
        """One hold ends, and another begins: to share when it asked, to be alone when that is confirmed."""
        before = hold.fence
        self.history.note("end", name=hold.name, kind="lock", fence=before, why="changed",
                          ended=ended_us if hold.until_us is None else min(ended_us, hold.until_us))
        hold.fence, hold.shared = call.answer, shared
        self.history.note("changed", name=hold.name, before=before, fence=hold.fence, shared=shared)
        self.renew(hold)
        since = {"since": call.asked_us} if shared else {}
        self.history.note("hold", name=hold.name, kind="lock", fence=hold.fence, shared=shared, node=hold.session.node,
                          confirmed=hold.asked_us, until=hold.until_us, **since)
