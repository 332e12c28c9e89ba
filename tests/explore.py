#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The explorer (src/explore): its runs against the simulator's, its stories against the checker's replay, going back
against having been there, its words against those of `conclave sim`.

usage: explore.py [--walks N] [--seed S]    all of it
       explore.py --wasm-walks N         only so many walks, natively and as WebAssembly
tests/explore_search.py has the search, and the ways that an event can go; bench/search measures it."""

import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

from support import explore_looks, explore_runs
from support.explorer import CONCLAVE, DRIVER, ELECTIONS, MUTEXES, ROOT, ROUNDS, WASM, Explorer, fail, failures, see, sim

HERE = pathlib.Path(__file__).resolve().parent

# What the simulator plays, the explorer's likely run plays, too.
PLAYED = ([f"{name} -n 6 --ids random --seed 5" for name in ELECTIONS + ROUNDS]
          + [f"{name} -n 7 --ids random --start all --seed 2" for name in ELECTIONS]
          + [f"{name} -n 5 --entries 2" for name in MUTEXES]
          + [f"{name} -n 4 --entries 2 --hold 3 --think 2 --delay 1..4 --seed 8" for name in MUTEXES if name != "token-ring"]
          + [f"{name} -n 6 --delay 1..6 --seed 3" for name in ELECTIONS + ROUNDS]
          + ["bully --ids 0..7 --crash 7@0 --start 4", "chang-roberts --ids 3,32,5,80,6,12", "ring-list -n 5 --crash 5@0",
             "central -n 4 --request 2@0+5,3@1,4@2+2", "gamma --app flood-max -n 6", "beta --app bfs-tree -n 9 --graph grid:3x3",
             "bellman-ford-async --graph gadget:3"])

def like_the_simulator(explorer):
    """Who only ever does what is next gets the simulator's run."""
    for line in PLAYED:
        if not explorer.begin(line):
            continue
        explorer("run", count=100000)
        now, run = explorer("now"), sim(*line.split())
        if not run:
            continue
        if not now["ended"]:
            fail(f"{line}: the explorer's run does not end")
        for what, mine, theirs in (("counts", now["counts"]["by_kind"], {**run["messages"]["by_kind"], **run.get("preparing", {}).get("by_kind", {})}),
                                   ("total", now["counts"]["total"], run["messages"]["total"]),
                                   ("verdict", now["verdict"], run["verdict"]),
                                   ("time", now["theory"]["delay"] and now["theory"]["delay"]["counted"], now["theory"]["delay"] and run["time"]),
                                   ("theory", *(told and [told[key] for key in ("formula", "value", "relation", "holds")]
                                                for told in (now["theory"]["messages"], run["theory"]["messages"])))):
            # In the simulator a token ring ends with the last exit. In the explorer somebody may want to enter later, so the token goes on.
            if line.startswith("token-ring") and what in ("counts", "total"):
                theirs = theirs + 1 if what == "total" else {**theirs, "token": theirs["token"] + 1}
            if mine != theirs:
                fail(f"{line}: {what} {mine}, the simulator's {theirs}")
        leaders = {str(explorer("scenario")["nodes"][it["node"]]["id"]): it["leader"] for it in now["nodes"] if it["alive"]}
        if run["problem"] == "election" and leaders != run["elected"]:
            fail(f"{line}: leaders {leaders}, the simulator's {run['elected']}")


# Traces with faults, which the explorer follows, too.
FAULTY = ["bully -n 5 --start all --crash 3@after:election --crash 5@before:coordinator", "bully -n 6 --partition 1,2,3/4,5,6@3..20",
          "ring-list -n 5 --suspect 1:2@3 --blind 3:4", "bully --ids 0..7 --crash 7@0 --start 4 --recover 7@9",
          "chang-roberts -n 5 --delay exp:4 --seed 9 --unordered", "ring-list -n 6 --crash 4@2 --delay 1..3",
          "wireless -n 8 --graph geometric:0.5 --labels a..h", "multicast -n 4 --crash 4@1 --detect 3",
          "bully -n 6 --start all --partition 1,2,3/4,5,6@0.. --alternate 3:4 --delay 1..3", "bully -n 6 --until 2 --start all",
          "bully -n 4 --start all --partition 1,2/3,4@1..4 --delay 1..9",
          "central -n 4 --entries 2 --crash 4@5", "ricart-agrawala -n 4 --entries 2 --crash 2@3 --recover 2@12 --hold 3",
          "maekawa -n 6 --entries 2 --crash 3@4 --delay 1..4", "lamport -n 4 --entries 3 --crash 1@6 --crash 4@9 --recover 1@20",
          "voting -n 5 --entries 2 --crash 5@4 --seed 3", "central -n 3 --entries 1 --hold 3 --crash 2@5 --crash 1@4 --recover 1@17",
          "lamport -n 6 --entries 2 --seed 87 --delay 1..4 --crash 1@13 --recover 1@19 --crash 6@13", "maekawa -n 3 --entries 2 --hold 4 --crash 3@1 --recover 3@3 --crash 2@4", "central -n 4 --crash 4@0 --entries 2", "central -n 4 --entries 2 --views on --partition 1/2,3,4@3..6",
          "maekawa -n 7 --set quorums=plane --entries 2", "token-ring -n 4 --entries 3"]


