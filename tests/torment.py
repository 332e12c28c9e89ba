# SPDX-License-Identifier: MIT
"""The campaign's judge, with invented histories: good ones pass, and every kind of bad one is caught."""

import os
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "torment"))

from judge import Judge, Rules  # noqa: E402
from register import Registers  # noqa: E402
import configuration  # noqa: E402
import nemesis  # noqa: E402

SECOND = 1000000


class Story:
    """A history, told in seconds."""

    def __init__(self):
        self.events = []
        self.calls = 0

    def tell(self, at, who, what, **facts):
        self.events.append({"us": int(at * SECOND), "who": who, "what": what, **facts})
        return self

    def call(self, asked, answered, who, command="LOCK", outcome="granted", node=1, name="a", **facts):
        self.calls += 1
        self.tell(asked, who, "ask", call=self.calls, node=node, command=command, name=name)
        if answered is not None:
            self.tell(answered, who, "answer", call=self.calls, node=node, command=command, name=name, outcome=outcome,
                      asked=int(asked * SECOND), **facts)
        return self

    def hold(self, begin, end, who, fence, until=None, asked=None, name="a", shared=False):
        """A lock asked for, granted, confirmed and ended."""
        self.call(begin - 0.3 if asked is None else asked, begin - 0.2, who, fence=fence, name=name, shared=shared)
        self.tell(begin, who, "hold", name=name, kind="lock", fence=fence, node=1, shared=shared,
                  confirmed=int((begin - 0.1) * SECOND), until=None if until is None else int(until * SECOND))
        if end is not None:
            self.tell(end, who, "end", name=name, kind="lock", fence=fence, why="released",
                      ended=int(min(end, until or end) * SECOND))
        return self

    def read(self, at, who, fence, accepted=True, shared=False, seen=None):
        return self.tell(at, "register", "read", name="a", fence=fence, accepted=accepted, by=who, shared=shared,
                         seen=seen)

    def write(self, at, who, fence, base, tag, accepted=True):
        return self.tell(at, "register", "write", name="a", fence=fence, accepted=accepted, by=who, base=base, tag=tag,
                         until=None)

    def heal(self, at, served_at, nodes=(1, 2, 3), names=("a",)):
        self.tell(at, "driver", "healed")
        for node in nodes:
            self.tell(served_at, "driver", "served", node=node, name="a.probe")
        for name in names:
            self.tell(served_at, "driver", "served", node=1, name=name)
        return self

    def judge(self, **rules):
        judge = Judge(self.events, Rules(3, ["a"], **rules))
        judge.numbers()
        return judge.judge()

    def verdicts(self, **rules):
        return {verdict.name: verdict.verdict for verdict in self.judge(**rules)}

    def count(self, name):
        return next(verdict.violations for verdict in self.judge() if verdict.name == name)

    def violated(self, **rules):
        return {name for name, verdict in self.verdicts(**rules).items() if verdict == "violated"}


def good():
    """Two clients after each other, a fault in between, nothing wrong."""
    return (Story().hold(1, 2, "x", 5).read(1.1, "x", 5).write(1.2, "x", 5, None, "x.1")
            .heal(2.1, 2.5)
            .hold(3, 4, "y", 6).read(3.1, "y", 6).write(3.2, "y", 6, "x.1", "y.1")
            .call(4, 6, "x", outcome="nil").call(4, 5, "y", "RENEW", "done"))


def good_ones_pass():
    verdicts = good().verdicts()
    assert set(verdicts.values()) == {"held"}, verdicts
    # A lease that ran out before the client noticed was not held any longer.
    assert not good().hold(5, 9, "x", 7, until=6).hold(6.5, 7, "y", 8).violated()
    # Another lock's fences count for themselves.
    assert not good().hold(5, 6, "x", 1, name="b").violated()
    # A waiter that had asked before may get a higher fence than one that asked later and was served earlier.
    assert not good().hold(7, 8, "x", 9, asked=4.5).hold(5, 6, "y", 8).violated()
    # A stale write that the register refused did no harm.
    assert not good().write(3.3, "x", 5, "x.1", "x.2", accepted=False).violated()


def same_fence_twice():
    assert good().hold(5, 6, "x", 7).hold(7, 8, "y", 7).violated() == {"fences-unique", "fences-rise"}


