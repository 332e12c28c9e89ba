#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The contract with scripts: the JSON's keys and types, names of algorithms, messages and parameters, exit codes, --help,
the command that repeats a run, and the statistics of --runs, recomputed from single runs."""

import json
import math
import os
import pathlib
import shlex
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CONCLAVE = os.environ.get("CONCLAVE", str(HERE.parent / "build" / "conclave"))

# Kinds of messages, and parameters with their words; an algorithm may have more of both.
ELECTIONS = {
    "bully": ("election ok coordinator", {"announce": "lower|all"}),
    "ring-list": ("election coordinator poll", {"policy": "max|min", "announce": "ring|multicast"}),
    "ring-basic": ("election elected", {}),
    "chang-roberts": ("election elected", {}),
    "chang-roberts-token": ("token leader", {"announce": "yes|no"}),
    "franklin": ("probe leader", {"announce": "yes|no"}),
    "peterson": ("alias leader", {"announce": "yes|no"}),
    "multicast": ("election agree disagree coordinator", {"timeout": "yes|no"}),
    "multicast-lean": ("election disagree coordinator", {}),
    "wireless": ("election ack leader", {}),
}

# Synchronizers, and what they host; kinds are counted, those that build beta's tree apart.
SYNCHRONIZERS = {
    "lockstep": "message",
    "abd": "message",
    "alpha": "message ack safe",
    "beta": "message ack safe next",
    "gamma": "message ack safe cluster-safe ready pulse",
}
APPS = {"bellman-ford": "shortest-paths", "bfs-tree": "fewest-hops", "flood-max": "best-wins"}

NUMBER, TEXT, TRUTH, LIST, OBJECT, NULL = (int, float), str, bool, list, dict, type(None)

RESULT = {"schema": int, "algorithm": TEXT, "problem": TEXT, "nodes": int, "seed": int, "verdict": TEXT,
          "properties": LIST, "leader": (int, NULL), "elected": OBJECT, "messages": OBJECT, "time": int,
          "decided": (int, NULL), "entries": LIST, "theory": OBJECT, "reason": TEXT, "command": TEXT}
PROPERTY = {"name": TEXT, "kind": TEXT, "verdict": TEXT, "detail": TEXT}
THEORY = {"formula": TEXT, "value": NUMBER, "relation": TEXT, "holds": TRUTH}
SURVEY = {"schema": int, "algorithm": TEXT, "nodes": int, "seed": int, "runs": int, "verdict": TEXT,
          "verdicts": OBJECT, "messages": OBJECT, "time": OBJECT, "decided": (OBJECT, NULL), "worst": OBJECT}
SAMPLE = {"count": int, "mean": NUMBER, "deviation": NUMBER, "confidence95": LIST, "min": int, "median": int, "max": int}
LISTED = {"name": TEXT, "title": TEXT, "citation": TEXT, "problem": TEXT, "topology": TEXT, "assumes": LIST,
          "claims": LIST, "kinds": LIST, "parameters": LIST, "costs": LIST}

RUNS = ["", "-n 1", "-n 2 --start all", "--ids 5,0,4294967295,7 --attr 2,2,1,0", "--delay 1..9 --seed 4",
        "--loss 0.2 --duplicate 0.1 --reorder", "-n 5 --crash 5@0", "-n 5 --crash 4@2 --until 500", "--until 1",
        "--ids random --start all --seed 18446744073699551615"]

failures = []


def expect(what, truth, shown=""):
    if not truth:
        failures.append(what)
        print(f"FAILED: {what}\n  {shown}")


def conclave(line, words=None):
    return subprocess.run([CONCLAVE, *shlex.split(line), *(words or [])], capture_output=True, text=True, check=False)


def check_shape(what, thing, shape):
    for key, kind in shape.items():
        expect(f"{what}: key {key}", key in thing, sorted(thing))
        value = thing.get(key)
        right = isinstance(value, kind) and (kind is TRUTH or not isinstance(value, bool))
        expect(f"{what}: the type of {key}", right, repr(value))


def no_twins(pairs):
    expect("a key stands twice", len({key for key, _ in pairs}) == len(pairs), pairs)
    return dict(pairs)


def parse(what, text):
    expect(f"{what}: one line", text.count("\n") == 1 and text.endswith("\n"), text[:200])
    return json.loads(text, object_pairs_hook=no_twins)


# ---- one run ----


def check_run(line):
    done = conclave(f"sim {line} --json")
    run = parse(line, done.stdout)
    check_shape(line, run, RESULT)
    expect(f"{line}: nothing on standard error", done.stderr == "", done.stderr)
    expect(f"{line}: schema", run["schema"] == 1)
    expect(f"{line}: problem", run["problem"] == "election")
    expect(f"{line}: exit code", {"held": 0, "violated": 1, "unfinished": 2}[run["verdict"]] == done.returncode, run)
    expect(f"{line}: a reason unless held", (run["verdict"] == "held") == (run["reason"] == ""), run["reason"])
    for each in run["properties"]:
        check_shape(line, each, PROPERTY)
        expect(f"{line}: kind", each["kind"] in ("always", "eventually", "sometimes"), each)
        expect(f"{line}: verdict", each["verdict"] in ("held", "violated", "unfinished", "disclaimed"), each)
    names = [each["name"] for each in run["properties"]]
    expect(f"{line}: names", len(names) == len(set(names)), names)
    for name in ("agreement", "best-wins", "everyone-learns", "any-caller", "one-election"):
        expect(f"{line}: judges {name}", name in names, names)
    by_kind = run["messages"]["by_kind"]
    expect(f"{line}: total", set(run["messages"]) == {"total", "by_kind"}, run["messages"])
    expect(f"{line}: total", run["messages"]["total"] == sum(by_kind.values()), run["messages"])
    expect(f"{line}: entries", run["entries"] == [], run["entries"])
    expect(f"{line}: theory", set(run["theory"]) == {"messages", "delay"}, run["theory"])
    for each in run["theory"].values():
        if each is not None:
            check_shape(line, each, THEORY)
            expect(f"{line}: relation", each["relation"] in ("=", "<="), each)
    known = set(run["elected"].values()) - ({None} if "announce=no" in line else set())
    expect(f"{line}: leader", run["leader"] == (known.pop() if len(known) == 1 else None), run["elected"])
    expect(f"{line}: decided", (run["decided"] is None) == (None in run["elected"].values()), run)
    return run


def check_runs():
    for algorithm, (kinds, _) in ELECTIONS.items():
        for options in RUNS:
            run = check_run(f"{algorithm} {options}")
            expect(f"{algorithm}: name", run["algorithm"] == algorithm)
            counted = list(run["messages"]["by_kind"])
            expect(f"{algorithm}: kinds", set(kinds.split()) <= set(counted), counted)
            if algorithm != "wireless":
                expect(f"{algorithm}: no other kinds", set(kinds.split()) == set(counted), counted)


def check_values():
    run = check_run("bully --ids 0..7 --crash 7@0 --start 4")
    expect("live nodes only", list(run["elected"]) == [str(number) for number in range(7)], run["elected"])
    expect("the text's example", run["leader"] == 6 and run["time"] == 4 and run["decided"] == 4, run)
    expect("by kind", run["messages"]["by_kind"] == {"election": 6, "ok": 3, "coordinator": 6}, run["messages"])
    expect("theory", run["theory"]["messages"]["value"] == 15 and run["theory"]["messages"]["holds"], run["theory"])
    expect("nodes, seed", run["nodes"] == 8 and run["seed"] == 1, run)
    run = check_run("franklin -n 5 --set announce=no")
    expect("only the winner knows", run["elected"] == {"1": None, "2": None, "3": None, "4": None, "5": 5}, run)
    expect("and may, if it says so", run["leader"] == 5 and run["decided"] is None and run["verdict"] == "held", run)
    run = check_run("bully -n 4 --partition 1,2/3,4@0 --start 1,3")
    expect("split brain", run["elected"] == {"1": 2, "2": 2, "3": 4, "4": 4} and run["leader"] is None, run)
    run = check_run("bully --loss 0.5")
    expect("the transport's packets", run["transport"]["lost"] > 0, run.get("transport"))
    run = parse("timing", conclave("sim bully --timing --json").stdout)
    expect("--timing", isinstance(run.pop("seconds"), (int, float)))
    run["command"] = run["command"].replace(" --timing", "")
    expect("and nothing else", run == parse("", conclave("sim bully --json").stdout), run)


# ---- synchronizers ----


def check_hosting(line, app):
    done = conclave(f"sim {line} --app {app} --json")
    run = parse(line, done.stdout)
    check_shape(line, run, {**RESULT, "app": TEXT, "rounds": int})
    expect(f"{line}: problem, app", (run["problem"], run["app"]) == ("synchronizer", app), run)
    expect(f"{line}: held", run["verdict"] == "held" and done.returncode == 0 and done.stderr == "", run["reason"])
    names = [each["name"] for each in run["properties"]]
    for name in ("whole-rounds", "close-rounds", "every-round", "like-synchronous", APPS[app]):
        expect(f"{line}: judges {name}", names.count(name) == 1, names)
    by_kind = run["messages"]["by_kind"]
    expect(f"{line}: kinds", list(by_kind) == SYNCHRONIZERS[run["algorithm"]].split(), by_kind)
    expect(f"{line}: total", run["messages"]["total"] == sum(by_kind.values()), run["messages"])
    expect(f"{line}: an ack for each message", by_kind.get("ack", by_kind["message"]) == by_kind["message"], by_kind)
    ids = [str(number) for number in range(1, run["nodes"] + 1)]
    if app == "flood-max":
        expect(f"{line}: leader", run["leader"] == run["nodes"] and list(run["elected"]) == ids, run)
        expect(f"{line}: and nothing else", not {"distances", "results", "updates"} & set(run), sorted(run))
    else:
        check_shape(line, run, {"distances": OBJECT, "updates": OBJECT})
        expect(f"{line}: distances", list(run["distances"]) == ids and run["distances"]["1"] == 0, run["distances"])
    return run


def check_synchronizers():
    for name in SYNCHRONIZERS:
        for app in APPS:
            for options in ("-n 1", "-n 2", "", "-n 9 --graph grid:3x3", "--delay 1..9 --seed 4", "--loss 0.2 --reorder"):
                if name != "lockstep" or "--" not in options.replace("--graph", ""):
                    run = check_hosting(f"{name} {options}", app)
                    expect(f"{name} {options}: rounds", run["rounds"] == run["nodes"] - 1, run["rounds"])
    run = check_hosting("alpha -n 9 --graph grid:3x3 --set rounds=4", "bfs-tree")
    expect("hops", run["distances"] == {str(i + 1): i // 3 + i % 3 for i in range(9)} and run["rounds"] == 4, run)
    run = check_hosting("beta --graph edges:1-2:9,2-3:1,1-4:2,4-3:3", "bellman-ford")
    expect("weights", run["distances"] == {"1": 0, "2": 6, "3": 5, "4": 2}, run["distances"])
    expect("the tree is counted apart", run["preparing"] == {"total": 10, "by_kind": {"tree": 5, "child": 3, "taken": 2}},
           run["preparing"])
    run = parse("", conclave("sim alpha --graph edges:1-2,3-4 --json").stdout)
    expect("no way there", run["distances"] == {"1": 0, "2": 1, "3": None, "4": None}, run["distances"])
    run = parse("", conclave("sim bellman-ford-async --graph gadget:6 --json").stdout)
    check_shape("gadget", run, {**RESULT, "distances": OBJECT, "updates": OBJECT})
    expect("the gadget", (run["messages"]["total"], run["updates"]["most"]) == (189, 64), run)
    run = parse("", conclave("sim bellman-ford -n 5 --json").stdout)
    expect("an app by itself", (run["algorithm"], run["app"], run["problem"], run["rounds"]) ==
           ("bellman-ford", "bellman-ford", "synchronous", 4) and run["distances"]["1"] == 0, run)


def check_exit_codes():
    expect("held", conclave("sim bully").returncode == 0)
    lost = "sim chang-roberts --ids 3,32,5,80,6,12 --start 3 --crash 80@5 --blind '*:80'"
    expect("violated", conclave(lost).returncode == 1)
    expect("violated, JSON", conclave(lost + " --json").returncode == 1)
    expect("unfinished", conclave("sim chang-roberts -n 50 --until 3").returncode == 2)
    expect("many, violated", conclave("sim chang-roberts -n 6 --crash 6@5 --blind '*:6' --runs 3").returncode == 1)
    expect("many, held", conclave("sim bully --delay 1..9 --runs 20").returncode == 0)
    expect("many, unfinished", conclave("sim bully --until 1 --runs 3").returncode == 2)


# ---- the command that repeats a run ----


def check_unfinished():
    """A run that was given up says why, and judges no cost that is not complete."""
    for line in ("bully -n 4 --until 2", "bully -n 4 --until 0", "chang-roberts -n 4 --until 6", "central -n 3 --until 1"):
        result = conclave(f"sim {line}")
        verdict, = [row for row in result.stdout.splitlines() if row.startswith("verdict")]
        until = line.rsplit(" ", 1)[1]
        expect(f"sim {line}: a reason", ": ;" not in verdict and verdict.endswith(f"given up at time {until}"), verdict)
        expect(f"sim {line}: nothing is judged before the end", "NOT MET" not in result.stdout, result.stdout)


def check_repeat():
    for line in ("bully", "bully --seed 7 --delay 1..9", "chang-roberts -n 6 --crash 6@5 --blind '*:6'",
                 "wireless --graph edges:1-2,2-3 --seed=3", "ring-list -n 5 --set policy=min --start all",
                 "bully --seed 0 --attr 1,1 -n 2"):
        for extra in ("--json", ""):
            done = conclave(f"sim {line} {extra}")
            if extra:
                again = json.loads(done.stdout)["command"]
            else:
                again = done.stdout.splitlines()[-1].removeprefix("again").strip()
            expect(f"{line}: begins with the program", again.startswith("conclave sim "), again)
            expect(f"{line}: names the seed once", again.split().count("--seed") == 1, again)
            repeated = conclave(again.removeprefix("conclave "))
            expect(f"{line}: repeated by {again}", repeated.stdout == done.stdout, repeated.stdout or repeated.stderr)
    run = json.loads(conclave("sim bully --delay 1..9 -n 12 --start all --runs 20 --seed 5 --json").stdout)
    worst = json.loads(conclave(run["worst"]["command"].removeprefix("conclave ")).stdout)
    expect("the worst seed can be repeated", worst["messages"]["total"] == run["worst"]["messages"], run["worst"])
    expect("and is told", worst["seed"] == run["worst"]["seed"], run["worst"])


# ---- many runs ----

# Student's t, 97.5 %, by degrees of freedom: from a table in a book.
STUDENT = {1: 12.706, 2: 4.303, 4: 2.776, 9: 2.262, 14: 2.145, 29: 2.045, 59: 2.001, 99: 1.984}


def close(one, other):
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


def check_sample(what, sample, values):
    check_shape(what, sample, SAMPLE)
    mean, deviation = statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0
    expect(f"{what}: count", sample["count"] == len(values), sample)
    expect(f"{what}: mean", close(sample["mean"], mean), (sample, mean))
    expect(f"{what}: deviation", close(sample["deviation"], deviation), (sample, deviation))
    expect(f"{what}: least, median, most", (sample["min"], sample["median"], sample["max"]) ==
           (min(values), statistics.median_low(values), max(values)), sample)
    low, high = sample["confidence95"]
    error = STUDENT[len(values) - 1] * deviation / math.sqrt(len(values)) if len(values) > 1 else 0
    expect(f"{what}: confidence", math.isclose(high - mean, error, rel_tol=1e-3, abs_tol=1e-9), (high - mean, error))
    expect(f"{what}: confidence is even", close(mean - low, high - mean), sample)


def check_survey(line, runs, seed):
    many = conclave(f"sim {line} --runs {runs} --seed {seed} --json")
    survey = parse(line, many.stdout)
    check_shape(line, survey, SURVEY)
    single = [json.loads(conclave(f"sim {line} --seed {seed + i} --json").stdout) for i in range(runs)]
    verdicts = [run["verdict"] for run in single]
    expect(f"{line}: runs", survey["runs"] == runs and survey["seed"] == seed and survey["nodes"] == single[0]["nodes"])
    expect(f"{line}: verdicts", survey["verdicts"] == {name: verdicts.count(name) for name in
                                                      ("held", "violated", "unfinished")}, survey["verdicts"])
    badness = {"held": 0, "unfinished": 1, "violated": 2}
    worst = max(single, key=lambda run: (badness[run["verdict"]], run["messages"]["total"], -run["seed"]))
    expect(f"{line}: worst", (survey["worst"]["seed"], survey["worst"]["verdict"], survey["worst"]["messages"]) ==
           (worst["seed"], worst["verdict"], worst["messages"]["total"]), (survey["worst"], worst["seed"]))
    expect(f"{line}: verdict", survey["verdict"] == worst["verdict"])
    expect(f"{line}: exit code", many.returncode == {"held": 0, "violated": 1, "unfinished": 2}[worst["verdict"]])
    check_sample(f"{line}: messages", survey["messages"], [run["messages"]["total"] for run in single])
    check_sample(f"{line}: time", survey["time"], [run["time"] for run in single])
    decided = [run["decided"] for run in single if run["decided"] is not None]
    if len(decided) == runs:
        check_sample(f"{line}: decided", survey["decided"], decided)
    elif not decided:
        expect(f"{line}: nothing decided", survey["decided"] is None, survey["decided"])


def check_surveys():
    check_survey("bully -n 9 --start all --delay 1..9", 30, 5)
    check_survey("bully -n 9 --crash 9@0 --delay 1..9 --set bound=3 --set literal=yes --until 3000", 15, 1)
    check_survey("chang-roberts -n 20 --ids random --start all", 60, 1)
    check_survey("wireless -n 12 --delay exp:3", 10, 100)
    check_survey("ring-basic -n 5", 5, 1)
    check_survey("peterson -n 5 --set announce=no", 2, 9)
    check_survey("bully -n 6 --until 1", 3, 1)
    check_survey("bully", 1, 1)


# ---- the list and the help ----


def check_list():
    listed = parse("list", conclave("list --json").stdout)
    expect("schema", listed["schema"] == 1)
    table, by_name = conclave("list").stdout, {each["name"]: each for each in listed["algorithms"]}
    expect("every election", set(ELECTIONS) == {name for name, each in by_name.items() if each["problem"] == "election"},
           sorted(by_name))
    for problem, names in (("synchronizer", SYNCHRONIZERS), ("synchronous", APPS), ("paths", ["bellman-ford-async"])):
        listed_names = {name for name, each in by_name.items() if each["problem"] == problem}
        expect(f"every {problem}", set(names) == listed_names, listed_names)
    for name, (kinds, parameters) in ELECTIONS.items():
        each = by_name.get(name, {})
        check_shape(f"list {name}", each, LISTED)
        expect(f"{name}: in the table", f"\n{name} " in table, table)
        expect(f"{name}: kinds", set(kinds.split()) <= set(each["kinds"]), each["kinds"])
        words = {parameter["name"]: parameter["choices"] for parameter in each["parameters"]}
        expect(f"{name}: parameters", parameters.items() <= words.items(), words)
        for cost in each["costs"]:
            check_shape(f"{name}: cost", cost, {"measure": TEXT, "case": TEXT, "formula": TEXT, "relation": TEXT})
        one = parse(f"list {name}", conclave(f"list {name} --json").stdout)
        expect(f"{name}: alone", one["algorithms"] == [each], one)
        told = conclave(f"list {name}").stdout
        for word in [name, *kinds.split(), *parameters]:
            expect(f"list {name} tells of {word}", word in told, told)
        for parameter, choices in parameters.items():
            for choice in choices.split("|"):
                done = conclave(f"sim {name} --set {parameter}={choice}")
                expect(f"{name} --set {parameter}={choice}", done.returncode == 0, done.stderr or done.stdout)


def check_help():
    for line in ("--help", "-h", "help", "help sim", "help list", "help scenario", "help tour", "sim --help", "sim -h",
                 "sim bully --help", "list --help", "scenario --help", "tour --help", "--version"):
        done = conclave(line)
        expect(f"{line}: exit code 0", done.returncode == 0, done.stderr)
        expect(f"{line}: on standard output", done.stdout and not done.stderr, done.stderr)
    done = conclave("")
    expect("no command", done.returncode == 2 and not done.stdout and "usage" in done.stderr, done.stderr)
    told = conclave("sim --help").stdout
    for option in ("--nodes", "--ids", "--attr", "--start", "--seed", "--delay", "--loss", "--duplicate", "--reorder",
                   "--crash", "--recover", "--partition", "--alternate", "--detect", "--suspect", "--blind", "--graph",
                   "--app", "--set", "--until", "--runs", "--json", "--trace", "--svg", "--shiviz", "--diagram"):
        expect(f"sim --help tells of {option}", option in told, told)


def main():
    check_runs()
    check_values()
    check_synchronizers()
    check_exit_codes()
    check_unfinished()
    check_repeat()
    check_surveys()
    check_list()
    check_help()
    print(f"{len(failures)} surprises")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