def follows_traces(explorer):
    """A trace of the simulator is a story: the same steps, to its end."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "run.jsonl"
        for line in PLAYED + FAULTY:
            run = sim(*line.split(), "--trace", str(path))
            text = path.read_text(encoding="utf-8")
            loaded = explorer("load", file=text)
            if "error" in loaded or "trouble" in loaded:
                fail(f"trace of {line}: {loaded}")
                continue
            now = explorer("now")
            counts = {**run["messages"]["by_kind"], **run.get("preparing", {}).get("by_kind", {})}
            if line.startswith("token-ring"):  # as above
                counts["token"] += 1
            received = sum('"event":"receive"' in it for it in text.splitlines())
            delivered = sum(it["type"] == "deliver" for it in explorer("history"))
            if now["counts"]["by_kind"] != counts or delivered != received:
                fail(f"trace of {line}: {now['counts']['by_kind']} and {delivered} deliveries, the simulator's {counts} and {received}")
            if loaded["words"] != [line.split()[0], *line.split()[1:]]:
                fail(f"trace of {line}: the words are {loaded['words']}")
        tells_where_it_cannot(explorer, path)


def tells_where_it_cannot(explorer, path):
    """A trace that tells of something else than the algorithm does is followed so far, and the line is named."""
    sim("chang-roberts", "-n", "4", "--trace", str(path))
    lines = path.read_text(encoding="utf-8").splitlines()
    elected = next(i for i, it in enumerate(lines) if '"event":"elected"' in it)
    for changed, expected in ((lines[elected].replace('"leader":4', '"leader":3'), "elects"), ("nonsense", "expected JSON"),
                              (lines[elected].replace('"event":"elected"', '"event":"timeout","timer":"x"'), "cannot happen")):
        loaded = explorer("load", file="\n".join([*lines[:elected], changed, *lines[elected + 1:]]))
        if f"line {elected + 1} of the trace" not in loaded.get("trouble", "") or expected not in loaded["trouble"] or not loaded["step"]:
            fail(f"a changed trace: {loaded}")
    old = json.loads(lines[0])
    del old["words"]
    if "words" not in explorer("load", file="\n".join([json.dumps(old), *lines[1:]])).get("error", ""):
        fail("a trace without words is not refused")


def recording(node, *events):
    """What a node of a group of three records."""
    header = {"schema": 1, "type": "live", "node": node, "started": 1000, "nodes": [1, 2, 3], "attributes": [1, 2, 3]}
    return "".join(json.dumps(it) + "\n" for it in (header, *events))


def of_lock(time, event, node, lamport, **more):
    return {"time": time, "event": event, "node": node, "lamport": lamport, "subject": "lock", "name": "x", "algorithm": "central", "round": 1, **more}


def told(time, event, **more):
    return {"time": time, "event": event, "node": 1, "subject": "lock", "name": "x", "algorithm": "central", "round": 1, **more}


RECORDED = [
    recording(1, {"time": 1500, "event": "view", "node": 1, "view": 2, "base": 7, "coordinator": 3, "members": [1, 2, 3]},
              of_lock(2000, "request", 1, 1), of_lock(2000, "send", 1, 2, message=11, to=3, kind="request", body=[]),
              of_lock(2900, "receive", 1, 6, message=12, **{"from": 3}, kind="grant", body=[1, 0]), of_lock(2900, "enter", 1, 6, fence=1),
              told(2950, "grant", session=5, fence=71), told(3500, "end", session=5, fence=71),
              of_lock(3600, "leave", 1, 7), of_lock(3600, "send", 1, 8, message=13, to=3, kind="release", body=[]),
              {"type": "end", "time": 9000}),
    recording(2, {"type": "mark", "time": 1200}),
    # Its clock is behind: the request arrives before it was sent.
    recording(3, of_lock(1900, "receive", 3, 4, message=11, **{"from": 1}, kind="request", body=[]),
              of_lock(1900, "send", 3, 5, message=12, to=1, kind="grant", body=[1, 0])) + '{"time":2000,"ev',
]


def opens_recordings(explorer):
    """What live nodes recorded is told in causal order, forwards and backwards, and nothing else can happen."""
    loaded = explorer("load", recordings=RECORDED)
    if "error" in loaded:
        fail(f"recordings: {loaded}")
        return
    types = [it["type"] for it in explorer("history")]
    if types != ["remark", "request", "deliver", "deliver", "remark", "remark", "leave", "remark"]:
        fail(f"recordings: {types}")
    inside, seen = [], [see(explorer)]
    for step in range(loaded["step"], 0, -1):
        inside.insert(0, explorer("now")["nodes"][0]["inside"])
        explorer("go", step=step - 1)
        seen.insert(0, see(explorer))
    if inside != [False, False, False, True, True, True, False, False]:
        fail(f"recordings: node 1 is inside: {inside}")
    for step in range(loaded["step"]):
        explorer("do", index=0)
        if see(explorer) != seen[step + 1]:
            fail(f"recordings: step {step + 1} is another the second time")
    history = explorer("history")
    if history[2]["text"] != "3 hears request from 1, sends grant(1) to 1" or history[6]["lost"] != [3]:
        fail(f"recordings: {history}")
    for call, arguments in (("do", {"index": 0}), ("do", {"index": 1}), ("search", {"goal": {"kind": "violation"}}), ("export", {})):
        if "error" not in explorer(call, **arguments):
            fail(f"recordings: {call} is not refused")
    for texts, expected in (([RECORDED[0], RECORDED[0]], "another of this one"), ([RECORDED[0], "{}\n"], "header"), (["nonsense\n"], "JSON"),
                            ([RECORDED[0].replace('"grant", "body": [1, 0]', '"grant", "body": [1]')], "as long as"),
                            ([RECORDED[0].replace("central", "nothing")], "known algorithm"), ([RECORDED[1]], "at least one name")):
        if expected not in explorer("load", recordings=texts).get("error", ""):
            fail(f"recordings with a mistake: {explorer('load', recordings=texts)}, expected {expected}")


def refuses_copies(explorer):
    """A request that comes three times is refused as a real node refuses it: a queue has room for one of each node."""
    for algorithm in ("maekawa", "maekawa-plain", "central", "lamport", "ricart-agrawala", "voting"):
        explorer.begin(f"{algorithm} -n 3 --entries 2")
        for turn in range(12):
            copies = [it for it in explorer("events") if it["type"] == "duplicate"]
            if copies:
                explorer("do", index=copies[turn % len(copies)]["index"])
            explorer("run", count=1)
        explorer("run", count=300)
        broken = [it for it in explorer("now")["properties"] if it["name"] == "invariant" and it["verdict"] == "violated"]
        if broken:
            fail(f"{algorithm} with copies of messages: {broken}")


def heals(explorer):
    """A partition that lasts for ever can be healed, and then the sides hear of each other."""
    explorer.begin("bully -n 4 --partition 1,2/3,4@0.. --start all")
    explorer("run", count=1000)
    cut = explorer("now")["cuts"]
    healing = [it for it in explorer("events") if it["type"] == "heal" and it["node"] is None]
    if len(cut) != 4 or len(healing) != 1 or healing[0]["likely"]:
        fail(f"an endless partition: cuts {cut}, what heals it {healing}")
        return
    before = explorer("now")["ended"]
    explorer("do", index=healing[0]["index"])
    if not before or explorer("now")["ended"] or explorer("now")["cuts"]:
        fail("an endless partition: when it is healed, nothing else can happen")
    explorer("run", count=1000)
    if not any(it["type"] == "trust" for it in explorer("history")):
        fail("an endless partition that was healed: nobody hears of it")
    exported = explorer("export")["file"]
    if "heal partition 0" not in exported or "error" in explorer("load", file=exported):
        fail(f"an endless partition that was healed: {exported}")
    explorer("go", step=0)
    explorer("run", count=1)
    explorer("do", index=next(it["index"] for it in explorer("events") if it["type"] == "heal" and it["node"] is None))
    explorer("run", count=1000)
    leaders = {it["leader"] for it in explorer("now")["nodes"]}
    if leaders != {4}:
        fail(f"a partition that was healed before anybody called: leaders {leaders}")


NET, SETS, TREES = "1 2 3\n2 3 4\n3 1 5\n3 4 1\n", "1: 1 2\n2: 2 3\n3: 3 1\n", "1 2\n3 4\n"


def exports_files(explorer):
    """A saved story has the files in it that its words name; `sim --replay` plays it anywhere, and tells it in the same words."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "story.replay"
        for line, files, version, loses in (
                ("bellman-ford-async -n 4 --graph net.txt", {"net.txt": NET}, 2, False),
                ("alpha -n 4 --graph a/net.txt", {"a/net.txt": NET}, 2, False),
                ("wireless -n 4 --graph net.txt", {"net.txt": NET}, 1, False),
                ("wireless -n 4 --graph net.txt", {"net.txt": NET}, 2, True),
                ("maekawa -n 3 --set quorums=sets.txt", {"sets.txt": SETS}, 1, False),
                ("maekawa -n 3 --set quorums=sets.txt --delay 1..9", {"sets.txt": SETS}, 2, False),
                ("gamma -n 4 --graph net.txt --set clusters=trees.txt", {"net.txt": NET, "trees.txt": TREES}, 2, False)):
            if not explorer.begin(line, files=files):
                continue
            explorer("run", count=4)
            if loses:
                explorer("do", index=next(it["index"] for it in explorer("events") if it["type"] == "drop"))
            explorer("run", count=1000)
            exported, story, now = explorer("export")["file"], explorer("story")["text"], explorer.text("now")
            if not exported.startswith(f"conclave replay {version}\n"):
                fail(f"{line}: exported as {exported[:18]}")
            path.write_text(exported, encoding="utf-8")
            played = subprocess.run([CONCLAVE, "sim", "--replay", str(path), "--transcript"], capture_output=True, text=True, check=False, cwd=directory)
            if not played.stdout.startswith(story + "\n"):
                fail(f"{line}: sim --replay says {played.stdout[:300]}{played.stderr}, the explorer {story[:300]}")
            loaded = explorer("load", file=exported)
            if "error" in loaded or version == 2 and (loaded["files"] != files or explorer.text("now") != now):
                fail(f"{line}: what was exported is loaded as {loaded}")


