#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Judges the histories of clients, registers and observers. It knows nothing of Conclave's inside.

usage: judge.py HISTORY.jsonl...    the verdicts as JSON; exit 0 held, 1 violated, 2 usage
"""

import bisect
import dataclasses
import json
import sys

import history
from configuration import SERVE_S
from recipe_judge import RecipeJudge, lock_all_words

FREED_US = 20 * 1000000
BUSY_MS = 50  # if the driver wakes up so much too late, the machine is too busy to judge short times

@dataclasses.dataclass
class Rules:
    nodes: int
    names: list  # the names of the clients' locks
    fence_check: bool = True  # false: the register trusts deadlines
    bounded: bool = True  # the nodes' clocks keep their bound
    complete: bool = True  # the run came to its end
    lasting: bool = True  # times to live outlast nodes, views, and the loss of all nodes at once
    honest: bool = True  # no member lies; a liar can stop the others, but do no more harm
    calendar: bool = True  # the nodes know the time of the day
    serve_s: float = SERVE_S


@dataclasses.dataclass
class Verdict:
    name: str
    verdict: str  # held, violated, or not-judged
    violations: int = 0
    detail: str = ""


def seconds(moment_us, start_us):
    return f"{(moment_us - start_us) / 1e6:.3f} s"


class Judge:
    def __init__(self, events, rules):
        self.rules = rules
        self.events = sorted(events, key=lambda event: event["us"])
        self.start_us = self.events[0]["us"] if events else 0
        self.end_us = self.events[-1]["us"] if events else 0
        self.answers = self.all("answer")
        self.grants = list(self.find_grants())
        self.holds = self.find_holds()
        self.recipes = RecipeJudge(self)

    def all(self, what):
        return [event for event in self.events if event["what"] == what]

    def at(self, moment_us):
        return seconds(moment_us, self.start_us)

    def find_grants(self):
        """Every answer that gives a fence, one for each fence. A lock that is taken again has the fence that it had."""
        reentered = set()
        for event in self.answers:
            command, words, result = event["command"], event.get("words", []), event.get("result")
            if event["outcome"] == "granted":
                key = event["who"], event["name"], event["fence"]
                if "REENTRANT" not in words or key not in reentered:
                    yield event
                reentered.add(key)
            elif command == "LOCKALL" and isinstance(result, list):
                for name, fence in zip(lock_all_words(words), result):
                    if isinstance(fence, int):
                        yield event | {"name": name, "fence": fence, "shared": False}
            elif isinstance(result, int) and (command == "ONCE" and "EVERY" in words or command == "UPGRADE" or
                                              command == "DOWNGRADE" and result != words[1]):
                yield event | {"fence": result, "shared": command == "DOWNGRADE"}

    def find_holds(self):
        """Every hold with its begin and its end: when the client stopped believing in it, or when the history ends. A
        sharer that was alone before has held it since it asked to share."""
        ends = {}
        for event in self.all("end"):
            ends.setdefault((event["who"], event["name"], event["fence"]), []).append(event)
        found = []
        for hold in self.all("hold"):
            last = self.end_us if hold["until"] is None else hold["until"]
            ended = next((end["ended"] for end in ends.get((hold["who"], hold["name"], hold["fence"]), [])
                          if end["us"] >= hold["us"]), last)
            if ended > hold["us"]:  # otherwise it was over before its client heard of it
                found.append(hold | {"begun": hold.get("since", hold["us"]), "ended": ended})
        return found

    def names(self, events):
        return sorted({event["name"] for event in events})

    # ---- the rules: each yields violations ----

    def fences_unique(self):
        """No two grants of a name carry the same fence."""
        seen = {}
        for grant in self.grants:
            first = seen.setdefault((grant["name"], grant["fence"]), grant)
            if first is not grant:
                yield (f"{grant['name']}: fence {grant['fence']} went to {first['who']} at {self.at(first['us'])} and "
                       f"to {grant['who']} at {self.at(grant['us'])}")

    def fences_exact(self):
        """Every fence is a number that all languages keep exactly."""
        for grant in self.grants:
            if not 0 < grant["fence"] < 1 << 53:
                yield f"{grant['name']}: {grant['who']} was granted fence {grant['fence']} at {self.at(grant['us'])}"

    def fences_rise(self):
        """A later grant has a higher fence: a lock that was asked for after another grant had arrived, and a hold that
        was confirmed after another one. The order among sharers does not matter. Of permits, that of confirmations does not,
        and who shares what it had alone keeps its fence."""
        holds = [hold for hold in self.holds if "permits" not in hold and "since" not in hold]
        for kind, events, begin in (("granted", self.grants, "asked"), ("held", holds, "confirmed")):
            for name in self.names(events):
                yield from self.falling(kind, [event for event in events if event["name"] == name], begin)

    def falling(self, kind, events, begin):
        done = sorted(events, key=lambda event: event["us"])
        highest, alone = self.highest(done), self.highest([event for event in done if not event.get("shared")])
        for event in done:
            moments, best = alone if event.get("shared") else highest
            before = bisect.bisect_left(moments, event[begin])
            if before and best[before - 1]["fence"] >= event["fence"]:
                other = best[before - 1]
                yield (f"{event['name']}: {other['who']} was {kind} fence {other['fence']} at {self.at(other['us'])}, "
                       f"and later {event['who']} fence {event['fence']} at {self.at(event['us'])}")

    @staticmethod
    def highest(events):
        """The time of each hold, and the one with the highest fence so far."""
        best = []
        for event in events:
            best.append(best[-1] if best and best[-1]["fence"] > event["fence"] else event)
        return [event["us"] for event in events], best

    def exclusion(self):
        """No two clients believe in the same lock at the same time, unless they share it."""
        semaphores = {hold["name"] for hold in self.holds if "permits" in hold}
        for name in self.names(hold for hold in self.holds if hold["name"] not in semaphores):
            stays = {True: None, False: None}  # the hold that lasts longest, of sharers and of others
            for hold in sorted((hold for hold in self.holds if hold["name"] == name), key=lambda hold: hold["begun"]):
                shared = bool(hold.get("shared"))
                others = [stays[False]] if shared else [stays[False], stays[True]]
                latest = max((other for other in others if other), key=lambda other: other["ended"], default=None)
                if latest and hold["begun"] < latest["ended"]:
                    overlap_ms = (min(hold["ended"], latest["ended"]) - hold["begun"]) / 1000
                    yield (f"{name}: {latest['who']} (fence {latest['fence']}, node {latest['node']}) and "
                           f"{hold['who']} (fence {hold['fence']}, node {hold['node']}) held it together for "
                           f"{overlap_ms:.1f} ms at {self.at(hold['begun'])}")
                if not stays[shared] or hold["ended"] > stays[shared]["ended"]:
                    stays[shared] = hold

    def losses_told(self):
        """A client of RESP2 cannot be told that it has lost a lock. Once another client believes in that lock, the
        connection of the first must answer no more."""
        ends = {(e["who"], e["name"], e["fence"]): e["us"] for e in self.all("plain-end")}
        answers = [event for event in self.answers if event["command"] == "PING" and event["outcome"] == "done"]
        for plain in self.all("plain-hold"):
            end_us = ends.get((plain["who"], plain["name"], plain["fence"]), self.end_us)
            rivals = [hold["us"] for hold in self.holds if hold["name"] == plain["name"] and hold["fence"] > plain["fence"]
                      and not (hold["shared"] and plain["shared"]) and hold["us"] < end_us]
            if not rivals:
                continue
            late = next((event for event in answers if event["who"] == plain["who"]
                         and min(rivals) < event["asked"] and event["us"] <= end_us), None)
            if late:
                yield (f"{plain['name']}: {plain['who']} (fence {plain['fence']}, node {plain['node']}) lost it to another at "
                       f"{self.at(min(rivals))}, and its connection still answered at {self.at(late['us'])}")

    def ttl_holds_last(self):
        """A holder with a time to live loses the lock only when that time is over."""
        for event in self.all("end"):
            if event["why"] == "lost" and event.get("ttl_ms") and event["us"] < event["until"]:
                yield (f"{event['name']}: {event['who']} was told that fence {event['fence']} is lost at {self.at(event['us'])}, "
                       f"{(event['until'] - event['us']) / 1000:.0f} ms before its time to live of {event['ttl_ms']} ms was over")

    def commands_go_on(self):
        """No fault of the group ends a command that holds a lock."""
        for event in self.all("command"):
            if event["state"] == "ended":
                yield (f"command {event['number']} ended at {self.at(event['us'])}: {describe(event['status'])}"
                       + (f" ({event['said']})" if event["said"] else ""))

    def vanished_freed(self):
        """The lock of a client whose machine vanished is another's within 15 s; a few more where the machine is busy."""
        freed = {event["name"]: event["us"] for event in self.all("freed")}
        for event in self.all("vanished"):
            took_us = freed.get(event["name"], self.end_us) - event["us"]
            if took_us > FREED_US:
                yield (f"{event['name']}: held by a machine that vanished at {self.at(event['us'])} for {took_us / 1e6:.1f} s, "
                       f"{'by a plain connection' if event['plain'] else 'by conclave lock'} to node {event['node']}")

    def bystanders_keep(self):
        """No other client loses a lock when a crowd leaves; not judged if the machine was too busy, or beside other faults."""
        lost = [event for event in self.all("end") if event["why"] in ("lost", "lease")]
        others = [event["us"] for event in self.all("fault") if event["action"] not in ("crowd leaves", "mixed")]
        healed = [event["us"] for event in self.all("healed")]
        for crowd in self.all("crowd-gone"):
            victims = [event for event in lost if crowd["begin"] <= event["us"] <= crowd["us"]]
            since = max((us for us in healed if us < crowd["begin"]), default=0)
            alone = not any(since < us <= crowd["us"] for us in others)
            if victims and alone and crowd["late_ms"] < BUSY_MS:
                yield (f"{victims[0]['who']} lost {victims[0]['name']} at {self.at(victims[0]['us'])}, when a crowd left at "
                       f"{self.at(crowd['begin'])}")

    def no_stale_fence(self):
        """The register never accepts a fence lower than one it has seen; from a sharer, than one of a client that does not share."""
        highest, alone = {}, {}
        for event in self.events:
            if event["what"] in ("read", "write") and event["accepted"]:
                name, seen = event["name"], alone if event.get("shared") else highest
                if event["fence"] < seen.get(name, 0):
                    yield (f"{name}: fence {event['fence']} of {event['by']} was accepted after {seen[name]} at "
                           f"{self.at(event['us'])}")
                for marks in (highest,) if event.get("shared") else (highest, alone):
                    marks[name] = max(event["fence"], marks.get(name, 0))

    def no_torn_read(self):
        """A sharer reads the same as long as it holds the lock: no client writes meanwhile."""
        first = {}
        for event in self.all("read"):
            if event["accepted"] and event.get("shared"):
                before = first.setdefault((event["by"], event["name"], event["fence"]), event)
                if before["seen"] != event["seen"]:
                    yield (f"{event['name']}: {event['by']} (fence {event['fence']}) read {before['seen']} at "
                           f"{self.at(before['us'])} and {event['seen']} at {self.at(event['us'])}")

    def no_lost_update(self):
        """Every write that is accepted builds on the one before it."""
        last = {}
        for event in self.all("write"):
            if not event["accepted"]:
                continue
            before = last.get(event["name"])
            if event["base"] != (before["tag"] if before else None):
                yield (f"{event['name']}: {event['by']} (fence {event['fence']}) overwrote "
                       f"{before['tag'] if before else 'nothing'} (fence {before['fence'] if before else '-'}) at "
                       f"{self.at(event['us'])}, having read {event['base']}")
            last[event["name"]] = event

    def observed_in_order(self):
        """A connection that observes an election or watches a lock never hears of an older grant after a newer one, nor of
        a grant after its end; and all of them hear of the same client, unless that can go to another member."""
        last, holders = {}, {}
        movable = {(hold["name"], hold["fence"]) for hold in self.all("hold") if "ttl_ms" in hold}
        for event in self.all("observed"):
            name, fence, leader = event.get("name", "leader"), event["fence"], event["leader"]
            connection = (event["who"], event["connection"], name)
            before = last.get(connection)
            if before and (fence < before["fence"] or fence == before["fence"] and leader and not before["leader"]):
                yield (f"{event['who']}: {name}: {leader} with fence {fence} after {before['leader']} with fence "
                       f"{before['fence']} at {self.at(event['us'])}")
            if leader and holders.setdefault((name, fence), leader) != leader and (name, fence) not in movable:
                yield f"{event['who']}: {name}: fence {fence} is {leader}'s, and was {holders[name, fence]}'s for another"
            if not before or fence >= before["fence"]:
                last[connection] = event

    def calls_end(self):
        """Every call ends; with an answer, unless its node was down, stopped, cut off or without a disk meanwhile."""
        troubled = self.troubled()
        ended = {(event["who"], event["call"]) for event in self.answers}
        for event in self.all("ask"):
            if (event["who"], event["call"]) not in ended:
                yield f"{event['who']}: {event['command']} of {self.at(event['us'])} never ended"
        for event in self.answers:
            if event["outcome"] == "silent" and not any(
                    begin <= event["us"] and event["asked"] <= end for begin, end in troubled.get(event["node"], [])):
                yield (f"{event['who']}: node {event['node']} left {event['command']} of {self.at(event['asked'])} "
                       f"without an answer until {self.at(event['us'])}")

    def troubled(self):
        """By node: the times at which it could not be expected to answer."""
        spans, since = {}, {}
        for event in self.all("node"):
            node = event["node"]
            if event["state"] == "up":
                if node in since:
                    spans.setdefault(node, []).append((since.pop(node), event["us"]))
            else:
                since.setdefault(node, event["us"])
        for node, begin in since.items():
            spans.setdefault(node, []).append((begin, self.end_us))
        return spans

    def progress(self):
        """After healing every node grants again, and every lock is granted; and during the run there was at least one grant."""
        if not self.grants:
            yield "nothing was granted in the whole run"
        served = self.all("served")
        for event in self.all("healed"):
            limit_us = event["us"] + self.rules.serve_s * 1e6
            after = [each for each in served if event["us"] <= each["us"] <= limit_us]
            nodes, names = {each["node"] for each in after}, {each["name"] for each in after}
            missing = [f"node {node}" for node in range(1, self.rules.nodes + 1) if node not in nodes]
            missing += [f"lock {name}" for name in self.rules.names if name not in names]
            if missing:
                yield (f"{', '.join(missing)}: no grant within {self.rules.serve_s:g} s of the healing at "
                       f"{self.at(event['us'])}")

    def nodes_survive(self):
        """No node ends by itself, unless its disk is full, or it was started with a file or a directory that is not its
        own, and it says so by its exit status."""
        for event in self.all("died"):
            excused = event["full"] or event.get("misled")
            if not excused or not isinstance(event["status"], int) or event["status"] < 0:
                said = f" ({event['said']})" if event.get("said") else ""
                yield f"node {event['node']} ended at {self.at(event['us'])}: {describe(event['status'])}{said}"

    # ---- all together ----

    def judge(self):
        fenced, bounded, complete = self.rules.fence_check, self.rules.bounded, self.rules.complete
        rules = [("fences-unique", self.fences_unique, True), ("fences-exact", self.fences_exact, True),
                 ("fences-rise", self.fences_rise, bounded),
                 ("no-stale-fence", self.no_stale_fence, fenced),
                 ("no-lost-update", self.no_lost_update, fenced or bounded),
                 ("no-torn-read", self.no_torn_read, fenced or bounded),
                 ("exclusion", self.exclusion, bounded), ("observed-in-order", self.observed_in_order, True),
                 ("losses-told", self.losses_told, bounded),
                 ("ttl-holds-last", self.ttl_holds_last, bounded and self.rules.lasting), ("commands-go-on", self.commands_go_on, True),
                 ("vanished-freed", self.vanished_freed, complete), ("bystanders-keep", self.bystanders_keep, bounded),
                 ("calls-end", self.calls_end, complete), ("progress", self.progress, complete and self.rules.honest),
                 ("nodes-survive", self.nodes_survive, True), *self.recipes.rules(self.rules)]
        verdicts = []
        for name, rule, counts in rules:
            wrong = list(rule())
            verdict = "not-judged" if not counts else "violated" if wrong else "held"
            verdicts.append(Verdict(name, verdict, len(wrong), wrong[0] if wrong else ""))
        return verdicts

    def stuck(self):
        """The nodes' views when one of them did not serve for the first time, for people to look at."""
        views = {}
        for event in self.all("stuck"):
            views.setdefault(event["node"], event["view"])
        return [f"node {node} {view}" for node, view in sorted(views.items())]

    def numbers(self):
        orders = self.all("read") + self.all("write")
        ends = [event["why"] for event in self.all("end")]
        recoveries = [event["first_ms"] for event in self.all("recovered")]
        return {"seconds": round((self.end_us - self.start_us) / 1e6, 1), "events": len(self.events),
                "faults": len(self.all("healed")), "calls": len(self.answers), "grants": len(self.grants),
                "holds": len(self.holds), "shared": sum(bool(hold.get("shared")) for hold in self.holds), "lost": ends.count("lost") + ends.count("lease"),
                "writes": sum(order["accepted"] and order["what"] == "write" for order in orders),
                "refused": sum(not order["accepted"] for order in orders),
                "lasting": sum("ttl_ms" in hold for hold in self.holds),
                "moved": len({(event["who"], event["name"], event["fence"]) for event in self.all("moved")}),
                "leaders_observed": sum(event.get("kind", "leader") == "leader" for event in self.all("observed")),
                "recipes": self.recipes.counts(),
                "recovery_ms": {"median": sorted(recoveries)[len(recoveries) // 2] if recoveries else None,
                                "worst": max(recoveries, default=None)}}


def describe(status):
    if isinstance(status, int):
        return f"signal {-status}" if status < 0 else f"exit status {status}"
    return status


def main(paths):
    if not paths:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        events = history.read(paths)
    except (OSError, ValueError) as error:
        print(f"{' '.join(paths)}: {error}", file=sys.stderr)
        return 2
    facts = next((event for event in events if event["what"] == "run"), None)
    if not facts:
        print(f"{paths[0]}: expected the history of a run", file=sys.stderr)
        return 2
    rules = Rules(**{key: facts[key] for key in ("nodes", "names", "fence_check", "bounded", "lasting", "honest", "calendar",
                                                 "serve_s")})
    judge = Judge(events, rules)
    verdicts = judge.judge()
    print(json.dumps({"properties": [vars(verdict) for verdict in verdicts], "numbers": judge.numbers()}, indent=1))
    return int(any(verdict.verdict == "violated" for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
