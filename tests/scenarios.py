#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Replays every scenario and compares it with the texts.

The expected leaders, counts and times below were worked out from the texts, not from the program. Every scenario
also has a golden transcript in tests/trace/, which a person has read; `--rewrite` writes them anew, to be read again.
"""
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRANSCRIPTS = ROOT / "tests" / "trace"

# Per scenario and run: values that the JSON must have. `leader` None: no common leader. `order`: the nodes that entered, in order;
# `entered`: the times; `unserved`: the nodes that did not enter; `violated`: the violated properties; `most_updates`: the highest
# number of results of one node.
EXPECTED = {
    "bully-example": [dict(leader=6, election=6, ok=3, coordinator=6, time=4)],
    "bully-7-returns": [dict(leader=7, election=6, ok=3, coordinator=6 + 7)],
    # In all: 4, 5 and 6 each write to the other seven. The nodes that call after them are 0 to 3, each to seven.
    "bully-lower-told": [
        dict(leader=6, election=3 * 7, ok=3, coordinator=6, time=4),
        dict(leader=3, election=3 * 7 + 4 * 7, ok=2 + 6, coordinator=3),
        dict(leader=None, elected={0: None, 1: None, 2: None, 3: None}, election=3 + 2 + 1, ok=2, coordinator=0)],
    "bully-several-callers": [dict(leader=3, election=10, ok=6, coordinator=3, time=3)],
    "bully-p2-calls": [dict(leader=4, election=6, ok=3, coordinator=3, time=4)],
    "bully-p4-fails-after-step-3": [dict(leader=3, election=6, ok=2, coordinator=2)],
    "bully-p4-fails-after-step-4": [dict(leader=3, coordinator=2)],
    # n = 6: n(n-1)(2n-1)/6 and n over 3; no node is left to be told.
    "bully-cascade": [dict(leader=0, election=6 * 5 * 11 // 6, ok=20, coordinator=0, decided=4 * 6 - 6)],
    "bully-recovery-race": [
        dict(leader=None, elected={0: 6, 1: 6, 2: 6, 3: 6, 4: 6, 5: 6, 6: 7, 7: 7}),
        dict(leader=7), dict(leader=7)],
    "split-brain": [
        dict(leader=None, elected={0: 2, 1: 2, 2: 2, 3: 5, 4: 5, 5: 5}),
        dict(leader=5)],
    "ring-two-elections": [dict(leader=6, election=14, coordinator=14)],
    "ring-p4-dies": [dict(leader=3, election=9, coordinator=8, time=17)],
    "ring-list-of-the-living": [
        dict(leader=4, election=5, coordinator=5, time=10),
        dict(leader=4, election=5, coordinator=4, elected={0: 4, 1: 4, 2: 4, 3: 4, 4: 4}),
        dict(leader=4, election=5, coordinator=2, elected={0: None, 1: None, 2: 4, 3: 4, 4: 4})],
    "ring-polls": [dict(leader=6, election=5, coordinator=5, poll=2 * 3, total=2 * 8)],
    "ring-lowest-wins": [dict(leader=0, total=10)],
    "ring-example": [dict(leader=80, total=2 * 6 + 3)],
    "ring-worst-and-best": [dict(leader=80, total=3 * 6 - 1, time=17), dict(leader=80, total=2 * 6, time=12)],
    "ring-two-callers": [dict(leader=80, elected_count=12), dict(leader=80, elected_count=6)],
    "chang-roberts-all-call": [dict(leader=6, total=3 * 6 - 1), dict(leader=6, total=6 * 7 // 2 + 6)],
    "chang-roberts-best-and-worst": [dict(leader=6, token=2 * 6 - 1), dict(leader=6, token=6 * 7 // 2)],
    # 2n probes a round, n messages to tell: of eight 6, 8, 7 and 5 are left, of these 8, which then meets itself.
    "franklin-rounds": [dict(leader=8, probe=3 * 16, total=3 * 16 + 8)],
    # 2n aliases a phase and n for the last red process, which is 4 under the alias 8; n messages to tell.
    "peterson-phases": [dict(leader=8, alias=2 * 16 + 8, total=2 * 16 + 16), dict(leader=4, alias=2 * 16 + 8)],
    "ring-crash-detected": [dict(leader=32)],
    "ring-crash-missed": [dict(leader=None, elected={3: None, 32: None, 5: None, 6: None, 12: None})],
    "ring-false-suspicion": [dict(leader=None, elected={3: 32, 32: 32, 5: 32, 6: 32, 12: 32, 80: None})],
    "multicast-versions": [
        dict(leader=5, total=36), dict(leader=None), dict(leader=5, total=36), dict(leader=4),
        dict(leader=5, total=26), dict(leader=4)],
    # Three messages an entry; DENIED is one more for the request that finds it busy.
    "central-example": [
        dict(order=[1, 2], total=6, entered={1: 2, 2: 9}), dict(order=[1, 2], total=7, denied=1, entered={1: 2, 2: 9})],
    # A request at 2 arrives at 3 and is answered, or not, by 4; a node that is denied enters when 1 has left at 2 + 6.
    "central-denied-or-dead": [
        dict(order=[1, 2], total=6), dict(order=[1], unserved=[2], violated=["no-deadlock", "every-request"]),
        dict(order=[1, 2], total=7, denied=1),
        dict(order=[1], unserved=[2], denied=0, violated=["no-deadlock", "every-request"])],
    "central-queue": [dict(order=[0, 1, 2], total=9)],
    # 2 is the next coordinator: its own request needs no message, so it is there before that of 1.
    "coordinator-crash": [
        dict(order=[0], unserved=[1, 2], violated=["no-deadlock", "every-request"]),
        dict(order=[0, 2, 1], unserved=[]), dict(order=[0, 2, 1], unserved=[])],
    # 2(n-1) each; 1 and 2 say OK at once, 0 when it leaves at 2 + 3.
    "ricart-agrawala-example": [dict(order=[0, 2], total=8, ok=4, entered={0: 2, 2: 6})],
    # Three hops; if all nodes want to enter, r requests each: rn - 1 messages.
    "token-ring-example": [
        dict(order=[3], total=3, entered={3: 3}), dict(order=2 * [0, 1, 2, 3, 4, 5], token=2 * 6 - 1)],
    # A receipt for each of three hops; then one hop that is lost and one that replaces it.
    "token-ring-acknowledged": [
        dict(order=[3], token=3, ack=3, entered={3: 3}), dict(order=[3], token=3, ack=2, unserved=[])],
    # 3(n-1) each, in the order of times and of ids where those are equal; a release takes one time unit.
    "lamport-example": [
        dict(order=[0, 1, 2], total=18, entered={0: 2, 1: 4, 2: 6}), dict(order=[2, 1, 0], total=18)],
    "token-ring-false-regeneration": [
        dict(order=[3, 1], entered={3: 3, 1: 9}, violated=["exclusion"]), dict(order=[3, 1], entered={3: 3, 1: 25})],
    "lost-token": [
        dict(order=[2], unserved=[0], violated=["no-deadlock", "every-request"]),
        dict(order=[2, 0], unserved=[]), dict(order=[2, 0], unserved=[])],
    "maekawa-deadlock": [
        dict(order=[], unserved=[0, 1, 2], total=6 + 4), dict(order=[], unserved=[0, 1, 2], total=6 + 4),
        dict(order=[1, 0, 2], relinquish=1, inquire=1, violated=[])],
    # By the text's own rule 1 is inside from 11 to 511, and 0 comes at 101.
    "maekawa-relinquish-race": [
        dict(order=[2, 0, 1], entered={2: 8, 0: 101, 1: 104}),
        dict(order=[2, 1, 0], entered={2: 8, 1: 11, 0: 101}, violated=["exclusion", "fences-rise"])],
    "voting-reset": [
        dict(order=[0, 2], entered={0: 2, 2: 12}, violated=["exclusion", "fences-rise"]),
        dict(order=[0, 2], violated=[])],
    # k = 6: 3(2^k - 1) messages, and the last node is told 2^k distances; with equal delays 3k(k+1)/2 and k + 1.
    "bellman-ford-gadget": [
        dict(total=3 * (2**6 - 1), most_updates=2**6, time=2**7 - 2, distances={node: 0 for node in range(1, 14)}),
        dict(total=3 * (2**6 - 1), most_updates=2**6, time=2 * 6 + 2**6 - 1, distances={node: 0 for node in range(1, 14)}),
        dict(total=3 * 6 * 7 // 2, most_updates=6 + 1, time=2 * 6, distances={node: 0 for node in range(1, 14)})],
    # 2E messages a round, as many acknowledgements, as many SAFEs: E = 4, R = 2.
    "alpha-two-rounds": [
        dict(message=16, ack=16, safe=16, time=3 * 2, distances={1: 0, 2: 1, 3: 2, 4: 1}, violated=[]),
        dict(message=16, ack=16, safe=16, distances={1: 0, 2: 1, 3: 2, 4: 1}, violated=[])],
    # There are no messages but the app's: 2E = 4 a round. 2 starts at 0, 1 at 2: its last message arrives at 2 + 2d + d.
    "abd-tick-too-short": [
        dict(total=8, time=2 + 2 * 4 + 4, distances={1: 0, 2: 1, 3: 2}, violated=[]),
        dict(total=8, distances={1: 0, 2: None, 3: None},
             violated=["whole-rounds", "like-synchronous", "shortest-paths"])],
    # E = 7, R = 2; n - 1 = 5 SAFEs and NEXTs a round. Gamma, two clusters, so n - c = 4, and one edge between them.
    "beta-and-gamma": [
        dict(message=28, ack=28, safe=2 * 5, next=2 * 5, total=2 * 28 + 2 * 2 * 5, violated=[],
             distances={1: 0, 2: 1, 3: 1, 4: 2, 5: None, 6: None}),
        dict(message=28, ack=28, safe=2 * 4, ready=2 * 4, pulse=2 * 4, **{"cluster-safe": 2 * (4 + 2)}, violated=[],
             total=2 * 28 + 2 * (4 * 4 + 2), distances={1: 0, 2: 1, 3: 1, 4: 2, 5: None, 6: None})],
    "wireless-example": [dict(leader=8, election=19, ack=19, total=4 * 14 - 9)],
}


def runs_of(text):
    for line in text.splitlines():
        if line and not line.startswith("#"):
            verdict, options = line.split(":", 1)
            yield verdict, shlex.split(options)


def differences(expected, found):
    kinds = found["messages"]["by_kind"]
    served = sorted((entry for entry in found["entries"] if entry["entered"] is not None), key=lambda it: it["entered"])
    facts = {**kinds, "order": [entry["node"] for entry in served],
             "entered": {entry["node"]: entry["entered"] for entry in served},
             "unserved": [entry["node"] for entry in found["entries"] if entry["entered"] is None],
             "violated": [it["name"] for it in found["properties"] if it["verdict"] == "violated"],
             "elected_count": kinds.get("elected"), "total": found["messages"]["total"],
             "leader": found["leader"], "time": found["time"], "decided": found["decided"],
             "elected": {int(node): leader for node, leader in found["elected"].items()},
             "distances": {int(node): distance for node, distance in found.get("distances", {}).items()},
             "most_updates": found.get("updates", {}).get("most")}
    return [f"{key}: expected {value}, found {facts[key]}" for key, value in expected.items() if facts[key] != value]


def check_facts(conclave, name, text):
    runs = list(runs_of(text))
    if len(runs) != len(EXPECTED[name]):
        return [f"{name}: {len(runs)} runs, {len(EXPECTED[name])} expected"]
    problems = []
    for (verdict, options), expected in zip(runs, EXPECTED[name]):
        done = subprocess.run([conclave, "sim", *options, "--json"], capture_output=True, text=True, check=False)
        found = json.loads(done.stdout)
        if found["verdict"] != verdict:
            problems.append(f"{name}: verdict {found['verdict']}, expected {verdict}: {found['reason']}")
        problems += [f"{name}: {difference}" for difference in differences(expected, found)]
    return problems


def check_transcript(conclave, name, rewrite):
    done = subprocess.run([conclave, "scenario", name], capture_output=True, text=True, check=False)
    golden = TRANSCRIPTS / f"{name}.txt"
    if rewrite:
        golden.write_text(done.stdout, encoding="utf-8")
    if done.returncode or done.stderr:
        return [f"{name}: exit code {done.returncode}: {done.stderr.strip()}"]
    if not golden.exists() or golden.read_text(encoding="utf-8") != done.stdout:
        return [f"{name}: the transcript differs from {golden.relative_to(ROOT)}"]
    return []


def main():
    conclave, switches = os.environ.get("CONCLAVE", ROOT / "build" / "conclave"), sys.argv[1:]
    problems = []
    files = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "scenarios").glob("*.scenario")}
    listed = subprocess.run([conclave, "scenario"], capture_output=True, text=True, check=True).stdout
    for name in sorted(files.keys() | EXPECTED.keys()):
        if name not in files or name not in EXPECTED or not any(l.startswith(name + " ") for l in listed.splitlines()):
            problems.append(f"{name}: not in all of scenarios/, this test and the program's list")
            continue
        problems += check_facts(conclave, name, files[name])
        problems += check_transcript(conclave, name, "--rewrite" in switches)
    print("\n".join(problems) or f"{len(files)} scenarios as told")
    return bool(problems)


sys.exit(main())