def scenarios(chance):
    """A scenario for a walk."""
    kind = chance.random()
    if kind < 0.45:
        name, more = chance.choice(ELECTIONS), chance.choice(["", " --start all", " --ids random --seed 4"])
    elif kind < 0.85:
        name, more = chance.choice(MUTEXES), chance.choice(["", " --entries 2", " --request 1@0,2@3+4"])
    else:
        name, more = chance.choice(ROUNDS), chance.choice(["", " --graph ring"])
    size = chance.randint(2, 6) if chance.random() < 0.9 else chance.randint(17, 40)
    dead = f" --crash {size}@0" if size > 2 and chance.random() < 0.1 and kind < 0.45 else ""
    if 0.45 <= kind < 0.85 and chance.random() < 0.2:
        more += f" --crash {chance.randint(1, size)}@{chance.randint(1, 9)}"
    unordered = " --unordered" if chance.random() < 0.1 else ""
    return f"{name} -n {size}{more}{dead}{unordered}"


def choose(chance, events):
    likely = [event for event in events if event["likely"]]
    return chance.choice(likely) if likely and chance.random() < 0.7 else chance.choice(events)


def marked(what, before, after):
    """The fields of a state that the last step changed, and no others, are marked."""
    for old, new in zip(json.loads(before)["nodes"], json.loads(after)["nodes"]):
        values = {field["name"]: field["value"] for field in old["state"]}
        for field in new["state"]:
            if field["changed"] != (values[field["name"]] != field["value"]):
                fail(f"{what}: node {new['node']}: {field}, it was {values[field['name']]}")
                return


