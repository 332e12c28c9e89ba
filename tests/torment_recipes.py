# SPDX-License-Identifier: MIT
"""The campaign's judge of recipes, with invented histories: good ones pass, and every kind of bad one is caught."""

import sys

sys.dont_write_bytecode = True

from torment import SECOND, Story, good  # noqa: E402

UNANSWERED = "gone"


class Tale(Story):
    """A history of recipes. Every story has locks, too, so that there is progress."""

    def __init__(self):
        super().__init__()
        self.events = good().events
        self.calls = 100
        self.tell(0, "driver", "run", epoch=0)

    def say(self, asked, answered, who, result, command, name, *words):
        """A call and its answer. `result`: UNANSWERED, a refusal, or what the answer is."""
        outcome = (UNANSWERED if result == UNANSWERED else "refused" if isinstance(result, str) else
                   "nil" if result is None else "granted" if command == "LOCK" else "done")
        fence = {"fence": result, "shared": "SHARED" in words} if outcome == "granted" else {}
        return self.call(asked, answered, who, command, outcome, name=name, words=[name, *words], result=result, **fence)

    def keep(self, begin, end, who, fence, **more):
        """A hold, confirmed at once."""
        self.tell(begin, who, "hold", name="s", kind="lock", fence=fence, node=1, shared=False,
                  confirmed=int((begin - 0.01) * SECOND), until=None, **more)
        return self.tell(end, who, "end", name="s", kind="lock", fence=fence, why="released", ended=int(end * SECOND))

    def holds(self):
        assert not self.violated(), [verdict for verdict in self.judge() if verdict.verdict == "violated"]

    def breaks(self, *names):
        assert self.violated() == set(names), (self.violated(), names)


def permit(tale, begin, end, who, fence):
    tale.say(begin - 0.2, begin - 0.1, who, fence, "LOCK", "s", "PERMITS", 2)
    return tale.keep(begin, end, who, fence, permits=2)


def semaphores():
    pair = permit(permit(Tale(), 10, 12, "x", 5), 11, 13, "y", 6)
    pair.holds()
    permit(permit(permit(Tale(), 10, 12, "x", 5), 11, 13, "y", 6), 12.3, 14, "z", 7).holds()
    permit(permit(permit(Tale(), 10, 12, "x", 5), 11, 13, "y", 6), 11.5, 14, "z", 7).breaks("permits-kept")
    # The longest of the earlier ones count, not the latest.
    many = permit(permit(Tale(), 10, 20, "x", 5), 11, 20, "y", 6)
    permit(many, 15, 15.5, "z", 7).breaks("permits-kept")
    # A client that takes all of them is alone.
    permit(Tale(), 10, 12, "x", 5).keep(11, 13, "y", 6).breaks("permits-kept")
    permit(Tale(), 10, 12, "x", 5).keep(12.1, 13, "y", 6).holds()
    # Fences rise in the order of grants. In which order they are confirmed does not matter.
    permit(permit(Tale(), 10, 12, "x", 6), 11, 13, "y", 5).breaks("fences-rise")
    crossed = Tale().say(9, 9.5, "x", 5, "LOCK", "s", "PERMITS", 2).say(9, 9.5, "y", 6, "LOCK", "s", "PERMITS", 2)
    crossed.keep(10, 12, "y", 6, permits=2).keep(11, 13, "x", 5, permits=2).holds()
    permit(permit(Tale(), 10, 10.5, "x", 5), 11, 13, "y", 5).breaks("fences-rise", "fences-unique")