def falling_fence():
    assert good().hold(5, 6, "x", 9).hold(7, 8, "y", 8).violated() == {"fences-rise"}
    # Also if neither client came to believe in it.
    assert good().call(5, 5.1, "x", fence=9).call(6, 6.1, "y", fence=8).violated() == {"fences-rise"}
    # A client that asked before the other's grant arrived may have been granted first; one that asked later is compared with both.
    crossing = good().call(4.5, 5, "x", fence=9).call(4.6, 5.5, "y", fence=7)
    assert not crossing.violated()
    assert crossing.call(6, 6.1, "z", fence=8).count("fences-rise") == 1
    # Also if the later holder had waited long, so that only its confirmation shows the order.
    assert good().hold(5, 6, "x", 9).hold(7, 8, "y", 8, asked=4.2).violated() == {"fences-rise"}


def two_holders():
    assert good().hold(5, 6, "x", 7).hold(5.9, 8, "y", 8).violated() == {"exclusion"}
    # The longest of the earlier ones counts, not the latest.
    assert good().hold(5, 9, "x", 7).hold(5.5, 6, "y", 8).hold(7, 8, "z", 10).count("exclusion") == 2
    # A hold without an end lasts as long as its lease, or for ever.
    assert good().hold(5, None, "x", 7, until=6).hold(5.9, 8, "y", 8).violated() == {"exclusion"}
    assert not good().hold(5, None, "x", 7, until=6).hold(6.1, 8, "y", 8).violated()
    assert good().hold(5, None, "x", 7).hold(7, 8, "y", 8).violated() == {"exclusion"}
    # Without the clocks' bound, one holder at a time is not promised; fences are still judged.
    wild = good().hold(5, 6, "x", 7).hold(5.9, 8, "y", 7).verdicts(bounded=False)
    assert wild["exclusion"] == "not-judged" and wild["fences-unique"] == "violated"


def readers():
    """Clients that share may overlap, with fences in any order; no others may."""
    sharing = good().hold(5, 9, "x", 8, shared=True).hold(6, 8, "y", 7, shared=True)
    assert not sharing.violated()
    assert not good().hold(5, 9, "x", 8, shared=True).hold(9.1, 10, "y", 9).violated()
    assert good().hold(5, 9, "x", 8, shared=True).hold(6, 7, "y", 9).violated() == {"exclusion"}
    assert good().hold(5, 9, "x", 8).hold(6, 7, "y", 9, shared=True).violated() == {"exclusion"}
    # A long hold is remembered after many shared ones.
    late = good().hold(5, 9, "x", 7, shared=True).hold(5.5, 6, "y", 8, shared=True).hold(8, 8.5, "z", 9)
    assert late.count("exclusion") == 1
    # A writer's fence is higher than all before, a reader's than every writer's.
    assert good().hold(5, 6, "x", 9, shared=True).hold(7, 8, "y", 8).violated() == {"fences-rise"}
    assert good().hold(5, 6, "x", 9).hold(7, 8, "y", 8, shared=True).violated() == {"fences-rise"}


def torn_reads():
    reads = good().read(5, "x", 8, shared=True, seen="y.1").read(5.1, "z", 7, shared=True, seen="y.1")
    assert not reads.violated()
    assert reads.read(5.2, "x", 8, shared=True, seen="w.1").violated() == {"no-torn-read"}
    assert good().read(5, "x", 5, shared=True, seen="y.1").violated() == {"no-stale-fence"}, "a writer had 6"
    assert good().read(5, "x", 8, shared=True).write(5.1, "y", 6, "y.1", "y.2").violated() == {"no-stale-fence"}


def stale_fence_accepted():
    story = good().write(3.3, "x", 5, "y.1", "x.2")
    assert story.violated() == {"no-stale-fence"}
    assert not story.violated(fence_check=False)
    assert good().read(3.3, "x", 5).violated() == {"no-stale-fence"}


def lost_update():
    assert good().write(3.3, "y", 6, "x.1", "y.2").violated() == {"no-lost-update"}
    assert good().write(3.3, "y", 6, "x.1", "y.2").violated(fence_check=False) == {"no-lost-update"}
    assert good().write(3.3, "y", 6, None, "y.2").violated() == {"no-lost-update"}


