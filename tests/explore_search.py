#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The explorer's search against the checker, with full states against the checker's; and the ways that an event can go:
crashes in the middle of a multicast, and choices."""

import json
import re
import subprocess
import sys

from support.explorer import CONCLAVE, ELECTIONS, MUTEXES, Explorer, fail, failures, see


def searches(explorer):
    """What the checker finds, the search finds, from where the story is."""
    for line, goal, limits, deepest in (
            ("bully -n 3", {"kind": "violation"}, {"timeouts": "any"}, 20),
            ("bully -n 3", {"kind": "state", "different": 2}, {"timeouts": "any"}, 20),
            ("maekawa-plain -n 3", {"kind": "property", "name": "every-request"}, {}, 20),
            ("chang-roberts -n 3 --start all", {"kind": "violation"}, {}, None),
            ("central -n 3", {"kind": "state", "inside": 2}, {}, None),
            ("ricart-agrawala -n 3", {"kind": "violation"}, {}, None)):
        explorer.begin(line)
        before = see(explorer)
        explorer("search", goal=goal, limits=limits)
        found = explorer("search_more", states=1)
        while not found["done"]:
            found = explorer("search_more", states=1000)
        if found["found"] != bool(deepest):
            fail(f"search {line} {goal} {limits}: {found}")
            continue
        if see(explorer) != before:
            fail(f"search {line}: it has changed the story")
        if not deepest:
            if not found["complete"]:
                fail(f"search {line} {goal}: not complete: {found}")
            continue
        violated = []
        for index in found["indices"]:
            violated = explorer("do", index=index).get("violated", [])
        now = explorer("now")
        different = {it["leader"] for it in now["nodes"] if it["leader"] is not None}
        if goal["kind"] == "violation" and not violated or goal["kind"] == "state" and len(different) < 2:
            fail(f"search {line} {goal}: its steps lead to {now}")
        if goal["kind"] == "property" and goal["name"] not in violated:
            fail(f"search {line} {goal}: its steps violate {violated}")
        if len(found["indices"]) > deepest:
            fail(f"search {line} {goal}: {len(found['indices'])} steps")


def whole_search(explorer, goal, limits):
    """Searches to the end, a few states at a time."""
    began = explorer("search", goal=goal, limits=limits)
    if "error" in began:
        return began
    found = explorer("search_more", states=3)
    while not found.get("done", True):
        found = explorer("search_more", states=20000)
    return found


def checked(line, *more):
    done = subprocess.run([CONCLAVE, "check", *line.split(), *more, "--threads", "1", "--no-reduction", "--json"],
                          capture_output=True, check=False)
    return json.loads(done.stdout)


def like_the_checker(explorer):
    """
    The same transitions as the checker without reductions, and states if all were searched; or a violation where it
    finds one. The states of the last level are the checker's alone.
    """
    compared = 0
    for name in ELECTIONS + MUTEXES:
        for nodes, crashes in ((2, 0), (2, 1), (3, 0), (3, 1), (3, 2)):
            line = f"{name} --ids {','.join(str(i + 1) for i in range(nodes))}" + (" --graph line" if name == "wireless" else "")
            theirs = checked(line, "--crashes", str(crashes), "--depth", "18")
            explorer.begin(line)
            if name == "token-ring":  # the checker's token has set out
                explorer("do", index=next(it["index"] for it in explorer("events") if it["type"] == "start"))
            mine = whole_search(explorer, {"kind": "violation"}, {"crashes": crashes, "states": 1000000, "depth": 18})
            what = f"search {line}, {crashes} crashes: {mine}, the checker's {theirs['states']} states, {theirs['transitions']} transitions, {theirs['verdict']}"
            at_end = bool(theirs["counterexample"]) and not any("loop" in str(step) for step in theirs["counterexample"])
            if mine.get("found"):
                if not at_end:
                    fail(f"{what}: it finds what is not there")
                violated = [explorer("do", index=index).get("violated", []) for index in mine["indices"]]
                if not violated or not violated[-1]:
                    fail(f"{what}: its steps violate nothing")
            elif (mine["transitions"], mine["complete"], mine["states"] if mine["complete"] else 0) != (
                    theirs["transitions"], theirs["complete"], theirs["states"] if theirs["complete"] else 0):
                fail(what)
            compared += not mine.get("found")
    if compared < 50:
        fail(f"only {compared} searches could be compared with the checker")


def both_engines(explorer):
    """With drops allowed, full states are searched, and without any the same is found."""
    for line, limits in (("bully -n 3", {"crashes": 1}), ("central -n 3", {"crashes": 1}), ("multicast -n 3", {"timeouts": "any"}),
                         ("ricart-agrawala -n 3 --entries 2", {}), ("voting -n 2", {}), ("franklin -n 3", {"recoveries": 1, "crashes": 1})):
        explorer.begin(line)
        explorer("run", count=2)
        fast = whole_search(explorer, {"kind": "violation"}, {**limits, "states": 100000})
        slow = whole_search(explorer, {"kind": "violation"}, {**limits, "states": 100000, "full": True})
        if (fast["found"], len(fast.get("indices", []))) != (slow["found"], len(slow.get("indices", []))):
            fail(f"search {line} {limits}: {fast}; with full states {slow}")


def same_counts(explorer):
    """Full states and the checker's are other code: the same states and transitions, with crashes between sends."""
    for line, limits in (("chang-roberts -n 5", {}), ("chang-roberts -n 3", {"crashes": 1}), ("franklin -n 4", {}), ("peterson -n 4", {}),
                         ("central -n 3", {}), ("ricart-agrawala -n 3", {}), ("maekawa -n 2", {}),
                         ("bully -n 2", {"timeouts": "any", "crashes": 1}), ("wireless -n 3 --graph line", {"timeouts": "any", "crashes": 1}),
                         ("bully -n 3", {"timeouts": "any", "crashes": 2, "depth": 6}),
                         ("multicast -n 3", {"timeouts": "any", "crashes": 2, "depth": 3}),
                         ("wireless -n 3 --graph line", {"timeouts": "any", "crashes": 1, "recoveries": 1, "depth": 4}),
                         ("bully -n 2", {"timeouts": "any", "cuts": 1, "depth": 6})):
        explorer.begin(line)
        fast, slow = (whole_search(explorer, {"kind": "state", "inside": 99}, {**limits, "states": 100000, "full": full}) for full in (False, True))
        if fast != slow:
            fail(f"search {line} {limits}: {fast}; with full states {slow}")