def several_names():
    names = ("WAIT", 100, "TTL", 1000, "a1", "a2")

    def tale(result, *wanted):
        return Tale().call(10, 11, "lock-all-1", "LOCKALL", "done" if result else "nil", name="WAIT", words=list(wanted), result=result)

    tale([5, 6], *names).holds()
    tale(None, *names).holds()
    tale([5], *names).breaks("all-or-none")
    tale([5, None], "a1", "a2").breaks("all-or-none")
    tale(None, *names).say(12, 13, "lock-all-1", "HELD already", "LOCK", "a1", "WAIT", 0).breaks("all-or-none")
    # Nobody has any of the names, and yet it waits.
    def waits(fault=1, recovered=2):
        return Tale().tell(fault, "driver", "fault", action="kill").tell(recovered, "driver", "recovered", first_ms=1).call(
            10, 14, "lock-all-1", "LOCKALL", "nil", name="WAIT", words=["WAIT", 4000, "s", "a2"], result=None)

    waits().breaks("no-deadlock")
    waits().keep(9, 10.5, "x", 5).breaks("no-deadlock")
    waits().keep(9, 11.5, "x", 5).holds()
    waits().keep(12, 13, "x", 5).holds()
    waits(fault=9, recovered=9.1).holds()
    waits(recovered=12).holds()
    waits().tell(12, "y", "end", name="b", fence=1, kind="lock", why="lease", ended=12 * SECOND).holds()
    # Every one of the fences counts.
    tale([5, 6], *names).say(12, 13, "x", 6, "LOCK", "a2").breaks("fences-unique", "fences-rise")
    tale([5, 6], *names).say(12, 13, "x", 6, "LOCK", "a1").holds()


def taken_again():
    def tale(got, lost=False):
        return (Tale().say(10, 11, "x", 5, "LOCK", "s", "REENTRANT").say(11.2, 11.3, "x", got, "LOCK", "s", "REENTRANT")
                .tell(11.4, "x", "again", name="s", fence=5, got=got, lost=lost))

    tale(5).holds()
    tale(6).breaks("same-fence-again")
    tale(None).breaks("same-fence-again")
    tale(6, lost=True).holds()
    tale("NOQUORUM").holds()
    Tale().say(10, 11, "x", 5, "LOCK", "s", "REENTRANT").say(12, 13, "y", 5, "LOCK", "s", "REENTRANT").breaks(
        "fences-unique", "fences-rise")


def upgrades():
    def tale(seen="t", downgraded_to=7, read_then="u"):
        """A sharer reads t, upgrades, reads, writes u, downgrades, reads."""
        story = Tale().say(10, 10.1, "x", 5, "LOCK", "s", "SHARED")
        story.tell(10.2, "x", "hold", name="s", kind="lock", fence=5, node=1, shared=True, confirmed=int(10.1 * SECOND), until=None)
        order(story, 10.3, "read", 5, seen="t", shared=True)
        story.say(10.4, 11, "x", 7, "UPGRADE", "s", 5, "WAIT", 1000)
        story.tell(11, "x", "end", name="s", kind="lock", fence=5, why="changed", ended=11 * SECOND)
        story.tell(11.01, "x", "changed", name="s", before=5, fence=7, shared=False)
        story.tell(11.1, "x", "hold", name="s", kind="lock", fence=7, node=1, shared=False, confirmed=int(11.05 * SECOND), until=None)
        order(story, 11.2, "read", 7, seen=seen)
        order(story, 11.3, "write", 7, base=seen, tag="u")
        story.say(11.5, 11.7, "x", downgraded_to, "DOWNGRADE", "s", 7)
        story.tell(11.71, "x", "end", name="s", kind="lock", fence=7, why="changed", ended=int(11.5 * SECOND))
        story.tell(11.72, "x", "changed", name="s", before=7, fence=downgraded_to, shared=True)
        story.tell(11.8, "x", "hold", name="s", kind="lock", fence=downgraded_to, node=1, shared=True,
                   confirmed=int(11.75 * SECOND), until=None, since=int(11.5 * SECOND))
        order(story, 11.9, "read", downgraded_to, seen=read_then, shared=True)
        return story.tell(12.5, "x", "end", name="s", kind="lock", fence=downgraded_to, why="released", ended=int(12.5 * SECOND))

    def order(story, at, what, fence, **facts):
        """The register had t before."""
        if what == "read":
            facts.setdefault("shared", False)
        story.tell(at, "register", what, name="s", fence=fence, accepted=True, by="x", **facts)

    def first_write(story):
        return story.tell(9, "register", "write", name="s", fence=1, accepted=True, by="w", base=None, tag="t")

    def other(story, begin, end, fence, shared):
        story.tell(begin, "y", "hold", name="s", kind="lock", fence=fence, node=2, shared=shared,
                   confirmed=int((begin - 0.01) * SECOND), until=None)
        return story.tell(end, "y", "end", name="s", kind="lock", fence=fence, why="released", ended=int(end * SECOND))

    first_write(tale()).holds()
    first_write(tale(downgraded_to=8)).holds()
    first_write(tale(downgraded_to=6)).breaks("fences-rise", "no-stale-fence")
    # Somebody wrote while it waited to upgrade, or while it became a sharer.
    assert "changes-keep" in first_write(tale(seen="v")).violated()
    assert "changes-keep" in first_write(tale(read_then="v")).violated()
    # Alone means without sharers; sharers may come in as soon as it asks to share.
    other(first_write(tale()), 10.8, 10.95, 6, True).holds()
    other(first_write(tale()), 10.8, 11.4, 6, True).breaks("exclusion")
    other(first_write(tale()), 11.55, 11.8, 8, True).holds()
    other(first_write(tale()), 11.55, 11.6, 8, False).breaks("exclusion")
    # Two that upgrade: one is refused.
    busy = Tale().say(10, 12, "x", 7, "UPGRADE", "s", 5, "WAIT", 1000)
    busy.say(11, 11.1, "y", "UPGRADING by another", "UPGRADE", "s", 6, "WAIT", 0).holds()
    busy.say(13, 13.1, "y", "UPGRADING by another", "UPGRADE", "s", 6, "WAIT", 0).breaks("upgrades-refused")


