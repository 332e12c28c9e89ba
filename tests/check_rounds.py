#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`conclave check` of synchronizers and the apps that they host, and of shortest paths: what must hold in every order of
messages, what is found where it does not, and the mutants. --brief tries fewer."""

import json
import pathlib
import sys
import tempfile

import mutants
from check import check_all_found, check_all_held, check_found, expect, failures, run

SYNCHRONIZERS = ("alpha", "beta", "gamma", "abd", "lockstep")

# Options, the violated property, and the most steps of the counterexample.
FOUND = [
    *((f"{name} -n 3 --graph line --app {app} --timeouts any --property {wanted}", wanted, most)
      for name in ("abd", "lockstep")
      for app, wanted, most in (("bfs-tree", "whole-rounds", 4), ("bellman-ford", "like-synchronous", 24),
                                ("flood-max", "close-rounds", 4), ("bfs-tree", "fewest-hops", 14))),
    ("abd -n 3 --graph line --app bfs-tree --delay 2", "whole-rounds", 6),
    ("abd -n 3 --graph line --app bfs-tree --delay 3 --set bound=2", "whole-rounds", 6),
    ("abd -n 3 --graph line --app bellman-ford --delay 2 --property like-synchronous", "like-synchronous", 24),
    ("abd -n 3 --graph line --app bfs-tree --delay 1 --set tick=1 --property whole-rounds", "whole-rounds", 8),
    ("lockstep -n 3 --graph line --app flood-max --delay 2", "whole-rounds", 5),
    ("bully -n 3 --delay 3", "agreement", 3),
    ("alpha -n 3 --graph ring --crashes 1", "every-round", 10),
    ("bellman-ford-async -n 3 --graph line --cuts 1", "shortest-paths", 8),
]

HELD = [
    *(f"{name} --ids 1,2,3 --graph {graph} --app {app}" for name in SYNCHRONIZERS
      for graph in ("line", "ring") for app in ("bellman-ford", "flood-max", "bfs-tree")),
    *(f"{name} --ids 1..4 --graph ring --app bfs-tree" for name in SYNCHRONIZERS),
    *(f"{name} -n 3 --graph ring --app bfs-tree --unordered" for name in SYNCHRONIZERS),
    *(f"abd -n 3 --graph line --app {app} --delay 1" for app in ("bellman-ford", "flood-max", "bfs-tree")),
    "abd -n 3 --graph ring --app bfs-tree --delay 3 --set bound=3 --unordered",
    "lockstep -n 3 --graph ring --app bfs-tree --delay 1",
    "bully -n 3 --delay 2",
    "alpha --ids 1,2,3 --graph ring --app bfs-tree --delay 1",
    "gamma --ids 1..4 --graph ring --app flood-max --set clusters=sets:1-2/3-4",
    "gamma --ids 1..5 --graph line --app bfs-tree --set clusters=sets:1-2/3/4-5",
    "alpha -n 1 --graph line --app bfs-tree",
    "alpha --ids 1..3 --graph ring --app flood-max --set rounds=4",
    "bfs-tree -n 3 --graph ring",
    "bellman-ford-async -n 4 --graph ring",
    "bellman-ford-async --ids 1..4 --graph edges:1-2:5,1-3:1,3-2:1,2-4:1,3-4:9 --unordered",
    "bellman-ford-async --ids 1..7 --graph gadget:3",
]

# Mutants of synchronizers, of what they host, and of paths: how the checker finds them, and as what.
MUTANTS = {
    "abd-starts-too-late": ("-n 3 --graph line --app bfs-tree --delay 1", "whole-rounds"),
    "abd-ticks-too-fast": ("-n 3 --graph line --app flood-max --delay 1", "whole-rounds"),
    "alpha-does-not-wait-for-one": ("-n 3 --graph line --app bfs-tree", "whole-rounds"),
    "alpha-forgets-parity": ("-n 3 --graph line --app flood-max", "invariant"),
    "alpha-is-safe-after-one-ack": ("-n 3 --graph line --app flood-max --unordered", "whole-rounds"),
    "alpha-says-nothing-of-an-empty-round": ("-n 3 --graph line --app bfs-tree", "every-round"),
    "bellman-ford-async-keeps-the-first": ("-n 3 --graph ring", "shortest-paths"),
    "bellman-ford-takes-longer-ways": ("-n 3 --graph line", "shortest-paths"),
    "beta-adopts-everybody": ("-n 3 --graph ring --app bfs-tree", "every-round"),
    "beta-does-not-wait-for-a-child": ("-n 3 --graph line --app bfs-tree", "like-synchronous"),
    "beta-does-not-wait-for-acks": ("-n 3 --graph line --app flood-max", "whole-rounds"),
    "beta-does-not-wait-for-the-tree": ("-n 3 --graph line --app bfs-tree", "close-rounds"),
    "bfs-tree-moves-down": ("-n 3 --graph line", "fewest-hops"),
    "flood-max-elects-the-worst": ("-n 3 --graph line", "best-wins"),
    "flood-max-ignores-attributes": ("--ids 1,2,3 --attr 3,2,1 --graph line", "best-wins"),
    "gamma-does-not-look-around": ("-n 3 --graph line --app bfs-tree", "like-synchronous"),
    "gamma-does-not-wait-for-a-child": ("-n 3 --graph line --app bfs-tree", "invariant"),
    "gamma-does-not-wait-for-acks": ("-n 3 --graph line --app flood-max --unordered", "whole-rounds"),
    "gamma-forgets-a-preferred-edge": ("-n 3 --graph line --app bfs-tree --set clusters=sets:1/2/3", "close-rounds"),
    "gamma-forgets-parity": ("-n 3 --graph line --app bfs-tree", "invariant"),
    "gamma-forgets-who-was-first": ("-n 3 --graph ring --app bfs-tree", "every-round"),
    "gamma-prefers-another-edge": ("-n 3 --graph line --app bfs-tree", "close-rounds"),
    "gamma-reports-before-it-starts": ("-n 3 --graph ring --app bfs-tree", "every-round"),
    "lockstep-stops-early": ("-n 3 --graph line --app bfs-tree", "every-round"),
}

# Those that only cost more.
NOT_FOR_THE_CHECKER = {
    "bellman-ford-async-passes-on-what-is-not-new",
    "bellman-ford-keeps-telling",
    "bfs-tree-searches-once-more",
    "flood-max-repeats-itself",
    "lockstep-takes-two-ticks",
}

REFUSED = [
    ("bully --app bfs-tree", "--app bfs-tree: bully is no synchronizer"),
    ("alpha --graph ring --app bully", "--app bully: expected a synchronous algorithm"),
    ("alpha --graph ring --app nobody", "--app nobody: no such algorithm"),
    ("alpha --graph ring --start 1", "--start 1: with alpha every node starts at time 0"),
    ("alpha --graph ring --ask 1", "--ask 1: expected ids of members, and mutual exclusion"),
    ("alpha --graph ring --inside 1", "--inside 1: expected the id of a member, and mutual exclusion"),
    ("abd --graph ring --delay 0", "--delay 0: expected a number of 1..1000"),
    ("abd --graph ring --delay 1 --timeouts any", "--delay 1: expected without faults, and without --timeouts any"),
    ("bully --delay 1 --crashes 1", "--delay 1: expected without faults"),
    ("bully --delay 1 --cut 1:2", "--delay 1: expected without faults"),
    ("lamport --delay 1", "--delay 1: expected an algorithm without Lamport clocks"),
    ("token-ring --delay 1", "--delay 1: expected an algorithm without Lamport clocks and `counters`"),
    ("alpha --graph ring --entries 2", "--entries 2: expected a mutual exclusion algorithm"),
]


def check_refused():
    for line, wanted in REFUSED:
        done = run(line.split())
        expect(f"check {line}: refused", done.returncode == 2 and wanted in done.stderr and done.stderr.count("\n") == 1,
               f"{done.returncode} {done.stdout}{done.stderr}")


def check_mutants(directory, every):
    there = [mutants.Mutant(path) for path in sorted((mutants.SOURCE / "tests" / "mutants").glob("*.mutant"))]
    there = {mutant.name: mutant for mutant in there if mutant.source.parent.name in ("synchronizer", "synchronous", "paths")}
    expect("every mutant is accounted for", there.keys() == MUTANTS.keys() | NOT_FOR_THE_CHECKER,
           there.keys() ^ (MUTANTS.keys() | NOT_FOR_THE_CHECKER))
    for name, (options, wanted) in list(MUTANTS.items())[::every]:
        mutant = there[name]
        target = mutants.compile_object(mutant.text(), mutant.table, directory, name)
        hosted = mutant.source.parent.name == "synchronous"
        words = ["alpha", "--app", str(target)] if hosted else [str(target)]
        check_found(name, [*words, *options.split(), "--property", wanted], wanted, 40, directory)


def check_hosted(directory):
    """A plugin is hosted like any app, and its own failure is found under every synchronizer."""
    text = (mutants.SOURCE / "examples" / "independent_set.c").read_text(encoding="utf-8")
    target = mutants.compile_object(text, "conclave_algorithm", directory, "independent-set")
    line = "static void pulse(struct cv_self *me, uint64_t round)\n{\n"
    expect("hosted: the line is there once", text.count(line) == 1)
    choosy = mutants.compile_object(text.replace(line, f"{line}    (void)cv_choose(me, 2);\n"), "conclave_algorithm",
                                    directory, "choosy-set")
    failing = mutants.compile_object(text.replace(line, f"{line}    assert(round != 2 || me->node != 2);\n"),
                                     "conclave_algorithm", directory, "failing-set")
    for name in SYNCHRONIZERS:
        words = f"{name} --ids 1,2,3 --graph line --json --app".split()
        held = json.loads(run([*words, str(target)]).stdout)
        expect(f"{name} hosts a plugin", held["verdict"] == "held" and held["complete"] and held["app"] == "independent-set"
               and held["rounds"] == 2, held)
        names = [item["name"] for item in held["properties"]]
        expect(f"{name}: what is judged", names[:4] == ["whole-rounds", "close-rounds", "every-round", "like-synchronous"], names)
        found = {item["name"]: item["verdict"] for item in json.loads(run([*words, str(choosy)]).stdout)["properties"]}
        expect(f"{name}: random choices are not compared", found["like-synchronous"] == "disclaimed" and
               found["every-round"] == "held", found)
        check_found(f"{name} hosts an app that fails", [*words[:-2], "--app", str(failing)], "invariant", 30, directory)
    told = run("alpha --ids 1,2,3 --graph line --app bfs-tree".split()).stdout
    expect("the report names the app", "The alpha synchronizer, 3 nodes, hosting Lynch's breadth-first tree, 2 rounds\n" in told, told)
    for line in ("alpha --ids 1,2,3 --graph ring", "beta --ids 1,2,3 --graph ring", "gamma --ids 1..4 --graph ring"):
        counts = {json.loads(run(f"{line} --app flood-max --json {more}".split()).stdout)["states"]
                  for more in ("", "--no-reduction", "--threads 2", "--fingerprints 128", "--depth-first")}
        expect(f"{line}: one count of states", len(counts) == 1, counts)


def check_repeated(directory):
    """A plugin's handler that depends on a global variable or a clock is found; a steady one is not."""
    text = (mutants.SOURCE / "examples" / "independent_set.c").read_text(encoding="utf-8")
    line = "static void pulse(struct cv_self *me, uint64_t round)\n{\n"
    forgetful = f"{line}    static uint32_t rounds;\n    if (++rounds % 3 == 0)\n        cv_note(me, \"third\");\n"
    sent = "static void pulse(struct cv_self *me, uint64_t round)\n{\n    static cv_node last;\n    if (last != me->node && round == 1)\n        cv_note(me, \"another\");\n    last = me->node;\n"
    for name, changed in (("global", forgetful), ("neighbour's global", sent)):
        target = mutants.compile_object(text.replace(line, changed), "conclave_algorithm", directory, "repeated")
        done = run(["alpha", "--ids", "1,2,3", "--graph", "line", "--app", str(target), "--json"])
        result = json.loads(done.stdout)
        detail = "".join(item["detail"] for item in result["properties"] if item["name"] == "invariant")
        expect(f"{name}: found", done.returncode == 1 and "writes to a global variable" in detail, done.stdout)
    source = mutants.SOURCE / "src" / "algorithm" / "election" / "bully.c"
    text = source.read_text(encoding="utf-8")
    line = "static void call(struct cv_self *me)\n{\n"
    expect("repeated: the line is there once", text.count(line) == 1)
    for name, changed, wanted in (
            ("clock", "    struct timespec now;\n    clock_gettime(CLOCK_MONOTONIC, &now);\n    cv_result(me, (uint64_t)now.tv_nsec, me->node);\n",
             "calls clock_gettime()"),
            ("counter", "    static uint64_t calls;\n    if (++calls % 2)\n        cv_note(me, \"odd\");\n", "writes to a global variable, `calls`")):
        target = mutants.compile_object("#define _GNU_SOURCE\n#include <time.h>\n" + text.replace(line, line + changed), "cv_bully", directory, "unsteady")
        told = run([str(target), "-n", "3"])
        expect(f"{name}: told", told.returncode == 1 and "violated: invariant: at time" in told.stdout and
               wanted in told.stdout, told.stdout + told.stderr)


def main(words):
    brief = "--brief" in words
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(temporary)
        check_refused()
        check_all_found(directory, FOUND[::3] if brief else FOUND)
        check_all_held(HELD[::5] if brief else HELD)
        check_hosted(directory)
        check_repeated(directory)
        check_mutants(directory, 6 if brief else 1)
    print(f"{len(failures)} surprises")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