def times_to_live():
    """A holder with a time to live loses the lock only when that time is over, whatever becomes of the nodes."""
    def story(told, until, ttl_ms=5000, why="lost"):
        return (good().call(5, 5.1, "x", fence=9)
                .tell(5.1, "x", "hold", name="a", kind="lock", fence=9, node=1, shared=False, confirmed=5 * SECOND,
                      until=int(until * SECOND), ttl_ms=ttl_ms)
                .tell(told, "x", "end", name="a", kind="lock", fence=9, why=why, ended=int(min(told, until) * SECOND),
                      ttl_ms=ttl_ms, until=int(until * SECOND)))
    assert story(6, 9).violated() == {"ttl-holds-last"}
    assert not story(9.1, 9).violated() and not story(9.1, 9, why="lease").violated() and not story(6, 9, why="released").violated()
    assert story(6, 9).verdicts(lasting=False)["ttl-holds-last"] == "not-judged"
    assert story(6, 9).verdicts(honest=False)["progress"] == "not-judged"
    assert story(6, 9).verdicts(bounded=False)["ttl-holds-last"] == "not-judged"
    # Another client believes in it meanwhile.
    assert story(8, 9, why="released").hold(7, 7.5, "y", 10).violated() == {"exclusion"}
    # The client never believed in a hold that was over when it heard of it.
    assert not story(8, 4.9, why="lease").hold(6, 6.5, "y", 10, asked=5.2).violated()


def observers():
    def story(second, connection):
        return (good().tell(1, "observer-1", "observed", node=1, connection=1, leader="1/1", fence=5)
                .tell(2, "observer-1", "observed", node=1, connection=connection, leader=None, fence=second))

    assert not story(5, 1).violated()
    assert story(4, 1).violated() == {"observed-in-order"}
    assert not story(4, 2).violated(), "another connection begins anew"


def calls():
    assert good().call(5, None, "x").violated() == {"calls-end"}
    silent = good().call(5, 15, "x", outcome="silent")
    assert silent.violated() == {"calls-end"}
    assert good().tell(6, "driver", "node", node=2, state="paused").call(5, 15, "x", outcome="silent").violated()
    excused = good().tell(6, "driver", "node", node=1, state="paused").tell(7, "driver", "node", node=1, state="up")
    assert not excused.call(5, 15, "x", outcome="silent").violated()
    assert excused.call(8, 18, "x", outcome="silent").violated() == {"calls-end"}


def no_progress():
    assert Story().tell(0, "driver", "run").violated() == {"progress"}
    assert good().heal(5, 40).violated() == {"progress"}
    assert not good().heal(5, 40).violated(complete=False), "an interrupted run had no time for it"
    assert good().heal(5, 6, nodes=(1, 3)).violated() == {"progress"}
    assert good().heal(5, 6, names=()).violated() == {"progress"}


def crash():
    def died(status, full):
        return good().tell(5, "driver", "died", node=1, status=status, full=full).violated()

    assert died(-6, False) == died(1, False) == died(-11, True) == {"nodes-survive"}
    assert not died(1, True), "a node may give up when its disk is full"
    assert not good().tell(5, "driver", "died", node=1, status=2, full=False, misled=True).violated()
    assert good().tell(5, "driver", "died", node=1, status=-6, full=False, misled=True).violated() == {"nodes-survive"}


def plain_clients():
    """RESP2 has no pushes: the connection of such a client must end once another client believes in its lock."""
    def story(rival_at, shared=False):
        return (good().tell(5, "p", "plain-hold", name="a", kind="lock", fence=7, shared=shared, node=1)
                .hold(rival_at, 9, "y", 8, shared=shared).call(7, 7.1, "p", "PING", "done")
                .tell(8, "p", "plain-end", name="a", fence=7, why="gone"))

    assert story(6).violated() == {"losses-told"}
    assert not story(6).violated(bounded=False), "clocks that go wrong promise nothing"
    assert not story(7.05).violated(), "it was asked before"
    assert not story(8.5).violated(), "it had ended"
    assert not story(6, shared=True).violated(), "they share"


def commands_end():
    assert good().tell(5, "driver", "command", number=1, state="ended", status=122, said="").violated() == {"commands-go-on"}
    assert not good().tell(5, "driver", "command", number=1, state="begun").violated()


def vanished():
    gone = good().tell(5, "driver", "vanished", name="v", node=1, plain=True)
    assert not gone.tell(16, "driver", "freed", name="v").violated()
    assert good().tell(5, "driver", "vanished", name="v", node=1, plain=True).tell(
        30, "driver", "freed", name="v").violated() == {"vanished-freed"}
    assert good().tell(5, "driver", "vanished", name="v", node=1, plain=True).tell(
        40, "driver", "end-of-run").violated() == {"vanished-freed"}


def sizes():
    """Of two voters none can lose its disk, nor get an old copy of it: no group of two is asked to."""
    for name in ("lost-disk", "old-disk", "mixed"):
        assert nemesis.sizes(name, [2, 3, 5]) == [3, 5] and not nemesis.sizes(name, [2]), name
    assert nemesis.sizes("kill", [2, 3]) == [2, 3] and nemesis.sizes("tie", [3, 5]) == [2]