def sequences():
    def tale(first, second, asked=12):
        return Tale().say(10, 11, "x", first, "SEQUENCE", "s", 10).say(asked, 13, "y", second, "SEQUENCE", "s")

    tale(100, 110).holds()
    tale(100, 105).breaks("numbers-unique", "numbers-rise")
    tale(100, 99).breaks("numbers-rise")
    tale(100, 99, asked=10.5).holds()
    tale(100, 109, asked=10.5).breaks("numbers-unique")
    Tale().say(10, 11, "x", 5, "SEQUENCE", "s").say(12, 13, "y", 5, "SEQUENCE", "t").holds()


def latches():
    def tale(*answers, count=3, set_as=1):
        story = Tale().say(9, 9.1, "w", set_as, "LATCH", "s", "SET", count)
        for asked, answered, result, *words in answers:
            story.say(asked, answered, "x", result, "LATCH", "s", *words)
        return story

    down = [(10 + i, 10.5 + i, 2 - i, "DOWN") for i in range(3)]
    tale(*down, (13, 13.1, 0, "AWAIT"), (14, 14.1, 0)).holds()
    tale(*down[:2], (12, 14, 0, "AWAIT", "WAIT", 9000), (13, 13.5, 0, "DOWN")).holds()
    tale(*down[:2], (12, 13, None, "AWAIT", "WAIT", 0), (12, 13, 1)).holds()
    tale((10, 11, 1, "DOWN", 2), (12, 13, 0, "DOWN", 2)).holds()
    # It opens early, a count is lost, a count is counted twice.
    tale(*down[:2], (12, 13, 0, "AWAIT")).breaks("latches")
    tale(*down[:2], (12, 13, 2)).breaks("latches")
    tale(*down[:1], (12, 13, 0, "DOWN")).breaks("latches")
    tale(*down[:1], (12, 13, 2, "DOWN")).breaks("latches")
    # Without an answer it may have been counted, at any time, or not.
    lost = [*down[:1], (11, 12, UNANSWERED, "DOWN")]
    tale(*lost, (13, 14, 2)).holds()
    tale(*lost, (13, 14, 1)).holds()
    tale(*lost, (13, 14, 0)).breaks("latches")
    # It closes, or does not let through, or is forgotten.
    tale(*down, (13, 14, 1)).breaks("latches")
    tale(*down, (13, 14, None, "AWAIT")).breaks("latches")
    tale(*down, (13, 14, None, "AWAIT")).tell(12.5, "driver", "fault", action="kill").holds()
    tale(*lost, (11.5, 12.5, 0, "DOWN", 2), (13, 14, 1)).breaks("latches")
    tale(*down[:1], (12, 13, "NOLATCH")).breaks("latches")
    tale(*down[:1], (12, 13, None)).breaks("latches")
    tale((12, 13, "NOLATCH"), set_as=UNANSWERED).holds()
    tale(*down[:1], (12, 12.1, 1, "CLEAR"), (12.2, 13, "NOLATCH")).holds()
    tale(*down[:1], (12, 12.5, "NOQUORUM", "DOWN"), (13, 14, 2)).holds()


