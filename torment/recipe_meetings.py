# SPDX-License-Identifier: MIT
"""Clients of the recipes in which nobody holds a lock: numbers, latches, work done once, barriers, members.

What they say and what they are told is all that recipe_judge.py needs.
"""

from recipe_locks import Player
from resp import Gone
from session import SECOND
from history import now_us

PARTIES = 3
LATCH_COUNT = 4
HOUR_MS = 3600 * 1000
SHORT_MS = 2000


class Sequence(Player):
    def one_round(self, session):
        count = self.random.choice([1, 1, 1, 2, 10, 100])
        self.ask(session, "SEQUENCE", self.name("sequence"), *([count] if count > 1 else []))
        self.think(0.03)


class Latch(Player):
    """A latch for each scene: one player sets it, all count it down and wait for it, much later its setter clears it."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.set = []  # the scenes whose latches it has to clear

    def name_of(self, scene):
        return f"{self.plan['names'][scene % len(self.plan['names'])]}.latch-{scene}"

    def one_round(self, session):
        scene = self.scene()
        name = self.name_of(scene)
        if scene % len(self.plan["addresses"]) == self.home and scene not in self.set:
            self.set.append(scene)  # even if it is never known whether that was done
            self.ask(session, "LATCH", name, "SET", LATCH_COUNT)
        choice = self.random.random()
        if choice < 0.15:
            self.ask(session, "LATCH", name, "DOWN", *([2] if self.draw(0.3) else []))
        elif choice < 0.6:
            wait_ms = self.random.choice([0, 100, 1000])
            self.ask(session, "LATCH", name, "AWAIT", "WAIT", wait_ms, wait_ms=wait_ms)
        else:
            self.ask(session, "LATCH", name)
        self.think(0.2)
        if self.set and self.set[0] < scene - 4:
            self.ask(session, "LATCH", self.name_of(self.set[0]), "CLEAR")
            self.set.pop(0)


class Once(Player):
    """Work for an hour that is new in each scene, and work that is to be done every two seconds."""

    def one_round(self, session):
        if self.draw(0.5):
            name, every_ms = self.name(f"once-{self.scene()}"), HOUR_MS
        else:
            name, every_ms = f"{self.plan['names'][0]}.often", SHORT_MS
        turn = self.ask(session, "ONCE", name, "EVERY", every_ms)
        if isinstance(turn.answer, int):
            self.think(0.3)
            if self.draw(0.25):
                raise Gone("went without a word")
            self.ask(session, "ONCE", name, "DONE", turn.answer)
        elif self.draw(0.2):
            self.ask(session, "ONCE", name)
        self.think(0.3)


class Barrier(Player):
    """Meets the others; now and then goes away while it waits."""

    def arrive(self, session, *words):
        """The number of the meeting; None if it was not to be."""
        wait_ms = self.random.choice([50, 400, 1500])
        call = session.say("BARRIER", *words, "WAIT", wait_ms, wait_ms=wait_ms + int(self.plan["serve_s"] * 1000))
        if self.draw(0.03):
            session.attend(now_us() + SECOND // 20)
            raise Gone("went away while it waited")
        session.settle()
        return call.answer if isinstance(call.answer, int) else None

    def one_round(self, session):
        self.arrive(session, self.name("barrier"), PARTIES)
        self.think()


class DoubleBarrier(Barrier):
    """Enters together, and leaves together with whoever is left."""

    def one_round(self, session):
        name = self.name("double")
        if self.arrive(session, name, PARTIES, "ENTER") is None:
            self.think()
            return
        self.think(0.1)
        for _ in range(3):
            if self.arrive(session, name, "LEAVE") is not None:
                self.think()
                return
        raise Gone("does not wait for the others any longer")


class Members(Player):
    """Joins, looks who is there, leaves."""

    def one_round(self, session):
        name = f"{self.plan['names'][0]}.members"
        joined = self.ask(session, "MEMBERS", name, "JOIN", "VALUE", self.who)
        if isinstance(joined.answer, int):
            for _ in range(self.random.randint(1, 4)):
                self.think(0.1)
                self.ask(session, "MEMBERS", name)
            if self.draw(0.05):
                raise Gone("left without a word")
            self.ask(session, "MEMBERS", name, "LEAVE")
        self.think()
        self.ask(session, "MEMBERS", name)