def ways(explorer):
    """A crash in the middle of a multicast and a choice are events with an index, which says all."""
    explorer.begin("bully -n 4")
    start = next(it for it in explorer("events") if it["type"] == "start" and it["node"] == 0)
    told = explorer("variants", index=start["index"])
    before = see(explorer)
    if told["sends"] != 3 or [it["sent"] for it in told["variants"]] != [1, 1, 2, 2] or told["choices"]:
        fail(f"the ways of a multicast to three: {told}")
    for variant in told["variants"]:
        did = explorer("do", index=variant["index"])
        now, row = explorer("now"), explorer("history")[-1]
        if now["nodes"][0]["alive"] or len(row["sent"]) != variant["sent"] or row["index"] != variant["index"] or did["index"] != variant["index"]:
            fail(f"{variant}: {did}, {row}")
        exported = explorer("export")["file"]
        if f"sent {variant['sent']}{' missed' if variant['missed'] else ''}\n" not in exported:
            fail(f"{variant}: exported as {exported}")
        explorer("load", file=exported)
        if explorer("history")[-1]["index"] != variant["index"]:
            fail(f"{variant}: loaded as {explorer('history')[-1]}")
        explorer.begin("bully -n 4")
    if see(explorer) != before:
        fail("looking at the ways of an event has changed something")
    for index in (start["index"] + 7 * 10 ** 6, told["variants"][-1]["index"] * 3, 2 ** 53):
        answer = explorer("do", index=index)
        if f"do {index}" not in answer.get("error", ""):
            fail(f"do {index}: {answer}")
    if see(explorer) != before:
        fail("a way that does not exist has changed something")