def once():
    def run(story, begin, end, who, fence, every_ms=3600000, done=1):
        story.say(begin - 0.1, begin, who, fence, "ONCE", "s", "EVERY", every_ms)
        return story if end is None else story.say(end, end + 0.1, who, done, "ONCE", "s", "DONE", fence)

    run(Tale(), 10, 11, "x", 5).say(12, 13, "y", None, "ONCE", "s", "EVERY", 3600000).holds()
    run(run(Tale(), 10, None, "x", 5), 12, 13, "y", 6).holds()
    run(run(Tale(), 10, 14, "x", 5, done=0), 12, 13, "y", 6).holds()
    run(run(Tale(), 10, 11, "x", 5), 12, 13, "y", 6).breaks("done-once")
    run(run(Tale(), 10, 11, "x", 5), 7300, 7301, "y", 6).holds()
    run(run(Tale(), 10, 11, "x", 5, 2000), 12.5, 13, "y", 6, 2000).holds()
    run(run(Tale(), 10.3, 10.5, "x", 5, 2000), 11, 13, "y", 6, 2000).breaks("done-once")
    run(run(Tale(), 10.3, 10.5, "x", 5, 2000), 12.05, 13, "y", 6, 2000).holds()  # it may be the one period or the other
    # In the next period, but the first is still at it.
    run(run(Tale(), 10.3, 13, "x", 5, 2000), 12.5, 14, "y", 6, 2000).breaks("done-once")
    Tale().say(10, 11, "y", None, "ONCE", "s", "EVERY", 3600000).breaks("done-once")
    Tale().say(9, 9.5, "x", UNANSWERED, "ONCE", "s", "EVERY", 3600000).say(10, 11, "y", None, "ONCE", "s", "EVERY", 3600000).holds()


def barriers():
    def meeting(story, number, *members):
        for who, asked, passed, *result in members:
            story.say(asked, passed, who, result[0] if result else number, "BARRIER", "s", 3)
        return story

    all_three = [("x", 10, 13), ("y", 11, 13.1), ("z", 12, 13.2)]
    meeting(Tale(), 1, *all_three).holds()
    meeting(meeting(Tale(), 1, *all_three), 2, ("x", 14, 15), ("y", 14, 15), ("w", 14, 15)).holds()
    meeting(meeting(Tale(), 2, *all_three), 1, ("x", 14, 15), ("y", 14, 15), ("w", 14, 15)).breaks("numbers-rise")
    meeting(Tale(), 1, *all_three[:2]).breaks("meetings")
    meeting(Tale(), 1, *all_three[:2], ("z", 12, 12.5, None)).breaks("meetings")
    meeting(Tale(), 1, *all_three[:2], ("z", 12, 12.5, UNANSWERED)).holds()
    meeting(Tale(), 1, *all_three, ("w", 12, 13)).breaks("meetings")
    late = meeting(Tale(), 1, *all_three[:2], ("z", 13.05, 13.2))
    assert "meetings" in late.violated(), late.violated()
    # Two by two where three were to be.
    meeting(Tale(), 1, *all_three[:2], ("z", 12, 14, 2), ("w", 12, 14, 2)).breaks("meetings")