def walk(explorer, chance, number, directory):
    line = scenarios(chance)
    if not explorer.begin(line):
        return
    seen, taken, lossy = [see(explorer)], [], chance.random() < 0.3
    for _ in range(chance.randint(1, 40)):
        events = [it for it in json.loads(seen[-1][1]) if lossy or it["type"] not in ("drop", "duplicate")]
        if not events:
            break
        event = choose(chance, events)
        did = explorer("do", index=event["index"])
        if "error" in did:
            fail(f"walk {number}, {line}, {taken}: do {event}: {did['error']}")
            return
        taken.append(event["index"])
        seen.append(see(explorer))
        marked(f"walk {number}, {line}, {taken}", seen[-2][0], seen[-1][0])
    story, exported = explorer.text("story"), explorer("export")["file"]
    judge_by_replay(f"walk {number}, {line}, {taken}", json.loads(seen[-1][0]), exported, directory)
    go_back(explorer, chance, f"walk {number}, {line}, {taken}", seen, taken)
    if explorer.text("story") != story:
        fail(f"walk {number}, {line}, {taken}: the story is another after going back and forth")
    loaded = explorer("load", file=exported)
    if "error" in loaded:
        fail(f"walk {number}, {line}, {taken}: load: {loaded['error']}")
        return
    again(explorer, f"walk {number}, {line}, {taken}")
    if explorer("export")["file"].split("\n")[1:] != exported.split("\n")[1:] and "--crash" not in line:
        fail(f"walk {number}, {line}, {taken}: what was exported and loaded is exported otherwise")


