# SPDX-License-Identifier: MIT
"""Judges the recipes, each by a naive model of it: nothing but what the players said, what they were told, and when.

A call without an answer may have been carried out at any time after it was asked, or never. So every rule counts it where
that excuses the service, and nowhere else.
"""

import bisect
import collections

SLACK_US = 100000  # of the calendar: a node's clock may be that much behind
MINUTE_US = 60 * 1000000
TOLD_US = 3 * 1000000  # after so long a watcher has heard of a holder
IDLE_US = 3 * 1000000  # longer than names can be nobody's and not be free: a TTL of a second, and a delay of one
CALM_US = 2 * 1000000  # without faults before


def successful(call):
    return isinstance(call["result"], int)


def unknown(call):
    return call["outcome"] in ("gone", "silent", "left")


class RecipeJudge:
    def __init__(self, judge):
        """`judge`: the one of the whole history."""
        self.at, self.holds = judge.at, judge.holds
        self.events = judge.events
        self.calls = [call for call in judge.answers if "words" in call]
        self.troubles = []  # (when something went wrong, when it was over)
        self.find_troubles()
        self.epoch_us = next((event["epoch"] for event in self.events if event["what"] == "run" and "epoch" in event), 0)

    def find_troubles(self):
        """From a fault until every node serves again. And whenever a client loses something, or is told that it must wait."""
        since_us = None
        for event in self.events:
            if event["what"] in ("fault", "node"):
                since_us = since_us or event["us"]
            elif event["what"] == "recovered" and since_us:
                self.troubles.append((since_us, event["us"]))
                since_us = None
            elif event["what"] == "end" and event["why"] in ("lost", "lease", "gone", "silent") or \
                    event["what"] == "answer" and (event["outcome"] in ("gone", "silent", "left") or
                                                   str(event.get("result")).startswith(("NOQUORUM", "LOADING", "LOST"))):
                self.troubles.append((event["us"], event["us"]))
        if since_us:
            self.troubles.append((since_us, self.events[-1]["us"]))

    def calm(self, begin_us, end_us):
        """Nothing was wrong then, nor shortly before."""
        return not any(begin < end_us and begin_us - CALM_US < end for begin, end in self.troubles)

    def by_name(self, command, word=None):
        """Calls of that command, by name; `word`: with that second word."""
        found = collections.defaultdict(list)
        for call in self.calls:
            if call["command"] == command and (word is None or word in call["words"][1:]):
                found[call["name"]].append(call)
        return sorted(found.items())

    # ---- what is held ----

    def permits_kept(self):
        """Never more holders of a semaphore than it has permits; one that took all of them is alone."""
        semaphores = {hold["name"]: hold["permits"] for hold in self.holds if "permits" in hold}
        for name, permits in sorted(semaphores.items()):
            changes = []
            for hold in self.holds:
                if hold["name"] == name:
                    weight = 1 if "permits" in hold else permits
                    changes += [(hold["begun"], 1, weight, hold), (hold["ended"], 0, -weight, hold)]
            used, inside = 0, []
            for moment, begins, weight, hold in sorted(changes, key=lambda change: change[:2]):  # who leaves, first
                used += weight
                inside = inside + [hold] if begins else [other for other in inside if other is not hold]
                if begins and used > permits:
                    holders = ", ".join(f"{each['who']} (fence {each['fence']})" for each in inside)
                    yield f"{name}: {permits} permits, and {holders} held it at {self.at(moment)}"

    def all_or_none(self):
        """LOCKALL is answered with a fence for every name, or leaves the connection without any."""
        for call in self.calls:
            if call["command"] == "LOCKALL" and isinstance(call["result"], list):
                wanted = len(lock_all_words(call["words"]))
                if len(call["result"]) != wanted or not all(isinstance(fence, int) for fence in call["result"]):
                    yield f"{call['who']} asked for {wanted} names and got {call['result']} at {self.at(call['us'])}"
            elif call["who"].startswith("lock-all") and str(call["result"]).startswith("HELD"):
                yield f"{call['who']} was told at {self.at(call['us'])} that it holds a name of which LOCKALL gave it none"

    def no_deadlock(self):
        """No LOCKALL waits in vain for names that nobody has: it may be somebody that waits for a name of this one."""
        for call in self.calls:
            if call["command"] != "LOCKALL" or call["outcome"] != "nil" or not self.calm(call["asked"], call["us"]):
                continue
            names = set(lock_all_words(call["words"]))
            last_us = max((min(hold["ended"], call["us"]) for hold in self.holds if hold["name"] in names
                           and hold["begun"] < call["us"]), default=0)
            if call["us"] - max(last_us, call["asked"]) > IDLE_US:
                yield (f"{call['who']} waited for {' and '.join(sorted(names))} from {self.at(call['asked'])} to "
                       f"{self.at(call['us'])}, and for {IDLE_US / 1e6:g} s nobody had any of them")

    def same_fence_again(self):
        """A client that takes a lock again gets the fence by which it holds it."""
        for event in self.events:
            if event["what"] == "again" and event["got"] != event["fence"] and not event["lost"] \
                    and not isinstance(event["got"], str):
                yield (f"{event['name']}: {event['who']} held it by fence {event['fence']}, took it again and got "
                       f"{event['got']} at {self.at(event['us'])}")

    def changes_keep(self):
        """Between the last that a client saw or wrote by one fence and the first that it sees by the next, nobody writes."""
        orders = collections.defaultdict(list)
        for event in self.events:
            if event["what"] in ("read", "write") and event["accepted"]:
                orders[event["by"], event["name"], event["fence"]].append(event)
        for change in self.events:
            if change["what"] != "changed":
                continue
            who, name = change["who"], change["name"]
            before = [order for order in orders[who, name, change["before"]] if order["us"] < change["us"]]
            after = [order for order in orders[who, name, change["fence"]] if order["us"] > change["us"]]
            if before and after and after[0]["what"] == "read":
                value = before[-1]["tag"] if before[-1]["what"] == "write" else before[-1]["seen"]
                if value != after[0]["seen"]:
                    yield (f"{name}: {who} had {value} by fence {change['before']}, and {after[0]['seen']} "
                           f"by fence {change['fence']} at {self.at(after[0]['us'])}")

    def upgrades_refused(self):
        """UPGRADING is said only while another client waits to upgrade."""
        for name, calls in self.by_name("UPGRADE"):
            for call in calls:
                if str(call["result"]).startswith("UPGRADING") and not any(
                        other is not call and other["asked"] <= call["us"] and (other["us"] >= call["asked"] or unknown(other))
                        for other in calls):
                    yield f"{name}: {call['who']} was refused at {self.at(call['us'])}, though nobody else upgraded"

    # ---- numbers ----

    def numbers_unique(self):
        """No two calls of SEQUENCE get the same number."""
        for name, calls in self.by_name("SEQUENCE"):
            last = None
            for call in sorted(filter(successful, calls), key=lambda call: call["result"]):
                if last and call["result"] <= last_number(last):
                    yield (f"{name}: {last['who']} got {last['result']} to {last_number(last)}, and {call['who']} {call['result']} "
                           f"at {self.at(call['us'])}")
                if not last or last_number(call) > last_number(last):
                    last = call

    def rising(self, calls, last=lambda call: call["result"]):
        """A number that was asked for after another had arrived is higher."""
        done = sorted(calls, key=lambda call: call["us"])
        moments, highest = [call["us"] for call in done], []
        for call in done:
            highest.append(highest[-1] if highest and last(highest[-1]) > last(call) else call)
        for call in done:
            before = bisect.bisect_left(moments, call["asked"])
            if before and last(highest[before - 1]) >= call["result"]:
                other = highest[before - 1]
                yield (f"{call['name']}: {other['who']} got {last(other)} at {self.at(other['us'])}, and later {call['who']} "
                       f"{call['result']} at {self.at(call['us'])}")

    def numbers_rise(self):
        """Numbers of SEQUENCE, of meetings and of members rise."""
        for _, calls in self.by_name("SEQUENCE"):
            yield from self.rising(filter(successful, calls), last_number)
        for _, calls in self.by_name("BARRIER"):
            yield from self.rising([call for call in calls if successful(call) and "LEAVE" not in call["words"]])
        for _, calls in self.by_name("MEMBERS"):
            yield from self.rising(self.first_joins(calls))

    @staticmethod
    def first_joins(calls):
        """Those that made a member. A client that is one already, because it could not leave, has the number that it had."""
        joins, member = [], {}
        for call in sorted(filter(successful, calls), key=lambda call: call["asked"]):
            if "LEAVE" in call["words"][1:] and call["result"] == 1:
                member.pop(call["who"], None)
            elif "JOIN" in call["words"][1:] and member.get(call["who"]) != call["result"]:
                joins.append(call)
                member[call["who"]] = call["result"]
        return joins

    # ---- latches ----

    def latches(self):
        """A latch is as far down as it was counted, opens neither early nor late, and never closes."""
        for name, calls in self.by_name("LATCH"):
            sets = [call for call in calls if "SET" in call["words"][1:]]
            cleared_us = min((call["asked"] for call in calls if "CLEAR" in call["words"][1:]), default=None)
            known = [call for call in calls if cleared_us is None or call["us"] < cleared_us]
            if len(sets) == 1:
                yield from self.judge_latch(name, sets[0], known)

    def judge_latch(self, name, setting, calls):
        downs = [call for call in calls if "DOWN" in call["words"][1:] and not refused(call, "NOLATCH")]
        opened = None
        for call in sorted(calls, key=lambda call: call["us"]):
            if call is setting or unknown(call):
                continue
            where = f"{name}: {call['who']} was answered {call['result']} at {self.at(call['us'])}"
            if refused(call, "NOLATCH") or (call["result"] is None and len(call["words"]) == 1):
                if setting["result"] == 1 and setting["us"] < call["asked"]:
                    yield f"{where}, but it was set at {self.at(setting['us'])}"
                continue
            in_vain = call["result"] is None  # AWAIT, until its time was over
            if call["outcome"] == "refused" or (in_vain and not self.calm(call["asked"], call["us"])):
                continue  # the node may have been told nothing meanwhile
            count = setting["words"][2]
            least = max(0, count - sum(weight(down) for down in downs if down["asked"] < call["us"]))
            own = weight(call) if "DOWN" in call["words"][1:] else 0
            most = max(0, count - own - sum(weight(down) for down in downs if successful(down) and down["us"] < call["asked"]))
            if opened and opened["us"] < call["asked"] and call["result"] != 0:
                yield f"{where}, but it was open at {self.at(opened['us'])}"
            elif in_vain and most == 0:
                yield f"{where}, but it had been counted down"
            elif not in_vain and not least <= call["result"] <= most:
                yield f"{where}, expected {least} to {most}"
            if call["result"] == 0 and (not opened or call["us"] < opened["us"]):
                opened = call

    # ---- once ----

    def period(self, run):
        """The number of the period in which it began; None if it may be one or the other."""
        every_us = run["words"][2] * 1000
        first = (run["asked"] + self.epoch_us - SLACK_US) // every_us
        return first if first == (run["us"] + self.epoch_us + SLACK_US) // every_us else None

    def runs(self):
        """By name: the runs that ended with DONE, as (call of the beginning, call of DONE)."""
        for name, calls in self.by_name("ONCE"):
            begun = {(call["who"], call["result"]): call for call in calls if "EVERY" in call["words"][1:] and successful(call)}
            yield name, calls, [(begun[call["who"], call["words"][2]], call) for call in calls
                                if "DONE" in call["words"][1:] and call["result"] == 1 and (call["who"], call["words"][2]) in begun]

    def done_once(self):
        """In a period, nothing is done twice; nothing is done by two at a time; and nobody is sent away for nothing."""
        for name, calls, runs in self.runs():
            periods, last = {}, None
            for begin, done in sorted(runs, key=lambda run: run[0]["us"]):
                period = self.period(begin)
                before = periods.setdefault(period, begin) if period is not None else begin
                if before is not begin:
                    yield (f"{name}: done by {before['who']} (begun at {self.at(before['us'])}) and by {begin['who']} (begun at "
                           f"{self.at(begin['us'])}) in one period")
                if last and begin["us"] < last[1]["asked"]:
                    yield f"{name}: {last[0]['who']} was not done when {begin['who']} began at {self.at(begin['us'])}"
                last = max((last, (begin, done)), key=lambda run: run[1]["asked"]) if last else (begin, done)
            asked = [call for call in calls if "EVERY" in call["words"][1:]]
            first_us = min((call["asked"] for call in asked if successful(call) or unknown(call) or call["outcome"] == "refused"),
                           default=None)
            for call in asked:
                if call["result"] is None and not unknown(call) and (first_us is None or call["us"] < first_us):
                    yield f"{name}: {call['who']} was told at {self.at(call['us'])} that it is done, but nobody had begun it"

    # ---- meetings ----

    def meetings(self):
        """Nobody passes a barrier before all parties are there, and all of them pass or none."""
        for name, calls in self.by_name("BARRIER"):
            arrivals = [call for call in calls if "LEAVE" not in call["words"][1:]]
            strangers = [call for call in arrivals if unknown(call) or call["outcome"] == "refused"]
            together = collections.defaultdict(list)
            for call in filter(successful, arrivals):
                together[call["result"]].append(call)
            for number, members in sorted(together.items()):
                yield from self.judge_meeting(f"{name}, meeting {number}", members, strangers)

    def judge_meeting(self, title, members, strangers):
        parties = members[0]["words"][1]
        first = min(members, key=lambda call: call["us"])
        late = [call for call in members if call["asked"] >= first["us"]]
        if late:
            yield f"{title}: {first['who']} passed at {self.at(first['us'])}, {late[0]['who']} came at {self.at(late[0]['asked'])}"
        if len(members) > parties:
            yield f"{title}: {len(members)} passed, expected {parties}"
        perhaps = [call for call in strangers if call["asked"] < first["us"] < call["us"] + MINUTE_US]
        if len(members) + len(perhaps) < parties:
            yield f"{title}: {len(members)} passed at {self.at(first['us'])}, expected {parties}"

    def leave_together(self):
        """Nobody leaves a double barrier before everybody who is inside wants to."""
        for name, calls in self.by_name("BARRIER"):
            inside = collections.defaultdict(dict)  # meeting: who: when it wanted to leave, if it did leave
            first, number = {}, {}
            for call in sorted(calls, key=lambda call: call["asked"]):
                who = call["who"]
                if "LEAVE" not in call["words"][1:]:
                    number[who], first[who] = call["result"] if successful(call) else None, None
                elif number.get(who) is not None:
                    first[who] = first[who] or call
                    if call["result"] == number[who]:
                        inside[number[who]][who] = (first[who], call)
            for meeting, leaving in sorted(inside.items()):
                early = min(leaving.values(), key=lambda pair: pair[1]["us"])[1]
                for who, (wanted, _) in sorted(leaving.items()):
                    if wanted["asked"] >= early["us"]:
                        yield (f"{name}, meeting {meeting}: {early['who']} left at {self.at(early['us'])}, {who} wanted to at "
                               f"{self.at(wanted['asked'])}")

    # ---- members ----

    def stays(self):
        """By name: (number, who, JOIN, LEAVE) of every member; LEAVE is None if it was not answered with 1."""
        for name, calls in self.by_name("MEMBERS"):
            found, joined = [], {}
            for call in sorted(calls, key=lambda call: call["asked"]):
                if "JOIN" in call["words"][1:]:
                    joined[call["who"]] = len(found) if successful(call) else None
                    if successful(call):
                        found.append([call["result"], call["who"], call, None])
                elif "LEAVE" in call["words"][1:] and joined.get(call["who"]) is not None:
                    found[joined.pop(call["who"])][3] = call if call["result"] == 1 else None
            yield name, calls, found

    def members_right(self):
        """Lists have everybody who had joined and had not left, in the order of joining, and nobody who had left. A client
        whose node is not in the group for a while is missing meanwhile."""
        for name, calls, stays in self.stays():
            for call in calls:
                if len(call["words"]) > 1 or not isinstance(call["result"], list):
                    continue
                listed = {entry[0]: entry[2] for entry in call["result"]}
                where = f"{name}: {call['who']} was told {sorted(listed)} at {self.at(call['us'])}"
                calm = self.calm(call["asked"], call["us"])
                if [entry[0] for entry in call["result"]] != sorted(listed):
                    yield f"{where}, not in order"
                for number, who, join, leave in stays:
                    if number in listed and listed[number] != who:
                        yield f"{where}: {number} is {who}, not {listed[number]}"
                    if calm and join["us"] < call["asked"] and leave and leave["asked"] > call["us"] and number not in listed:
                        yield f"{where}, without {who} ({number}), a member since {self.at(join['us'])}"
                    if leave and leave["us"] < call["asked"] and number in listed:
                        yield f"{where}, with {who} ({number}), who left at {self.at(leave['us'])}"

    # ---- watching ----

    def watchers_told(self):
        """A client that watches a lock hears of another that holds it for seconds in which no fault happens."""
        heard, begun, ended = collections.defaultdict(list), {}, {}
        for event in self.events:
            connection = (event["who"], event.get("connection"))
            if event["what"] == "observed" and event.get("kind") == "lock":
                heard[connection, event["name"]].append(event)
            elif event["what"] in ("observing", "not-observing"):
                (begun if event["what"] == "observing" else ended)[connection] = event["us"]
        watched = {name for _, name in heard}
        for hold in self.holds:
            long = hold["ended"] - hold["begun"] >= TOLD_US
            if hold["name"] not in watched or not long or not self.calm(hold["begun"], hold["ended"]):
                continue
            for connection, since_us in sorted(begun.items()):
                open_all_the_time = since_us < hold["begun"] and ended.get(connection, 0) > hold["ended"]
                if open_all_the_time and not any(event["fence"] >= hold["fence"] and event["us"] <= hold["ended"]
                                                 for event in heard[connection, hold["name"]]):
                    yield (f"{hold['name']}: {hold['who']} held it by fence {hold['fence']} from {self.at(hold['begun'])} to "
                           f"{self.at(hold['ended'])}, and {connection[0]} was not told")

    # ---- all together ----

    def rules(self, rules):
        """(name, rule, is it judged) of each. What is to outlast nodes is judged where times to live do."""
        bounded, lasting = rules.bounded, rules.bounded and rules.lasting
        return [("permits-kept", self.permits_kept, bounded), ("all-or-none", self.all_or_none, True),
                ("no-deadlock", self.no_deadlock, bounded and rules.honest),
                ("same-fence-again", self.same_fence_again, bounded), ("changes-keep", self.changes_keep, bounded),
                ("upgrades-refused", self.upgrades_refused, True),
                ("numbers-unique", self.numbers_unique, True), ("numbers-rise", self.numbers_rise, bounded),
                ("latches", self.latches, lasting), ("done-once", self.done_once, lasting and rules.calendar),
                ("meetings", self.meetings, bounded), ("leave-together", self.leave_together, bounded),
                ("members-right", self.members_right, bounded), ("watchers-told", self.watchers_told, bounded and rules.honest)]

    def counts(self):
        """By recipe, how often its players asked for something, and what came of it; without HELLO, RENEW and the like."""
        found = collections.defaultdict(collections.Counter)
        for call in self.calls:
            if call["command"] in ("LOCK", "LOCKALL", "UPGRADE", "DOWNGRADE", "SEQUENCE", "LATCH", "ONCE", "BARRIER", "MEMBERS"):
                count = found[call["who"].rsplit("-", 1)[0]]
                count["asked"] += 1
                count["unanswered" if unknown(call) else {"granted": "done"}.get(call["outcome"], call["outcome"])] += 1
        watched = sum(event["what"] == "observed" and event.get("kind") == "lock" for event in self.events)
        if watched:
            found["watch"] = collections.Counter(asked=watched, done=watched)
        return {recipe: {key: count[key] for key in ("asked", "done", "nil", "refused", "unanswered")}
                for recipe, count in sorted(found.items())}


def refused(call, word):
    return call["outcome"] == "refused" and str(call["result"]).startswith(word)


def weight(down):
    """How far it counts down."""
    return down["words"][2] if len(down["words"]) > 2 else 1


def last_number(call):
    return call["result"] + (call["words"][1] if len(call["words"]) > 1 else 1) - 1


def lock_all_words(words):
    """The names of a LOCKALL: what follows the options."""
    while words and words[0] in ("WAIT", "TTL", "SECRET"):
        words = words[2:]
    return words