def double_barriers():
    def tale(*leaving):
        story = Tale()
        for who in ("x", "y", "z"):
            story.say(10, 11, who, 1, "BARRIER", "s", 3, "ENTER")
        for who, asked, left, result in leaving:
            story.say(asked, left, who, result, "BARRIER", "s", "LEAVE")
        return story

    tale(("x", 12, 14, 1), ("y", 13, 14.1, 1), ("z", 13.9, 14.2, 1)).holds()
    tale(("x", 12, 14, 1), ("y", 13, 14.1, 1), ("z", 14.5, 14.6, 1)).breaks("leave-together")
    tale(("x", 12, 14, 1), ("y", 13, 14.1, 1)).holds()  # the third is gone
    tale(("x", 12, 14, 1), ("y", 13, 14.1, 1), ("z", 14.5, 14.6, UNANSWERED)).holds()
    tale(("x", 12, 14, 1), ("y", 13, 13.5, None), ("y", 15, 15.5, 1), ("z", 13, 14, 1)).holds()


def members():
    def tale(listed, at=12, y_left=13):
        story = Tale().say(10, 10.1, "x", 5, "MEMBERS", "s", "JOIN", "VALUE", "x").say(10.5, 10.6, "y", 6, "MEMBERS", "s", "JOIN")
        story.say(y_left, y_left + 0.1, "y", 1, "MEMBERS", "s", "LEAVE").say(20, 20.1, "x", 1, "MEMBERS", "s", "LEAVE")
        return story.say(at, at + 0.1, "w", [[number, "name", value] for number, value in listed], "MEMBERS", "s")

    x, y = (5, "x"), (6, "y")
    tale([x, y]).holds()
    tale([x], at=14).holds()
    tale([x, (9, "stranger")], at=14).holds()
    tale([x, y], at=12.95).holds()
    tale([x], at=12.95).holds()
    tale([y, x]).breaks("members-right")
    tale([x]).breaks("members-right")
    tale([y]).breaks("members-right")
    tale([y]).tell(11, "driver", "fault", action="cut").holds()
    tale([x, y], at=14).breaks("members-right")
    tale([x, (6, "x")]).breaks("members-right")
    tale([x, y]).say(12, 12.1, "x", 5, "MEMBERS", "s", "JOIN").holds()
    tale([x, y]).say(21, 22, "x", 5, "MEMBERS", "s", "JOIN").breaks("numbers-rise")
    tale([x, y]).say(21, 22, "z", 4, "MEMBERS", "s", "JOIN").breaks("numbers-rise")


def watched():
    def tale(*heard):
        story = Tale()
        for at, who, leader, fence in heard:
            story.tell(at, who, "observed", node=1, connection=1, kind="lock", name="s", leader=leader, fence=fence)
        return story

    tale((10, "o", "1/1", 5), (11, "o", None, 5), (12, "o", "2/1", 6), (12, "p", "2/1", 6), (13, "o", "2/9", 9)).holds()
    tale((10, "o", "1/1", 5), (11, "o", None, 5), (12, "o", "1/1", 5)).breaks("observed-in-order")
    tale((10, "o", "1/1", 5), (11, "o", "1/2", 4)).breaks("observed-in-order")
    tale((10, "o", "1/1", 5), (11, "p", "1/2", 5)).breaks("observed-in-order")
    def long_hold(heard, fault=5, length=4):
        story = Tale().tell(8, "o", "observing", connection=1).tell(20, "o", "not-observing", connection=1)
        story.tell(fault, "driver", "fault", action="kill").tell(fault + 0.5, "driver", "recovered", first_ms=1)
        story.tell(8.5, "o", "observed", node=1, connection=1, kind="lock", name="s", leader="1/1", fence=4)
        for fence in heard:
            story.tell(12, "o", "observed", node=1, connection=1, kind="lock", name="s", leader="1/2", fence=fence)
        return story.keep(11, 11 + length, "x", 5)

    long_hold([5]).holds()
    long_hold([6]).holds()
    long_hold([]).breaks("watchers-told")
    long_hold([], fault=13).holds()
    long_hold([], length=2).holds()
    moving = tale((10, "o", "1/1", 5), (11, "p", "1/2", 5))
    moving.keep(9, 12, "x", 5, ttl_ms=1000).holds()


TESTS = [semaphores, several_names, taken_again, upgrades, sequences, latches, once, barriers, double_barriers, members, watched]

if __name__ == "__main__":
    for test in TESTS:
        test()
        print(f"ok {test.__name__}")