def again(explorer, what):
    """The page takes what a file has opened by its indices, and goes back and forth by them: they say it all."""
    now, indices = explorer.text("now"), [row["index"] for row in explorer("history")]
    explorer("go", step=0)
    if "trouble" in explorer("take", indices=indices) or explorer.text("now") != now:
        fail(f"{what}: what was loaded is another by its indices, {indices}")


def go_back(explorer, chance, what, seen, taken):
    """Back and forth: every state is as it was."""
    at = len(taken)
    for _ in range(4):
        to = chance.randint(0, len(taken))
        if to <= at:
            explorer("go", step=to) if chance.random() < 0.5 else explorer("back", count=at - to)
        for index in taken[at:to]:
            explorer("do", index=index)
        at = to
        for mine, theirs, call in zip(see(explorer), seen[at], ("now", "events", "history")):
            if mine != theirs:
                fail(f"{what}: {call} at step {at} is another after going back")
                return
    for index in taken[at:]:
        explorer("do", index=index)


def judge_by_replay(what, now, exported, directory):
    """The checker's replay is other code: it counts and judges the same. What it cannot play, the explorer plays."""
    path = pathlib.Path(directory) / "story.replay"
    path.write_text(exported, encoding="utf-8")
    run = sim("--replay", str(path))
    if not run:
        print(exported)
        return
    verdict = {"unfinished": "open"}.get(run["verdict"], run["verdict"])
    counts = {**run["messages"]["by_kind"], **run.get("preparing", {}).get("by_kind", {})}
    if counts != now["counts"]["by_kind"]:
        fail(f"{what}: counts {now['counts']['by_kind']}, the replay's {counts}")
    if verdict != now["verdict"] and not (now["verdict"] == "held" and run["algorithm"] == "token-ring"):
        fail(f"{what}: verdict {now['verdict']} ({now['reason']}), the replay's {verdict} ({run['reason']})")
    mine = {it["name"]: it["verdict"] for it in now["properties"]}
    for finding in run["properties"]:
        theirs = {"unfinished": "open"}.get(finding["verdict"], finding["verdict"])
        if mine.get(finding["name"]) != theirs and run["algorithm"] != "token-ring":
            fail(f"{what}: {finding['name']} {mine.get(finding['name'])}, the replay's {theirs}: {finding['detail']}")


def random_walks(explorer, count, seed):
    with tempfile.TemporaryDirectory() as directory:
        for number in range(count):
            walk(explorer, random.Random(seed + number), number, directory)
            if len(failures) > 10:
                return


def far_back(explorer):
    """Ten thousand steps, and back: quickly, and to the same."""
    explorer.begin("token-ring -n 5 --entries 2500")
    first = explorer.text("now")
    explorer("run", count=10000)
    if explorer("now")["step"] != 10000:
        fail("10,000 steps of a token ring: there are fewer")
    began = time.monotonic()
    explorer("go", step=0)
    took = time.monotonic() - began
    if explorer.text("now") != first:
        fail("10,000 steps back: another beginning")
    if took > 2:
        fail(f"10,000 steps back take {took:.1f} s")
    explorer.begin("chang-roberts -n 1000 --ids random")
    explorer("run", count=100)
    if explorer("now")["step"] != 100:
        fail("1,000 nodes: no steps")


def wrong_words(explorer):
    """What cannot be is refused in one line that names it, and changes nothing."""
    explorer.begin("bully -n 3")
    before = explorer.text("now")
    for name, arguments, expected in (
            ("begin", {"words": ["bully", "--nodes", "x"]}, "--nodes x"),
            ("begin", {"words": ["nothing"]}, "nothing: no such algorithm"),
            ("begin", {"words": ["bully", "--json"]}, "--json: no such option"),
            ("begin", {"words": ["bully", "--nodes"]}, "expected a value"),
            ("begin", {"words": ["central", "--names", "2"]}, "--names 2"),
            ("begin", {"words": ["wireless", "--graph", "F"]}, "--graph F"),
            ("begin", {"words": []}, "expected an algorithm"),
            ("do", {"index": 10 ** 9}, "do 1000000000"),
            ("back", {"count": 1}, "back 1"),
            ("go", {"step": 5}, "go 5"),
            ("load", {"file": "nothing"}, "conclave replay 1"),
            ("load", {"file": "conclave replay 1\nword bully\nstart 9\n"}, "line 3, start 9"),
            ("load", {"file": "conclave replay 1\nword bully\ndeliver 2 from 1\n"}, "cannot happen"),
            ("search", {"goal": {"kind": "luck"}}, "goal"),
            ("search_more", {}, "after search"),
            ("fly", {}, "fly: no such call")):
        answer = explorer(name, **arguments)
        if expected not in answer.get("error", ""):
            fail(f"{name} {arguments}: {answer}, expected an error with {expected}")
    if explorer.text("now") != before:
        fail("a refused call has changed something")
    explorer.begin("wireless --graph F", files={"F": "1 2\n2 3\n"})
    if len(explorer("scenario")["edges"]) != 2:
        fail("a graph given as a file has other edges")