def bystanders():
    def story(late_ms, why):
        return (good().hold(4.5, None, "x", 9, until=5.5).tell(5.4, "x", "end", name="a", kind="lock", fence=9, why=why,
                                                               ended=int(5.4 * SECOND))
                .tell(7, "driver", "crowd-gone", begin=5 * SECOND, late_ms=late_ms))

    assert story(1, "lost").violated() == {"bystanders-keep"}
    assert not story(1, "released").violated() and not story(200, "lost").violated()
    fault = {"who": "driver", "what": "fault"}
    assert not story(1, "lost").tell(5.2, **fault, action="pause", nodes=[4]).violated(), "another fault may have done it"
    assert not story(1, "lost").tell(3, **fault, action="settings", node=4).violated()
    assert story(1, "lost").tell(4.9, **fault, action="crowd leaves", node=5).violated() == {"bystanders-keep"}
    over = story(1, "lost").tell(3, **fault, action="pause", nodes=[4]).tell(4, "driver", "healed")
    assert "bystanders-keep" in over.violated()


def configurations():
    """Every configuration that is drawn obeys the rules between settings, and the slower it is the longer it may take."""
    for seed in range(300):
        drawn = configuration.draw(random.Random(seed), 5, 2)
        group = drawn.group
        if group:
            assert group["lease"] >= 3 * group["heartbeat"] and group["timeout"] >= 2 * group["heartbeat"], group
            assert group["longest-timeout"] >= group["timeout"] and 1 <= group["voters"] <= 7, group
        assert drawn.serve_s() >= configuration.SERVE_S and drawn.networks in (1, 2)


def register():
    """The register itself: reads count, equal fences pass, lower ones do not; deadlines instead, where asked for."""
    class Nobody:
        def note(self, *_, **__):
            pass

    def order(registers, what, fence, base=None, tag=None, until=None, shared=False):
        return registers.take({what: "a", "fence": fence, "base": base, "tag": tag, "until": until, "by": "x",
                               "shared": shared})["accepted"]

    fenced = Registers(Nobody(), "fence")
    assert order(fenced, "read", 5) and order(fenced, "write", 5) and order(fenced, "read", 6)
    assert not order(fenced, "write", 5) and order(fenced, "write", 6)
    assert order(fenced, "read", 9, shared=True) and order(fenced, "read", 7, shared=True), "readers in any order"
    assert not order(fenced, "write", 8) and not order(fenced, "read", 5, shared=True) and order(fenced, "write", 10)
    timed = Registers(Nobody(), "deadline")
    assert order(timed, "write", 6) and order(timed, "write", 5) and not order(timed, "write", 7, until=1)


def generators():
    """Two faults at once: every step comes in its order, and both end."""
    steps = []

    def fault(name, *pauses):
        for pause in pauses:
            steps.append(name)
            yield pause

    waits = list(nemesis.together([fault("a", 1, 1), fault("b", 1.5)]))
    assert steps == ["a", "b", "a"] and waits == [1, 0.5, 0.5], (steps, waits)


def bad_input():
    program = os.environ.get("CONCLAVE", "/bin/true")
    for options, words in ((["--nemesis", "plague"], "--nemesis plague: expected none, kill"),
                           (["--nodes", "4"], "--nodes 4"), (["--seconds", "-1"], "--seconds"),
                           (["--group", "gang"], "--group"),
                           (["--minutes", "1", "--seconds", "1"], "one of them"), (["--plague"], "--plague"),
                           (["--algorithms", "bully"], "--algorithms bully"), (["--seed", "-1"], "--seed -1"),
                           (["--keep", "/dev/null/x"], "--keep /dev/null/x")):
        result = subprocess.run([sys.executable, str(ROOT / "torment" / "run"), *options], capture_output=True,
                                text=True, check=False, env=os.environ | {"CONCLAVE": program})
        assert result.returncode == 2 and words in result.stderr and result.stderr.count("\n") == 1, (options, result)


TESTS = [good_ones_pass, same_fence_twice, falling_fence, two_holders, readers, torn_reads, stale_fence_accepted, lost_update, times_to_live, observers,
         calls, no_progress, crash, plain_clients, commands_end, vanished, sizes, bystanders, configurations, register, generators,
         bad_input]

if __name__ == "__main__":
    for test in TESTS:
        test()
        print(f"ok {test.__name__}")