def choices(explorer):
    """Every value of a choice can be taken, by its index; the search takes them all."""
    line = "voting -n 3 --entries 1 --set backoff=4"
    explorer.begin(line)
    events = explorer("events")
    for _ in range(60):
        told = next((it for it in (explorer("variants", index=event["index"]) for event in events if event["likely"]) if it["choices"]), None)
        if told:
            break
        explorer("do", index=next(it for it in events if it["likely"])["index"])
        events = explorer("events")
    if not told:
        fail(f"{line}: nothing chooses")
        return
    chosen = [it for it in told["variants"] if it["sent"] is None]
    if [it["choices"] for it in chosen] != [[i] for i in range(told["choices"][0]["ways"])]:
        fail(f"{line}: the choices {told}")
    taken = [row["index"] for row in explorer("history")]
    for variant in chosen:
        did = explorer("do", index=variant["index"])
        if [it["chosen"] for it in did["choices"]] != variant["choices"]:
            fail(f"{variant}: {did}")
        after, exported = explorer.text("now"), explorer("export")["file"]
        explorer.begin(line)
        for index in taken + [variant["index"]]:
            explorer("do", index=index)
        if explorer.text("now") != after:
            fail(f"{variant}: another state by the same indices")
        explorer("load", file=exported)
        if explorer("history")[-1]["index"] != variant["index"]:
            fail(f"{variant}: loaded as {explorer('history')[-1]}")
        explorer.begin(line)
        for index in taken:
            explorer("do", index=index)


def large_choices(explorer):
    """A file says what was chosen of 2^32 - 1 ways, in a group whose indices have no room for that: the indices of what it
    opens still say it all, as texts."""
    explorer.begin("voting -n 64 --set backoff=100000000 --request 1@0,2@0,3@0,4@0")
    explorer("run", count=2000)
    numbers = iter((4294967294, 17, 0))
    file = re.sub(r"chose \d+", lambda _: f"chose {next(numbers)}", explorer("export")["file"])
    loaded = explorer("load", file=file)
    indices = [row["index"] for row in explorer("history")]
    texts = [it for it in indices if isinstance(it, str)]
    if "error" in loaded or [it.split(" ", 1)[1] for it in texts] != ["chose 4294967294", "chose 17", "chose 0"]:
        fail(f"choices of 2^32 - 1 ways: {loaded}, indices {texts}")
        return
    now, exported = explorer.text("now"), explorer("export")["file"]
    explorer("go", step=0)
    if explorer("take", indices=indices).get("trouble") or explorer.text("now") != now or explorer("export")["file"] != exported:
        fail(f"choices of 2^32 - 1 ways, taken by indices: {explorer('now')}")
    at = indices.index(texts[0])
    for wrong in (texts[0].replace("4294967294", "4294967295"), f"{texts[0]} chose 1", f"{texts[0]} sent 5000", f"{texts[0]} from 1", "chose 1", "999999 chose 1", ""):
        explorer("go", step=at)
        before = see(explorer)
        answer = explorer("do", index=wrong), explorer("take", indices=[wrong])
        if f"do {wrong}" not in answer[0].get("error", "") or "trouble" not in answer[1] or see(explorer) != before:
            fail(f"do {wrong}: {answer}")
    explorer("go", step=at)
    did = explorer("do", index=f"{texts[0]} sent 1 missed")
    if did.get("index") != f"{texts[0]} sent 1 missed" or explorer("now")["nodes"][did["node"]]["alive"]:
        fail(f"a choice and a crash: {did}")


def main():
    explorer = Explorer()
    searches(explorer)
    like_the_checker(explorer)
    both_engines(explorer)
    same_counts(explorer)
    ways(explorer)
    choices(explorer)
    large_choices(explorer)
    explorer.end()
    if failures:
        sys.exit(f"{len(failures)} failures")


main()