# Every option of `conclave sim` that says what is run: a scenario, and the option with a value that changes it.
TAKEN = {
    "nodes": ("bully", "--nodes 3"), "ids": ("bully -n 3", "--ids 5,9,2"), "attr": ("bully -n 3", "--attr 9,2,1"),
    "start": ("bully -n 4", "--start all"), "graph": ("wireless -n 5", "--graph ring"), "set": ("ring-list -n 4", "--set policy=min"),
    "app": ("alpha -n 4", "--app flood-max"), "request": ("central -n 3", "--request 2@3+4"), "entries": ("central -n 3", "--entries 2"),
    "hold": ("central -n 3", "--hold 5"), "think": ("central -n 3 --entries 2", "--think 4"),
    "views": ("central -n 4 --entries 2 --crash 4@5", "--views off"), "election": ("central -n 5 --entries 2 --crash 5@5", "--election ring-list"),
    "seed": ("bully -n 4 --delay 1..9 --start all", "--seed 7"), "delay": ("bully -n 4 --start all", "--delay 1..9"),
    "lag": ("bully -n 3", "--lag 1:2=5"), "unordered": ("lamport -n 4 --entries 2 --delay 1..9", "--unordered"),
    "serial": ("lamport -n 4 --entries 2 --delay 1..9", "--serial"), "crash": ("bully -n 4", "--crash 4@2"),
    "recover": ("bully -n 4 --crash 4@1", "--recover 4@9"), "partition": ("bully -n 4 --start all", "--partition 1,2/3,4@0..9"),
    "alternate": ("bully -n 4 --start all --partition 1,2/3,4@0..9", "--alternate 2:3"), "suspect": ("ring-list -n 5", "--suspect 1:2@1"),
    "blind": ("bully -n 4 --crash 4@2", "--blind 1:4"), "detect": ("bully -n 4 --crash 4@2", "--detect 5"), "until": ("bully -n 4", "--until 2"),
}
REFUSED = {"names": "--names 2", "loss": "--loss 0.2", "duplicate": "--duplicate 0.2", "reorder": "--reorder"}
SHOWN = {"checkpoint", "every", "resume", "step-limit", "json", "runs", "threads", "diagram", "transcript", "states", "svg", "trace", "shiviz", "timing", "replay", "help"}


def takes_every_option(explorer):
    """Every option of `conclave sim` is taken, and then what is next is the simulator's run; or it is refused by its name."""
    help_text = json.loads(subprocess.run([CONCLAVE, "help", "--json"], capture_output=True, check=True).stdout)
    command = next(it for it in help_text["commands"] if it["name"] == "sim")
    names = {option["name"].lstrip("-") for option in command["options"]}
    if names - {"labels"} != TAKEN.keys() | REFUSED.keys() | (SHOWN & names):
        fail(f"options of sim: {names ^ (TAKEN.keys() | REFUSED.keys() | SHOWN)} are neither taken nor refused")
    for name, words in REFUSED.items():
        error = explorer("begin", words=["central", "-n", "3", *words.split()]).get("error", "")
        if not error.startswith(f"{words}: expected"):
            fail(f"{words}: {error or 'is taken'}")
        told = subprocess.run([CONCLAVE, "explore", "central", "-n", "3", *words.split(), "--no-open"], capture_output=True, text=True, check=False, timeout=60)
        if told.returncode != 2 or told.stderr != f"conclave: {error}\n":
            fail(f"conclave explore {words}: {told}")
    explorer.begin("bully -n 3 --labels red,green,blue")
    if [it["label"] for it in explorer("scenario")["nodes"]] != ["red", "green", "blue"] or "red calls" not in explorer.text("events"):
        fail("--labels: the nodes have other names")
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "run.jsonl"
        for name, (line, words) in TAKEN.items():
            runs = []
            for more in ("", words):
                sim(*line.split(), *more.split(), "--trace", str(path))
                text = path.read_text(encoding="utf-8")
                runs.append(text[text.index("\n") + 1:])
            if runs[0] == runs[1]:
                fail(f"{line} {words}: the option changes nothing")
            explore_runs.same_run(explorer, f"{line} {words}", runs[1])
        for line in FAULTY:
            sim(*line.split(), "--trace", str(path))
            explore_runs.same_run(explorer, line, path.read_text(encoding="utf-8"))


