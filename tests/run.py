#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""conclave run: every algorithm between real processes. Leaders are those of the simulator, messages are counted against
formulas worked out here, what synchronizers host ends as on a synchronous network; processes are killed, stopped, cut off
and late; bad input is told in one line; and no process is left behind.

usage: run.py [--runs R]    R runs of each algorithm with random delays, instead of the tests
"""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

from support.experiments import CONCLAVE, PATIENCE, SOURCE, expect, lives, verdict, wait_until

APPS = ("bellman-ford", "flood-max", "bfs-tree")
GRAPH = ["--graph", "edges:1-2,2-3,3-4,4-1,2-5", "-n", "5"]

VIEW_BITS = int(re.search(r"#define CV_VIEW_BITS (\d+)u", (SOURCE / "include" / "conclave" / "algorithm.h").read_text(encoding="utf-8")).group(1))


def conclave(command, *words):
    done = subprocess.run([CONCLAVE, command, *words, "--json"], capture_output=True, text=True, check=False, timeout=PATIENCE * 4)
    return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr


def run(*words):
    return conclave("run", *words)


BOUNDS = ("600", "2400")


def held(what, *words):
    code, told = run(*words)
    # ABD's promise is about messages that take at most D: a busy machine may need a longer one.
    for bound in BOUNDS if words[0] == "abd" else ():
        if code == 0:
            break
        code, told = run(*words, "--set", f"bound={bound}")
    expect(f"{what}: held", code == 0 and told["verdict"] == "held", f"{words}: {told}")
    return told if code == 0 else None


# ---- every algorithm ----

# Messages of n nodes that the texts count: one caller, the smallest id; or one entry of each node, node 1 coordinating.
COSTS = {
    "chang-roberts": lambda n: 3 * n - 1,  # n - 1 to the best, n round the ring, n to tell
    "chang-roberts-token": lambda n: 2 * n,
    "ring-list": lambda n: 2 * n,
    "ricart-agrawala": lambda n: 2 * (n - 1) * n,
    "lamport": lambda n: 3 * (n - 1) * n,
    "central": lambda n: 3 * (n - 1),  # the coordinator's own entry is free
}
# Some cannot be promised to come to rest if all want to enter at once.
WORDS = {"maekawa-plain": ["--request", "1@0,2@400"]}


def algorithms():
    told = json.loads(subprocess.run([CONCLAVE, "list", "--json"], capture_output=True, text=True, check=True).stdout)
    return [it for it in told["algorithms"] if it["problem"] != "synchronous" and it["name"] != "lockstep"]


def words_of(algorithm):
    words = WORDS.get(algorithm["name"], [])
    return words + (GRAPH if algorithm["topology"] == "graph" else ["-n", "5"])


def check_algorithms():
    for algorithm in algorithms():
        name, words = algorithm["name"], words_of(algorithm)
        told = held(name, name, *words)
        if not told:
            continue
        _, simulated = conclave("sim", name, *words)
        expect(f"{name}: the simulator's leader", told["leader"] == simulated["leader"], (told, simulated))
        expect(f"{name}: the simulator's properties but for time",
               {it["name"] for it in simulated["properties"]} - {it["name"] for it in told["properties"]} <= {"textbook-delay", "textbook-messages"},
               (told, simulated))
        theory = told["theory"]["messages"]
        expect(f"{name}: within its formula", not theory or theory["holds"], told)
        if name in COSTS:
            expect(f"{name}: {COSTS[name](5)} messages", told["messages"]["total"] == COSTS[name](5), told)


def check_entries():
    told = held("entries", "ricart-agrawala", "-n", "4", "--entries", "3", "--hold", "2", "--names", "2")
    entries = told["entries"] if told else []
    expect("24 entries", len(entries) == 24, told)
    for name in (0, 1):
        inside = sorted((it["entered"], it["left"]) for it in entries if it["name"] == name)
        expect("one at a time", all(one[1] <= other[0] for one, other in zip(inside, inside[1:])), inside)
        expect("each stays 2 ms", all(left - entered >= 2 for entered, left in inside), inside)


def check_own_messages():
    """A vote for oneself is a message, too, and the step that receives it sends others."""
    for seed in range(1, 11):
        held(f"late votes, seed {seed}", "maekawa", "-n", "5", "--delay", "1..10", "--until", "20000", "--seed", str(seed))


# ---- synchronizers ----


def check_synchronizers(directory):
    plugin = str(directory / "independent_set.so")
    for app in (*APPS, plugin):
        _, reference = conclave("sim", "lockstep", "--app", app, *GRAPH)
        for synchronizer in ("alpha", "beta", "gamma", *(["abd"] if app in ("bfs-tree", plugin) else [])):
            told = held(f"{synchronizer} {app}", synchronizer, "--app", app, *GRAPH, "--delay", "1..4")
            if not told:
                continue
            for key in ("leader", "elected", "distances", "results", "rounds"):
                expect(f"{synchronizer} {app}: {key} as in lockstep", told.get(key) == reference.get(key), (told, reference))
            expect(f"{synchronizer} {app}: like on a synchronous network", app == plugin or
                   {"name": "like-synchronous", "verdict": "held"}.items() <= next(
                       it for it in told["properties"] if it["name"] == "like-synchronous").items(), told)
            theory = told["theory"]["messages"]
            expect(f"{synchronizer} {app}: as many messages as its formula says",
                   theory and told["messages"]["total"] == theory["value"] or not theory or theory["relation"] == "<=", told)


def check_late():
    """A message later than D: ABD loses its promise, alpha has made none about time."""
    words = ["--app", "bfs-tree", "--graph", "ring", "-n", "5", "--delay", "120..160"]
    code, told = run("abd", *words, "--set", "bound=40")
    expect("abd is late", code == 1 and any(it["name"] == "whole-rounds" and it["verdict"] == "violated" for it in told["properties"]), told)
    held("alpha is late, too", "alpha", *words)


# ---- plugins ----


def build(directory, name, text):
    (directory / f"{name}.c").write_text(text, encoding="utf-8")
    subprocess.run([os.environ.get("CC", "cc"), "-std=c17", "-shared", "-fPIC", "-I", str(SOURCE / "include"),
                    "-o", str(directory / f"{name}.so"), str(directory / f"{name}.c")], check=True)


def check_plugins(directory):
    told = held("a plugin", str(directory / "roll_call.so"), "-n", "6", "--start", "all")
    expect("n(n - 1) messages", told and told["messages"]["total"] == 30 and told["leader"] == 6, told)
    done = subprocess.run([CONCLAVE, "run", str(directory / "broken.so"), "-n", "3"], capture_output=True, text=True, check=False)
    expect("a plugin that crashes is told", done.returncode == 1 and done.stderr == "" and "the handler calls abort()" in done.stdout,
           done)


# ---- faults ----


def kinds_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def check_faults():
    told = held("a crash", "bully", "-n", "4", "--crash", "4@150", "--detect", "20", "--set", "bound=100")
    expect("the next best leads", told and told["leader"] == 3, told)
    told = held("a return", "bully", "-n", "4", "--crash", "4@150", "--recover", "4@700", "--detect", "20", "--set", "bound=100")
    expect("the best leads again", told and told["leader"] == 4, told)
    told = held("a crash at a message", "bully", "-n", "4", "--crash", "4@before:coordinator", "--detect", "20", "--set", "bound=100")
    expect("the next best leads", told and told["leader"] == 3, told)
    told = held("dead from the start", "chang-roberts", "-n", "5", "--crash", "5@0")
    expect("without it", told and told["leader"] == 4 and told["messages"]["total"] == 11, told)
    told = held("a pause", "chang-roberts", "-n", "5", "--pause", "3@0..300")
    expect("all wait for it", told and told["time"] >= 300 and told["messages"]["total"] == 14, told)
    told = held("a late link", "chang-roberts", "-n", "5", "--lag", "2:3=150")
    expect("it is passed twice or thrice", told and 300 <= told["time"], told)
    told = held("a late kind of messages", "bully", "-n", "4", "--lag", "4:1:ok=150")
    expect("the next message waits for it", told and told["decided"] >= 150, told)
    code, told = run("chang-roberts", "-n", "4", "--partition", "1,2/3,4@0..100000", "--until", "300")
    expect("cut off", code == 2 and told["leader"] is None and told["reason"].endswith(f"given up at time {told['reason'].split()[-1]}"), told)
    code, told = run("central", "-n", "4", "--crash", "2@150", "--views", "off", "--request", "3@0,4@300")
    expect("a client dies", code == 0, told)


# ---- views ----


def entries_in_order(told):
    return sorted((it for it in told["entries"] if it["entered"] is not None), key=lambda it: it["entered"])


def check_view_order(what, told):
    """One at a time, and fences rise, worked out here."""
    inside = entries_in_order(told)
    for one, other in zip(inside, inside[1:]):
        expect(f"{what}: one at a time", one["left"] is not None and one["left"] <= other["entered"], (one, other))
        expect(f"{what}: fences rise", one["fence"] < other["fence"], (one, other))
    return inside


def view_of(entry):
    return entry["fence"] >> VIEW_BITS


def check_changes(what, name, words, truth):
    """A run whose times are multiplied until the situation comes about: a busy machine may start and kill late."""
    for factor in (1, 3, 9, 27):
        told = held(f"{what}, {name}", name, *(word.format(*(factor * ms for ms in range(1000))) for word in words))
        if not told:
            return
        if truth(check_view_order(f"{what}, {name}", told), factor):
            return
    expect(f"{what}, {name}", False, told)


def check_views(directory):
    """Somebody dies or returns: a new view begins, exclusion holds and fences rise. {N} is N ms, or more."""
    usual = ["-n", "5", "--detect", "{20}"]
    mutexes = [it["name"] for it in algorithms() if it["problem"] == "mutex" and it["name"] != "maekawa-plain"]

    def goes_on(inside, _):
        by_node = [[view_of(it) for it in inside if it["node"] == node] for node in (1, 2, 3, 4, 5)]
        return all(len(each) == 3 for each in by_node[:4]) and by_node[4] and by_node[4][-1] == 2

    def next_view(inside, _):
        return [(it["node"], view_of(it)) for it in inside] == [(2, 0), (3, 1)]

    def stays(inside, factor):
        return next_view(inside, factor) and inside[0]["left"] >= inside[0]["entered"] + 500 * factor

    for name in [*mutexes, str(directory / "suzuki_kasami.so")]:
        check_changes("a crash and a return", name, [*usual, "--entries", "3", "--hold", "{15}", "--crash", "5@{40}", "--recover", "5@{300}"], goes_on)
    for name in mutexes:
        check_changes("the holder dies", name, [*usual, "--request", "2@0+90000,3@{20}", "--crash", "2@{150}"], next_view)
        check_changes("the holder lives on", name, [*usual, "--request", "2@0+{500},3@{20}", "--crash", "5@{100}"], stays)
    told = held("dead from the start", "central", "-n", "5", "--crash", "5@0", "--entries", "2")
    expect("4 is the coordinator", told and told["messages"]["total"] == 3 * 2 * 3, told)
    told = held("several deaths", "maekawa", "-n", "9", "--detect", "20", "--entries", "2", "--hold", "5", "--crash", "1@30", "--crash", "2@45", "--crash", "3@60",
                "--recover", "1@200", "--delay", "1..5")
    check_view_order("several deaths", told or {"entries": []})
    told = held("a death in a step", "ricart-agrawala", "-n", "5", "--detect", "20", "--entries", "2", "--crash", "4@before:ok")
    check_view_order("a death in a step", told or {"entries": []})
    held("names", "token-ring", "-n", "5", "--detect", "20", "--entries", "2", "--names", "3", "--crash", "2@30")
    trace = directory / "views.jsonl"
    code, told = run("central", "-n", "5", "--detect", "20", "--entries", "2", "--crash", "5@30", "--trace", str(trace))
    views = [event for event in kinds_of(trace) if event.get("event") == "view"]
    expect("a view in the trace", code == 0 and len(views) == 1, (code, views))
    # What is ordered before the first steps are over is obeyed after them.
    held("a false suspicion at time 0", "chang-roberts", "-n", "4", "--suspect", "1:3@0")


# ---- what is shown ----


def check_outputs(directory):
    words = ["ring-list", "-n", "4", "--start", "all", "--delay", "1..5"]
    trace, svg, shiviz = (directory / name for name in ("run.jsonl", "run.svg", "run.shiviz"))
    done = subprocess.run([CONCLAVE, "run", *words, "--diagram", "--states", "--trace", str(trace), "--svg", str(svg), "--shiviz", str(shiviz)],
                          capture_output=True, text=True, check=False, timeout=PATIENCE * 4)
    expect("pictures", done.returncode == 0 and "◆ calls" in done.stdout and "4 processes" in done.stdout and " ms" in done.stdout, done)
    expect("svg and shiviz", svg.read_text(encoding="utf-8").count("</svg>") == 1 and shiviz.stat().st_size > 100)
    events = kinds_of(trace)
    sent = {}
    for event in events:
        if event.get("event") == "send":
            for number in event["message"] if isinstance(event["message"], list) else [event["message"]]:
                sent[number] = event["vector"]
        if event.get("event") == "receive":
            before = sent.get(event["message"])
            expect("no receipt before its send", before and all(event["vector"].get(node, 0) >= count for node, count in before.items()), event)
    expect("a trace", len(sent) > 10, events[:5])
    clocks = {}
    for event in events:
        if "lamport" in event and "node" in event:
            expect("Lamport's clock rises on every node", event["lamport"] >= clocks.get(event["node"], 0), event)
            clocks[event["node"]] = event["lamport"]


# ---- bad input ----

BAD = [
    ("run", "expected an algorithm"),
    ("run buly", "did you mean bully?"),
    ("run bully --loss 0.1", "--loss", "conclave sim"),
    ("run bully --duplicate 0.1", "--duplicate", "conclave sim"),
    ("run bully --reorder", "--reorder", "conclave sim"),
    ("run bully --unordered", "--unordered", "conclave sim"),
    ("run bully --serial", "--serial", "conclave sim"),
    ("run bully --runs 10", "--runs", "conclave sim"),
    ("run bully --replay x", "--replay", "conclave sim"),
    ("run bully --alternate 1:2", "--alternate", "conclave sim"),
    ("run central --election bully", "--election", "conclave sim"),
    ("run bully -n 513", "513", "at most 512"),
    ("run bully --pause 3", "--pause 3", "ID@T1..T2"),
    ("run bully --pause 3@9..9", "--pause 3@9..9", "T1 < T2"),
    ("run bully --pause 30@1..9", "--pause 30@1..9", "no node 30"),
    ("run bully --delay fast", "--delay fast", "expected"),
    ("run lockstep", "lockstep", "alpha"),
    ("run bfs-tree", "bfs-tree", "alpha", "--app bfs-tree"),
    ("run central --crash 2@5 --names 9000", "--names 9000", "8192"),
    ("run central --hold 0", "--hold 0", "at least 1"),
    ("run central --request 1@0+0", "--request", "at least 1"),
    ("run bully --json --diagram", "--json", "--diagram"),
    ("run bully --states", "--states", "--diagram"),
]


def check_bad_input():
    for words, *expected in BAD:
        done = subprocess.run([CONCLAVE, *words.split()], capture_output=True, text=True, check=False, timeout=PATIENCE)
        lines = done.stderr.splitlines()
        expect(words, done.returncode == 2 and not done.stdout and len(lines) == 1 and all(part in lines[0] for part in expected), done)


# ---- no process is left behind ----


def children(pid):
    path = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
    return [int(each) for each in path.read_text(encoding="ascii").split()] if path.exists() else []


def start_idle():
    """A run in which nothing happens for long."""
    idle = subprocess.Popen([CONCLAVE, "run", "central", "-n", "5", "--request", "2@500000", "--until", "600000"],  # pylint: disable=consider-using-with
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until("five processes", lambda: len(children(idle.pid)) == 5)
    time.sleep(0.3)
    return idle, children(idle.pid)


def check_endings():
    for sent in (signal.SIGTERM, signal.SIGINT):
        idle, processes = start_idle()
        idle.send_signal(sent)
        out, err = idle.communicate(timeout=PATIENCE)
        expect(f"{sent.name}: told what is known", idle.returncode == 2 and "interrupted at time" in out and not err, (out, err))
        expect(f"{sent.name}: no process left", not any(lives(pid) for pid in processes))
    idle, processes = start_idle()
    idle.kill()
    idle.communicate(timeout=PATIENCE)
    wait_until("no process outlives its experiment", lambda: not any(lives(pid) for pid in processes))
    idle, processes = start_idle()
    os.kill(processes[2], signal.SIGUSR1)  # no sanitizer catches it
    out, err = idle.communicate(timeout=PATIENCE)
    expect("a death unasked", idle.returncode == 2 and not out and len(err.splitlines()) == 1 and "node 3" in err and f"signal {int(signal.SIGUSR1)}" in err, (out, err))
    expect("no process left", not any(lives(pid) for pid in processes))


def check_size():
    """200 processes, in less than 3 s unless the machine has other work."""
    seconds = []
    for _ in range(4):
        began = time.monotonic()
        told = held("200 processes", "chang-roberts", "-n", "200")
        seconds.append(time.monotonic() - began)
        expect("599 messages", told and told["messages"]["total"] == 599 and told["leader"] == 200, told)
        if seconds[-1] < 3:
            return
    busy = os.getloadavg()[0] > 4
    expect("200 processes in 3 s", busy, seconds)


# ---- many runs ----


def run_many(runs):
    for algorithm in algorithms():
        worst = 0
        for seed in range(1, runs + 1):
            delay = ("1..10", "exp:3", "1..3")[seed % 3]
            words = words_of(algorithm) + ["--seed", str(seed), "--delay", delay]
            words += ["--start", "all"] if algorithm["problem"] == "election" and seed % 2 else []
            told = held(f"{algorithm['name']}, seed {seed}", algorithm["name"], *words)
            if told:
                theory = told["theory"]["messages"]
                expect(f"{algorithm['name']}, seed {seed}: within its formula", not theory or theory["holds"], told)
                worst = max(worst, told["time"])
        print(f"{algorithm['name']}: {runs} runs, the slowest took {worst} ms", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--runs", type=int)
    runs = parser.parse_args().runs
    if runs:
        run_many(runs)
        return verdict()
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        roll_call = (SOURCE / "examples" / "roll_call.c").read_text(encoding="utf-8")
        build(directory, "roll_call", roll_call)
        build(directory, "suzuki_kasami", (SOURCE / "examples" / "suzuki_kasami.c").read_text(encoding="utf-8"))
        build(directory, "independent_set", (SOURCE / "examples" / "independent_set.c").read_text(encoding="utf-8"))
        build(directory, "broken", "#include <stdlib.h>\n" + roll_call.replace("my->heard++", "abort()"))
        check_bad_input()
        check_algorithms()
        check_entries()
        check_own_messages()
        check_synchronizers(directory)
        check_late()
        check_plugins(directory)
        check_faults()
        check_views(directory)
        check_outputs(directory)
        check_endings()
        check_size()
    return verdict()


if __name__ == "__main__":
    sys.exit(main())