def same_words(explorer):
    """Every option of `conclave sim` that says what is run is known here, and no other."""
    help_text = json.loads(subprocess.run([CONCLAVE, "help", "--json"], capture_output=True, check=True).stdout)
    command = next(it for it in help_text["commands"] if it["name"] == "sim")
    for option in command["options"]:
        name = option["name"].lstrip("-")
        error = explorer("begin", words=["bully", f"--{name}", "?"]).get("error", "")
        if (name in SHOWN) != (f"--{name}: no such option here" in error):
            fail(f"--{name}: {error}")


def keys_of(value):
    """All keys of an answer; message kinds are data."""
    if isinstance(value, list):
        return set().union(*(keys_of(it) for it in value))
    if isinstance(value, dict):
        return set(value).union(*(keys_of(it) for key, it in value.items() if key not in ("by_kind", "files")))
    return set()


def documented():
    """By call: the keys that explore.h says it answers."""
    text = (ROOT / "src" / "explore" / "explore.h").read_text(encoding="utf-8")
    calls, name = {}, None
    for row in text[text.index(" *     begin "):text.index(" * A start, a request")].split("\n"):
        if match := re.match(r" \*     ([a-z_]+)\b", row):
            name = match[1]
            calls.setdefault(name, "")
        elif name and not row.startswith(" *" + 12 * " "):
            calls[name] += row[2:].strip()
    return {name: {key for key, value in re.findall(r'(?<!:)"([a-z_]+)"(:?)', told)} for name, told in calls.items()}


def same_keys(explorer):
    """What explore.h lists is what the answers have: no key more, no key less."""
    met = {name: set() for name in documented()}

    def ask(name, **arguments):
        answer = explorer(name, **arguments)
        if name == "look":
            met["look"] |= set(answer)
            met["now"] |= keys_of(answer["now"])
        elif name in met:
            met[name] |= keys_of(answer) - {"error"}
        return answer

    for line in (*wasm_scenarios(), "bully -n 3 --attr 3,2,1 --partition 1/2,3@0..5", "beta --app bfs-tree -n 9 --graph grid:3x3"):
        ask("begin", words=line.split())
        ask("scenario")
        ask("search", goal={"kind": "violation"}, limits={"timeouts": "any"})
        ask("search_more", states=1)
        while not ask("search_more", states=300)["done"] and line.startswith("bully -n 3"):
            pass
        for count in (1, 1, 3, 5, 30):
            for event in ask("events")[:2]:
                ask("variants", index=event["index"])
            ask("run", count=count)
            ask("now")
        crash = next((it for it in ask("events") if it["type"] in ("timeout", "crash", "duplicate")), None)
        if crash:
            ask("do", index=crash["index"])
        ask("history")
        ask("story")
        ask("load", file=ask("export")["file"])
        ask("back", count=1)
        ask("go", step=0)
    ask("begin", words="voting -n 3 --set backoff=4".split())
    for _ in range(60):
        event = next((it for it in ask("events") if it["likely"]), None)
        if event:
            ask("variants", index=event["index"])
            ask("do", index=event["index"])
    ask("begin", words="bully -n 40 --start all".split())
    ask("take", indices=[0] * 30 + [10 ** 9])
    ask("look", node=1)
    ask("catalogue")
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "run.jsonl"
        sim("token-ring", "-n", "4", "--trace", str(path))
        ask("load", file="\n".join([*path.read_text(encoding="utf-8").split("\n")[:5], "nonsense"]))
    ask("load", recordings=RECORDED)
    ask("begin", words=["central", "-n", "2"])
    ask("search", goal={"kind": "violation"})
    ask("search_more", states=1000)
    for name, keys in documented().items():
        if keys != met[name]:
            fail(f"explore.h, {name}: only there {sorted(keys - met[name])}; only in answers {sorted(met[name] - keys)}")


def wasm_scenarios():
    """A few of every algorithm."""
    for name in ELECTIONS + MUTEXES + ROUNDS:
        yield f"{name} -n 3"
        yield f"{name} -n 5 --ids random --seed 3"
        yield f"{name} -n 4 --delay 1..5 --unordered"
    for name in ELECTIONS:
        yield f"{name} -n 6 --start all"
    for name in MUTEXES:
        yield f"{name} -n 4 --entries 3 --hold 2 --think 3"
    yield "bully --ids 0..7 --crash 7@0 --start 4 --recover 7@9"
    yield "bully -n 6 --partition 1,2,3/4,5,6@3..20 --labels a..f"
    yield "wireless -n 8 --graph geometric:0.5 --attr 4,7,1,8,2,2,5,3"
    yield "gamma --app flood-max -n 9 --graph grid:3x3"
    yield "central -n 4 --entries 2 --crash 4@5 --recover 4@15"
    yield "maekawa -n 6 --entries 2 --crash 3@4 --delay 1..4"
    yield "bully -n 5 --start all --crash 3@after:election --crash 5@before:coordinator"
    yield "ring-list -n 5 --suspect 1:2@3 --blind 3:4"


def like_the_wasm(walks, first):
    """The same bytes natively and as WebAssembly, in random walks through all algorithms."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        for line in wasm_scenarios():
            file.write(json.dumps({"words": line.split()}) + "\n")
        file.flush()
        words = ["--walks", file.name, str(first), str(first + walks)]
        both = [subprocess.Popen([*command, *words], stdout=subprocess.PIPE)
                for command in ([DRIVER], ["node", str(HERE / "explore" / "driver.mjs"), WASM])]
        native, wasm = [process.communicate()[0].decode() for process in both]
        if native != wasm or not native.startswith(f"{walks} walks"):
            fail(f"walks {first}..{first + walks}: native {native.strip()}, WebAssembly {wasm.strip()}")
        return native.strip()


def same_in_wasm(explorer, lines):
    """Call by call, so that a difference is seen where it is."""
    wasm = Explorer("node", str(HERE / "explore" / "driver.mjs"), WASM)
    for line in lines:
        for name, arguments in (("begin", {"words": line.split()}), ("scenario", {}), ("events", {}), ("run", {"count": 60}), ("now", {}), ("events", {"node": 0}), ("look", {"from": 50, "node": 0}),
                                ("history", {}), ("story", {}), ("story", {"as": "diagram"}), ("export", {}),
                                ("back", {"count": 2}), ("search", {"goal": {"kind": "violation"}, "limits": {"crashes": 1}}), ("search_more", {"states": 300})):
            mine, theirs = explorer.text(name, **arguments), wasm.text(name, **arguments)
            if mine != theirs:
                fail(f"{line}: {name} {arguments}: native {mine[:300]}, WebAssembly {theirs[:300]}")
                break
    if explorer.text("catalogue") != wasm.text("catalogue"):
        fail("the catalogue is another in WebAssembly")
    wasm.end()


def room_for_views(explorer):
    """Any member may coordinate a later view; its state has room for that."""
    explorer.begin("central -n 4 --entries 2 --crash 4@5 --recover 4@15")
    for index in (2, 2, 0, 3, 3, 1, 3, 1, 32, 3, 2):  # 3 coordinates; 4, whose state follows, has come back
        explorer("do", index=index)
    explorer("run", count=40)
    now, history = explorer("now"), explorer("history")
    explorer("go", step=0)
    taken = explorer("take", indices=[row["index"] for row in history])
    if explorer("now") != now or max(it["clock"] for it in now["nodes"]) > 100:
        fail(f"views of central: {now['nodes']}; the same steps once more, {taken}: {explorer('now')['nodes']}")


def tells_views(explorer):
    """While a view is to come, whoever waits may still be served: nothing is violated. Then it says who asks again."""
    explorer.begin("central -n 4 --entries 2 --crash 4@5 --recover 4@15")
    explorer("run", count=1000)
    history = explorer("history")
    violated = [row for row in history if row["violated"]]
    texts = [row["text"] for row in history if row["type"] == "view"]
    if violated or len(texts) != 2 or not re.fullmatch(r"view 1 begins, .*, [123] still wants to enter, sends request to 3, .*", texts[0]):
        fail(f"views of central: {violated}, {texts}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--walks", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wasm-walks", type=int, metavar="N", help="only N walks in both, and nothing else")
    given = parser.parse_args()
    if given.wasm_walks:
        for first in range(0, given.wasm_walks, 2000):
            print(like_the_wasm(min(2000, given.wasm_walks - first), first), flush=True)
        sys.exit(1 if failures else 0)
    explorer = Explorer()
    like_the_simulator(explorer)
    explore_looks.one_look(explorer, fail)
    explore_looks.many_at_once(explorer, fail)
    wrong_words(explorer)
    same_words(explorer)
    takes_every_option(explorer)
    explore_runs.random_runs(explorer, given.walks, given.seed)
    follows_traces(explorer)
    opens_recordings(explorer)
    heals(explorer)
    refuses_copies(explorer)
    exports_files(explorer)
    same_keys(explorer)
    far_back(explorer)
    random_walks(explorer, given.walks, given.seed)
    room_for_views(explorer)
    tells_views(explorer)
    same_in_wasm(explorer, list(wasm_scenarios())[::3] + PLAYED[::4])
    like_the_wasm(300, given.seed * 1000)
    explorer.end()
    if failures:
        sys.exit(f"{len(failures)} failures")


main()
