#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`conclave check` finds what it must find and nothing else, prints it, and refuses bad input; `conclave sim --replay` repeats its
findings. --brief tries fewer groups; make verify tries larger ones."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import mutants

CONCLAVE = os.environ.get("CONCLAVE", str(mutants.SOURCE / "build" / "conclave"))
TEXTS_SETS = "quorums=sets:0:0-1-2,1:1-3-5,2:2-4-5,3:1-2-3,4:1-2-4,5:1-2-5"

# Options, the violated property, and the most steps of the counterexample.
FOUND = [
    ("maekawa-plain -n 2", "every-request", 8),
    ("maekawa-plain -n 3", "every-request", 10),
    (f"maekawa-plain --ids 0..5 --set {TEXTS_SETS} --depth 20", "every-request", 20),
    ("bully -n 3 --timeouts any", "agreement", 3),
    ("ring-list -n 3 --suspicions 1", "best-wins", 6),
    ("chang-roberts -n 3 --suspicions 1 --property best-wins", "best-wins", 6),
    ("ring-basic -n 3 --suspicions 1 --property best-wins", "best-wins", 6),
    ("chang-roberts -n 3 --crashes 1 --missed 1", "everyone-learns", 3),
    ("chang-roberts -n 3 --crashes 1 --missed 1 --property comes-to-rest", "comes-to-rest", 20),
    ("ring-basic -n 3 --crashes 1 --missed 1 --property comes-to-rest", "comes-to-rest", 20),
    ("ring-list -n 3 --crashes 1 --missed 1", "everyone-learns", 3),
    ("lamport -n 2 --unordered --property exclusion", "exclusion", 6),
    ("lamport -n 2 --unordered --property fences-rise", "fences-rise", 7),
    ("ricart-agrawala -n 2 --crashes 1", "no-deadlock", 3),
    ("maekawa -n 3 --set literal=yes --property exclusion", "exclusion", 30),
    ("maekawa -n 3 --set recall=no", "every-request", 10),
    ("token-ring -n 3 --set regenerate=8 --set confirm=no", "exclusion", 6),
    ("bully -n 3 --cuts 1", "everyone-learns", 7),
    ("bully -n 3 --cuts 1 --cut 2:3 --property agreement", "agreement", 12),
    ("wireless -n 3 --graph ring --cuts 1", "everyone-learns", 6),
    ("central -n 3 --cuts 1 --unordered", "no-deadlock", 4),
    ("central -n 2 --crashes 1 --recoveries 1 --missed 1 --property every-request", "every-request", 4),
    ("chang-roberts -n 3 --crashes 1 --recoveries 1 --unordered", "everyone-learns", 14),
    ("voting -n 3 --set backoff=0 --crashes 1 --recoveries 1 --property exclusion", "exclusion", 14),
    ("lamport -n 2 --crashes 1 --recoveries 1 --unordered --property exclusion", "exclusion", 8),
]

# The same depth first: counterexamples are long before they are shortened. Breadth first, the last would take minutes
# and gigabytes.
FOUND_DEEP = [
    ("maekawa-plain -n 3", "every-request", 30),
    ("bully -n 3 --timeouts any", "agreement", 10),
    ("chang-roberts -n 3 --suspicions 1 --property best-wins", "best-wins", 20),
    ("chang-roberts -n 3 --crashes 1 --missed 1 --property comes-to-rest", "comes-to-rest", 20),
    ("lamport -n 2 --unordered --property exclusion", "exclusion", 10),
    ("lamport -n 4 --unordered --property exclusion", "exclusion", 44),
]

HELD = [
    *(f"{name} -n {nodes}" for nodes in (3, 4) for name in ("bully", "ring-list", "ring-basic", "chang-roberts",
                                                          "chang-roberts-token", "franklin", "peterson",
                                                          "multicast-lean")),
    "multicast -n 3",
    "wireless -n 4 --graph ring",
    "bully -n 3 --crashes 1",
    "bully -n 3 --crashes 2",
    "bully -n 3 --crashes 2 --set election=all",
    "ring-list -n 3 --crashes 1 --set list=living",
    "ring-list -n 3 --crashes 1 --set list=living --set announce=multicast",
    "ring-list -n 3 --crashes 1 --set poll=yes",
    "ring-list -n 3 --crashes 1 --set stop=leader",
    "maekawa -n 3 --set recall=no --property exclusion",
    "chang-roberts -n 3 --crashes 2",
    "chang-roberts -n 4 --crashes 1",  # a node that still followed a dead leader dropped a result
    "wireless -n 3 --graph line --crashes 1",
    *(f"wireless --ids {ids} --graph {graph} --crashes 2" for graph in ("line", "ring") for ids in ("1,2,3", "1,3,2", "2,1,3")),
    "wireless -n 3 --graph star --crashes 2 --unordered",
    "chang-roberts -n 3 --crashes 1 --recoveries 1",  # an old ballot made a follower participate again
    "ring-basic -n 2 --crashes 2 --recoveries 2",
    "ring-basic --ids 1,2,3 --crashes 1 --recoveries 1",
    *(f"wireless --ids 1,2,3 --graph {graph} --crashes 1 --recoveries 1" for graph in ("line", "star")),
    "central -n 3 --entries 2",
    "central-deny -n 3 --entries 2",
    "token-ring -n 3 --entries 2",
    "token-ring -n 2 --set regenerate=5 --crashes 1",
    "token-ring -n 3 --set regenerate=5 --crashes 1",
    "token-ring -n 3 --set regenerate=5 --crashes 1 --unordered",
    "ricart-agrawala -n 3",
    "ricart-agrawala -n 3 --unordered",
    "lamport -n 2 --entries 2",
    "maekawa -n 2",
    "voting -n 2 --set backoff=0",
    "voting -n 3 --set backoff=0 --unordered",
    "voting -n 2 --set backoff=0 --unordered --entries 2",
    "voting -n 2 --set backoff=0 --timeouts any",
    "central -n 2 --inside 1",
    "lamport -n 2 --inside 1",
    "maekawa -n 2 --inside 2",
    "token-ring -n 3 --inside 2",
]

# Mutants of mutual exclusion that are not for the checker, and why. The simulator's tests find them.
NOT_FOR_THE_CHECKER = {
    "token-ring-takes-void-tokens": "two tokens that go round for ever have too many states",
    "central-deny-says-nothing": "it only costs less than the text says",
    "central-last-come-first-served": "everybody is served, in another order",
    "token-ring-counts-no-dead-successor": "three nodes that die and acknowledge have too many states",
    "voting-keeps-its-votes": "voting does not promise what it breaks",
}

MUTANTS = {
    "central-deny-does-not-queue": ("-n 2", "no-deadlock"),
    "central-does-not-count": ("-n 2", "fences-rise"),
    "central-forgets-who-is-inside": ("-n 3 --inside 1", "exclusion"),
    "central-lets-everybody-in": ("-n 2", "exclusion"),
    "lamport-does-not-wait-for-acks": ("-n 2", "exclusion"),
    "lamport-forgets-who-is-inside": ("-n 3 --inside 1", "exclusion"),
    "lamport-takes-anything-for-later": ("-n 2 --entries 2", "exclusion"),
    "maekawa-forgets-who-relinquished": ("-n 2", "no-deadlock"),
    "maekawa-gives-back-inside": ("-n 2", "exclusion"),
    "maekawa-plain-keeps-the-last-waiting": ("-n 2", "every-request"),
    "maekawa-plain-tells-no-fence": ("-n 2", "fences-rise"),
    "maekawa-plain-votes-twice": ("-n 2", "exclusion"),
    "maekawa-relinquishes-to-all": ("-n 3", "exclusion"),
    "maekawa-without-sanders": ("-n 3", "no-deadlock"),
    "ricart-agrawala-compares-the-present": ("-n 2 --entries 2", "exclusion"),
    "ricart-agrawala-counts-time-alone": ("-n 2", "fences-rise"),
    "ricart-agrawala-forgets-who-is-inside": ("-n 3 --inside 1", "exclusion"),
    "ricart-agrawala-keeps-ties-waiting": ("-n 2", "no-deadlock"),
    "ricart-agrawala-lets-ties-in": ("-n 2", "exclusion"),
    "token-ring-counts-for-itself": ("-n 3 --set regenerate=8 --crashes 1", "fences-rise"),
    "token-ring-enters-twice": ("-n 2 --entries 2", "no-deadlock"),
    "token-ring-loses-its-only-node": ("-n 1", "every-request"),
    "token-ring-regenerates-by-timeout": ("-n 3 --set regenerate=8", "exclusion"),
    "voting-counts-late-grants": ("-n 3 --set backoff=0 --timeouts any", "exclusion"),
    "voting-forgets-who-is-inside": ("-n 3 --inside 1", "exclusion"),
    "voting-takes-half": ("-n 2", "exclusion"),
    "voting-votes-twice": ("-n 2", "exclusion"),
    "bully-believes-everybody": ("-n 3 --crashes 1 --recoveries 1", "agreement"),
    "bully-comes-back-silently": ("-n 2 --crashes 1 --recoveries 1", "everyone-learns"),
    "chang-roberts-believes-old-news": ("--ids 1,2,3 --crashes 1 --recoveries 1", "agreement"),
    "ring-basic-believes-old-news": ("--ids 1,2,3 --crashes 1 --recoveries 1", "agreement"),
    "wireless-waits-for-the-returned": ("-n 3 --graph line --crashes 1 --recoveries 1", "everyone-learns"),
    "ring-list-comes-back-silently": ("-n 2 --crashes 1 --recoveries 1", "best-wins"),
    "bully-asks-in-vain": ("-n 3", "everyone-learns"),
    "bully-calls-twice": ("-n 3 --crashes 1", "one-election"),
    "bully-waits-for-ever": ("-n 3 --crashes 1", "everyone-learns"),
    "chang-roberts-participates-twice": ("-n 3", "one-election"),
    "chang-roberts-passes-on-the-orphan": ("-n 3 --crashes 1", "everyone-learns"),
    "chang-roberts-token-nobody-drops": ("-n 3", "agreement"),
    "franklin-forgets-what-came-early": ("-n 3", "everyone-learns"),
    "multicast-counts-too-few": ("-n 3", "agreement"),
    "peterson-keeps-its-alias": ("-n 3", "best-wins"),
    "ring-basic-does-not-replace": ("-n 3", "best-wins"),
    "ring-list-keeps-the-first": ("-n 3", "agreement"),
    "voting-frees-newer-votes": ("-n 3 --set backoff=0 --unordered --timeouts any", "exclusion"),
    "wireless-believes-old-reports": ("-n 3 --graph line --crashes 2", "best-wins"),
    "wireless-forgets-reports": ("-n 3 --graph ring", "best-wins"),
}

REFUSED = [
    ("central -n 3 --property agreement", "central is not judged by it; expected exclusion"),
    ("", "check: expected an algorithm"),
    ("bully ring-list", "ring-list: expected one algorithm at a time"),
    ("nobody", "nobody: no such algorithm"),
    ("bully -n 17", "--nodes 17: expected at most 16"),
    ("bully -n 0", "--nodes 0"),
    ("bully --crashes many", "--crashes many: expected a number of 0..15"),
    ("bully -n 3 --crashes 5", "--crashes 5: expected fewer than there are nodes (3)"),
    ("bully -n 3 --crashes 3", "--crashes 3: expected fewer than there are nodes (3)"),
    ("bully --crashes 1 --missed 2", "--missed 2: expected no more than --crashes"),
    ("bully -n 3 --crashes 1 --recoveries 2", "--recoveries 2: expected no more than --crashes"),
    ("bully -n 3 --crashes 4 --recoveries 1", "--crashes 4: expected fewer than there are nodes (3) and recoveries"),
    ("bully --recoveries", "--recoveries: expected a value"),
    ("bully --cuts x", "--cuts x: expected a number"),
    ("bully --cut 1", "--cut 1: expected the ids of two members"),
    ("bully --cut 1:1", "--cut 1:1: expected the ids of two members"),
    ("bully --cut 1:9", "--cut 1:9: expected the ids of two members"),
    ("bully --cut 1:2:3", "--cut 1:2:3: expected the ids of two members"),
    ("bully --suspicions -1", "--suspicions -1: expected a number"),
    ("bully --timeouts never", "--timeouts never: expected accurate or any"),
    ("bully --threads 0", "--threads 0: expected a number of 1..64"),
    ("bully --memory 1K", "--memory 1K: expected a size of at least 16M"),
    ("bully --memory much", "--memory much: expected a size"),
    ("bully --memory", "--memory: expected a value"),
    ("bully --fingerprints 32", "--fingerprints 32: expected 64 or 128"),
    ("bully --property beauty", "--property beauty: expected"),
    ("bully --depth 0", "--depth 0: expected a number"),
    ("bully --entries 2", "--entries 2: expected a mutual exclusion algorithm"),
    ("bully --inside 1", "--inside 1: expected the id of a member, and mutual exclusion"),
    ("central --inside 9", "--inside 9: expected the id of a member"),
    ("central --ask 1,9", "--ask 1,9: expected ids of members"),
    ("central --start 1", "--start 1"),
    ("bully --seed 3", "--seed: no such option; see conclave check --help"),
    ("bully --no-red", "--no-red: expected --no-reduction, written out"),
    ("bully -n 3 -n 4", "--nodes 4: given twice"),
    ("bully --json --diagram", "--json: expected without --diagram"),
    ("bully --trace /nowhere/at/all --timeouts any", "/nowhere/at/all"),
]

failures = []


def run(words, program=("check",), **options):
    return subprocess.run([CONCLAVE, *program, *words], capture_output=True, text=True, check=False,
                          timeout=options.pop("timeout", 600), **options)


def expect(what, good, detail=""):
    if not good:
        failures.append(what)
        print(f"FAILED: {what} {detail}")


def violated(result):
    return [item["name"] for item in result["properties"] if item["verdict"] == "violated"]


def check_found(name, words, wanted, most, directory):
    """The checker finds, reports and saves the violation, and the simulator repeats it."""
    file = directory / "found.replay"
    done = run([*words, "--json", "--trace", str(file)])
    expect(f"{name}: exit code 1", done.returncode == 1, f"{done.returncode} {done.stdout}{done.stderr}")
    if done.returncode != 1:
        return
    result = json.loads(done.stdout)
    expect(f"{name}: violates {wanted}", violated(result) == [wanted], violated(result))
    expect(f"{name}: verdict", result["verdict"] == "violated")
    steps = len(result["counterexample"])
    expect(f"{name}: at most {most} steps", 0 < steps <= most, steps)
    replay = ["--replay", str(file)]
    again = run([*replay, "--json"], program=("sim",))
    expect(f"{name}: the replay is violated too", again.returncode == 1, again.stdout + again.stderr)
    if again.returncode == 1:
        expect(f"{name}: the replay violates {wanted}", wanted in violated(json.loads(again.stdout)), again.stdout)
    drawn = run([*replay, "--diagram", "--transcript", "--svg", str(directory / "found.svg")], program=("sim",))
    expect(f"{name}: the replay is drawn", drawn.returncode == 1 and (directory / "found.svg").stat().st_size > 100)
    expect(f"{name}: the same bytes every time",
           drawn.stdout == run([*replay, "--diagram", "--transcript", "--svg", str(directory / "found.svg")],
                               program=("sim",)).stdout)


def check_all_found(directory, lines):
    for line, wanted, most in lines:
        check_found(line, line.split(), wanted, most, directory)
    small = [(line, wanted) for line, wanted, _ in lines if "--depth" not in line]  # one that is cut off has millions of states
    for line, wanted in small[:5]:
        done = run([*line.split(), "--no-reduction", "--json"])
        expect(f"{line}: the same without reduction", violated(json.loads(done.stdout)) == [wanted], done.stdout)


def check_all_held(lines):
    for line in lines:
        done = run([*line.split(), "--json"])
        expect(f"{line}: held", done.returncode == 0, done.stdout + done.stderr)
        if done.returncode == 0:
            result = json.loads(done.stdout)
            expect(f"{line}: complete", result["complete"] is True and result["counterexample"] is None)


def check_depth_first(directory):
    for line, wanted, most in FOUND_DEEP:
        check_found(f"{line}, depth first", [*line.split(), "--depth-first"], wanted, most, directory)
    line = "central -n 4 --entries 3 --no-reduction --json"
    wide = json.loads(run(line.split()).stdout)
    for threads in (1, 2, 5):
        deep = json.loads(run(f"{line} --depth-first --threads {threads}".split()).stdout)
        expect(f"{threads} threads depth first: the same states and steps",
               all(deep[key] == wide[key] for key in ("verdict", "states", "transitions", "depth")), deep)
    done = run("central -n 3 --depth-first --depth 5 --json".split())
    expect("the bound on depth, depth first", done.returncode == 2 and json.loads(done.stdout)["depth"] == 5,
           done.stdout)
    done = run("lamport -n 4 --no-reduction --depth-first --memory 16M --json".split())
    expect("the bound on memory, depth first", done.returncode == 2 and json.loads(done.stdout)["bytes"] < 24 << 20,
           done.stdout)


# Checks outside of what an algorithm assumes, and the assumption.
OUTSIDE = {
    "voting -n 3 --set backoff=0 --crashes 1 --recoveries 1 --property exclusion": "no node comes back from a crash",
    "chang-roberts -n 3 --crashes 1 --recoveries 1 --unordered": "messages stay in order if a node comes back",
    "ricart-agrawala -n 2 --crashes 1": "no node dies",
    "lamport -n 2 --unordered --property exclusion": "messages stay in order",
    "bully -n 3 --timeouts any": "messages do not take longer than its timeouts allow",
    "bully -n 3 --cuts 1": "no message is lost",
    "ring-list -n 3 --suspicions 1": "its failure detector makes no mistakes",
}


def check_outside():
    """The report of a violation says which assumption does not hold."""
    for line, assumed in OUTSIDE.items():
        told = run(line.split()).stdout
        expect(f"{line}: outside of what it assumes",
               f"the algorithm assumes that {assumed}\n" in told and "verdict   violated, outside of what it assumes: " in told, told)
        result = json.loads(run([*line.split(), "--json"]).stdout)
        expect(f"{line}: outside, as JSON", result["outside"] == [assumed], result["outside"])
    for line in ("maekawa-plain -n 3", "voting -n 2 --crashes 1"):  # within
        told = run(line.split()).stdout
        expect(f"{line}: violated within what it assumes", "verdict   violated: " in told, told)
        result = json.loads(run([*line.split(), "--json"]).stdout)
        expect(f"{line}: within, as JSON", result["outside"] == [], result["outside"])


ARRANGEMENTS = {"peterson -n 3": 2, "peterson -n 4": 6, "franklin -n 4": 6, "chang-roberts -n 5": 24, "token-ring -n 3": 6,
                "bully -n 3": 1, "wireless -n 3 --graph line": 6, "peterson --ids 3,1,2": 1, "peterson -n 3 --attr 5,5,5": 1,
                "peterson -n 1": 1, "peterson -n 2": 1}


def check_arrangements(directory):
    """Rings and graphs are checked in every arrangement of ids."""
    for line, wanted in ARRANGEMENTS.items():
        result = json.loads(run([*line.split(), "--json"]).stdout)
        expect(f"{line}: {wanted} arrangements", result["arrangements"] == wanted and result["verdict"] == "held", result)
    both = [json.loads(run(["chang-roberts", "--ids", ids, "--json"]).stdout)["states"] for ids in ("1,2,3", "1,3,2")]
    result = json.loads(run("chang-roberts -n 3 --json".split()).stdout)
    expect("states of all arrangements", result["states"] == sum(both), (result, both))
    mutant = mutants.Mutant(mutants.SOURCE / "tests" / "mutants" / "peterson-looks-at-its-own.mutant")
    target = mutants.compile_object(mutant.text(), mutant.table, directory, mutant.name)
    for nodes in ("3", "4"):
        easiest = ",".join(str(i + 1) for i in range(int(nodes)))
        done = run([str(target), "--ids", easiest])
        expect(f"{mutant.name}: held in the easiest arrangement of {nodes}", done.returncode == 0, done.stdout)
        check_found(mutant.name, [str(target), "-n", nodes], "best-wins", 30, directory)
    found = json.loads(run([str(target), "-n", "3", "--json"]).stdout)
    expect("the arrangement is told", found["ids"] == [1, 3, 2] and found["arrangements"] == 2, found)
    told = run([str(target), "-n", "3"]).stdout
    expect("the arrangement is told in words", "3 nodes, 2 arrangements of ids" in told and "arrangement 2: --ids 1,3,2" in told,
           told)
    for line in (f"{target} -n 4", "ring-list -n 5", "peterson -n 4 --crashes 1"):  # threads take arrangements of their own
        told = {re.sub("(?m)^(cost|again) .*\n|(--threads) .*", "", run([*line.split(), "--threads", threads]).stdout) for threads in "123"}
        expect(f"{line}: the same by all numbers of threads", len(told) == 1 and "states " in min(told), told)
    with subprocess.Popen([CONCLAVE, "check", "chang-roberts", "-n", "12", "--json"], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as child:
        time.sleep(2)
        child.send_signal(signal.SIGINT)
        result = json.loads(child.communicate(timeout=100)[0])
        expect("Ctrl-C between arrangements", child.returncode == 2 and result["verdict"] == "unfinished" and
               result["complete"] is False and not [item for item in result["properties"] if item["verdict"] == "held"], result)


def check_progress():
    """Progress is shown on a terminal, after two seconds."""
    ours, theirs = os.openpty()
    with subprocess.Popen([CONCLAVE, "check", "ricart-agrawala", "-n", "5", "--memory", "2G"], stdout=subprocess.DEVNULL,
                          stderr=theirs) as child:
        os.close(theirs)
        told = b""
        while b" MB" not in told:
            told += os.read(ours, 1000)
        child.send_signal(signal.SIGINT)
        wanted = rb"searching: [\d.]+ M states, [\d.]+ M a second, depth \d+, queue \d+, \d+ MB"
        expect("progress on a terminal", re.search(wanted, told), told)
    os.close(ours)


def check_mutants(directory, every):
    there = {path.stem for path in (mutants.SOURCE / "tests" / "mutants").glob("*.mutant")
             if "/mutex/" in path.read_text(encoding="utf-8")
             or (mutants.Mutant(path).for_checker and "/election/" in path.read_text(encoding="utf-8"))}
    expect("every mutant of mutual exclusion is accounted for", there <= MUTANTS.keys() | NOT_FOR_THE_CHECKER.keys(),
           there - MUTANTS.keys() - NOT_FOR_THE_CHECKER.keys())
    for name, (options, wanted) in list(MUTANTS.items())[::every]:
        mutant = mutants.Mutant(mutants.SOURCE / "tests" / "mutants" / f"{name}.mutant")
        target = mutants.compile_object(mutant.text(), mutant.table, directory, name)
        check_found(name, [str(target), *options.split(), "--property", wanted], wanted, 40, directory)
        if "--recoveries" in options:
            without = re.sub("--recoveries 1", "", options).split()
            expect(f"{name}: nothing shows without recovery", run([str(target), *without]).returncode == 0)


def check_complaints(directory):
    """Failed assertions, broken invariants and fatal signals in handlers are findings like others."""
    source = mutants.SOURCE / "src" / "algorithm" / "mutex" / "ricart_agrawala.c"
    text = source.read_text(encoding="utf-8")
    line = "    if (--my->missing == 0)"
    for name, before, after in (("asserts", line, f"    assert(my->missing != 1);\n{line}"),
                                ("aborts", line, f"    if (my->missing == 1)\n        abort();\n{line}"),
                                ("crashes", line, f"    if (my->missing == 1)\n        *(volatile int *)my->missing = 0;\n{line}"),
                                ("recurses", line, f"    if (my->missing == 1)\n        on_ok(me, message);\n{line}"),
                                ("complains", "!my->missing ? ", "my->missing == 1 ? ")):
        expect(f"{name}: the line is there once", text.count(before) == 1)
        changed = "#include <stdlib.h>\n" + text.replace(before, after)
        target = mutants.compile_object(changed, "cv_ricart_agrawala", directory, name)
        check_found(name, [str(target), "-n", "3"], "invariant", 5, directory)
        told = run([str(target), "-n", "3"])
        expect(f"{name}: told on one page", told.stderr == "" and "violated: invariant: at time " in
               told.stdout, told.stdout + told.stderr)


# A message that no node could have sent, and that `valid` does not refuse: the handler asserts, and does not write out of bounds.
ASTRAY = {
    "maekawa": ("    cv_send(me, wish.node, REPLY,", "    cv_send(me, (wish.node + 3) % cv_nodes(me), REPLY,", "place < cv_quorum_size"),
    "central": ("cv_signal(me, cv_coordinator(me), REQUEST)", "cv_signal(me, (cv_coordinator(me) + 1) % cv_nodes(me), REQUEST)",
                "coordinates(me)"),
}


def check_astray(directory):
    """A handler asserts what it relies on, and the checker reports a failed assertion."""
    for source, (before, after, asserted) in ASTRAY.items():
        text = (mutants.SOURCE / "src" / "algorithm" / "mutex" / f"{source}.c").read_text(encoding="utf-8")
        expect(f"{source}: the line is there once", text.count(before) == 1)
        text = text.replace(before, after).replace("    .valid = valid,\n", "    .valid = NULL,\n")
        target = mutants.compile_object(text, f"cv_{source}", directory, f"{source}-astray")
        told = run([str(target), "-n", "4", "--property", "invariant", "--depth", "8"])
        expect(f"{source}: the assertion is told", told.returncode == 1 and told.stderr == "" and
               "violated: invariant: at time " in told.stdout and asserted in told.stdout, told.stdout + told.stderr)


# Algorithms that break a promise of their table about names and times: the source, what is replaced by what, the
# violated property (None: none), and whether the promise is broken.
FIRST = "cv_before(me, my->time, me->node, theirs->time, message->from)"
FREE = "    if (my->holder == CV_NOBODY)\n        let_in(me, node);\n    else"
THEIRS, MINE = "my->peers[node].request", "my->peers[me->node].request"
BEFORE = f"cv_before(me, {THEIRS}, node, {MINE}, me->node)"
PROMISES = {
    "compares-ids": ("ricart_agrawala", FIRST, "cv_id_of(me, message->from) > cv_my_id(me)", "exclusion", True),
    "compares-two-bits": ("ricart_agrawala", FIRST, re.sub(r"(theirs|my)->time", r"(\1->time & 3)", FIRST), "exclusion", True),
    "compares-numbers": ("ricart_agrawala", FIRST, "theirs->time > my->time || (theirs->time == my->time && message->from > me->node)",
                         None, False),
    "prefers-low-ids": ("central", FREE, FREE.replace("NOBODY)", "NOBODY || cv_id_of(me, node) < cv_id_of(me, my->holder))"),
                        "exclusion", True),
    "lets-one-in-later": ("central", FREE, FREE.replace("NOBODY)", "NOBODY || (node == 1 && my->grants == 2))"), "exclusion",
                          True),
    "forgets-to-rename": ("central", "    renaming->node(renaming, &my->last);\n", "", None, True),
    "renames-where-nothing-is": ("central", "    if (group->coordinator == node)\n        renaming->row",
                                 "    if (group->coordinator != node)\n        renaming->row", None, True),
    "renames-nobody": ("central", "    if (message)\n        return;\n", "    if (!message)\n        return;\n", None, True),
    "renames-by-halves": ("central", "        renaming->row(renaming, my->behind);\n", "        renaming->node(renaming, &my->behind[0]);\n",
                          None, True),
    "rounds-times": ("lamport", BEFORE, f"cv_before(me, {THEIRS} / 8, node, {MINE} / 8, me->node)", "exclusion", False),
    "waits-for-low-ids": ("lamport", BEFORE, f"{THEIRS} < {MINE} || ({THEIRS} != NONE && cv_id_of(me, node) < cv_my_id(me))",
                          "no-deadlock", True),
    "asks-low-ids-first": ("maekawa", "return cv_before(", "return cv_id_of(me, one->node) + 1 < cv_id_of(me, other->node) || cv_before(",
                           "no-deadlock", True),
}


def check_promises(directory):
    """A broken promise is reported, is not relied on, and hides no violation."""
    for name, (source, before, after, wanted, broken) in PROMISES.items():
        text = (mutants.SOURCE / "src" / "algorithm" / "mutex" / f"{source}.c").read_text(encoding="utf-8")
        expect(f"{name}: the line is there once", text.count(before) == 1)
        target = mutants.compile_object(text.replace(before, after), f"cv_{source}", directory, name)
        for nodes in ("3", "4") if source == "central" or name == "compares-two-bits" else ("3",):
            words = [str(target), "-n", nodes]
            done = run([*words, "--json"])
            result = json.loads(done.stdout)
            whole = json.loads(run([*words, "--no-reduction", "--json"]).stdout)
            expect(f"{name}: complete without reduction", whole["complete"] or violated(whole), whole)
            expect(f"{name}: the same without reduction, but for the promise",
                   violated(whole) == [item for item in violated(result) if item != "promises"],
                   (violated(whole), violated(result)))
            if nodes == "3":
                expect(f"{name}: {wanted}", violated(whole) == ([wanted] if wanted else []), violated(whole))
            expect(f"{name}: the promise is {'broken' if broken else 'kept'}", ("promises" in violated(result)) == broken,
                   result["properties"])
            expect(f"{name}: exit code", done.returncode == (1 if wanted or broken else 0), done.returncode)
            expect(f"{name}: a story if there is one", (result["counterexample"] is not None) == bool(violated(whole)), result)
        told = run([str(target), "-n", "3", "--property", "fences-rise"])
        expect(f"{name}: a note if one property is asked about", ("note  " in told.stdout) == broken and
               "promises" not in told.stdout, told.stdout)


# Voting whose counters break the promise: what is replaced by what, and what is violated besides the promise.
ENTER = "    if (my->granted == my->answers) {\n"
COUNTS = {
    "the third attempt enters": (ENTER, ENTER.replace(") {", " || my->attempt > 2) {"), ["exclusion"]),
    "every fourth attempt enters": (ENTER, ENTER.replace(") {", " || my->attempt % 4 == 3) {"), ["exclusion"]),
    "of another family": ("counting, my->voted, &my->ballot", "counting, node, &my->ballot", []),
    "a number left out": ("            counting->count(counting, my->voted, &my->ballot);\n", "            ;\n", []),
    "messages left out": ("    counting->count(counting, answers ? message->to : message->from,\n"
                          "                    &((struct ballot *)(void *)message->body)->attempt);\n", "    (void)answers;\n", []),
    "no such family": ("counting, node, &my->attempt", "counting, node + 16, &my->attempt", []),
    "behind the state": ("counting, node, &my->attempt", "counting, node, (uint64_t *)(void *)(my + 1) + 4", []),
}


def check_counters(directory):
    """Counters are renumbered only if the algorithm does nothing with them but compare them."""
    text = (mutants.SOURCE / "src" / "algorithm" / "mutex" / "voting.c").read_text(encoding="utf-8")
    for name, (before, after, wanted) in COUNTS.items():
        expect(f"counters, {name}: the line is there once", text.count(before) == 1)
        target = mutants.compile_object(text.replace(before, after), "cv_voting", directory, f"counters-{len(name)}-{after.count('1')}")
        for more in ("", "--no-reduction"):
            done = run([str(target), *"-n 3 --set backoff=0 --memory 30M --json".split(), *more.split()])
            result = json.loads(done.stdout)
            expect(f"counters, {name} {more}: found", done.returncode in (1, 2) and result["verdict"] == "violated" and
                   violated(result) in ([*wanted, "promises"], ["promises"] if more else None), done.stdout)
    told = run("voting -n 2 --entries 2 --set backoff=0 --crashes 1 --recoveries 1 --property no-deadlock --memory 30M".split()).stdout
    expect("counters: numbers that begin twice", "`counters` cannot be confirmed: numbers of one family begin twice" in told, told)


def check_both_wrong(directory):
    """A step that violates two properties is found with --property for either."""
    text = (mutants.SOURCE / "src" / "algorithm" / "mutex" / "central.c").read_text(encoding="utf-8")
    changes = (("me->region == CV_TRYING", "true"), ("        cv_send(me, node, GRANT, &grant);\n", "        cv_send(me, node, GRANT, &grant), cv_send(me, node, GRANT, &grant);\n"),
               ("    cv_enter(me, grant->fence);\n}\n\nstatic void on_denied",
                "    ((struct state *)me->state)->grants++;\n    cv_enter(me, grant->fence);\n}\n\nstatic void on_denied"),
               ("        cv_signal(me, cv_coordinator(me), RELEASE);\n",
                "        cv_signal(me, cv_coordinator(me), RELEASE), ((struct state *)me->state)->grants = 0;\n"),
               ("const struct cv_algorithm cv_central = {\n",
                "static const char *invariant(const struct cv_self *me)\n{\n    const struct state *my = me->state;\n"
                "    return !coordinates(me) && my->grants > 1 ? \"twice\" : NULL;\n}\n\n"
                "const struct cv_algorithm cv_central = {\n    .invariant = invariant,\n"))
    for before, after in changes:
        expect(f"both wrong: {before!r} is there once", text.count(before) == 1)
        text = text.replace(before, after)
    target = mutants.compile_object(text, "cv_central", directory, "both-wrong")
    for wanted in ("exclusion", "fences-rise", "invariant"):
        check_found(f"both wrong, {wanted}", [str(target), "-n", "2", "--property", wanted], wanted, 5, directory)


def check_disclaimed():
    """What an algorithm does not claim is not held because nobody looked."""
    for words, verdict, status in (("maekawa-plain -n 3 --property no-deadlock", "unfinished", 2),
                                   ("maekawa-plain -n 3 --property every-request", "violated", 1),
                                   ("maekawa-plain -n 3 --property exclusion", "held", 0),
                                   ("central -n 3 --property invariant", "held", 0)):
        done = run([*words.split(), "--json"])
        told = json.loads(done.stdout)
        asked = [row for row in told["properties"] if row["name"] == words.split()[-1]]
        expect(f"check {words}: {verdict}", (told["verdict"], done.returncode, len(asked)) == (verdict, status, 1), done.stdout)
        expect(f"check {words}: nothing else", all(row["detail"] == "not asked for" for row in told["properties"]
                                                   if row not in asked), done.stdout)


def check_beginning(directory):
    """If a node cannot begin, the check says why and ends."""
    source = mutants.SOURCE / "src" / "algorithm" / "mutex" / "ricart_agrawala.c"
    text = source.read_text(encoding="utf-8")
    line = "static void adopt(struct cv_self *me, cv_node holder, uint64_t fence)\n{\n"
    expect("beginning: the line is there once", text.count(line) == 1)
    target = mutants.compile_object("#include <assert.h>\n" + text.replace(line, f"{line}    assert(me->node != 1);\n"),
                                    "cv_ricart_agrawala", directory, "beginning")
    for more in ("", "--no-reduction", "--threads 2"):
        done = run([str(target), "-n", "3", *more.split()])
        expect(f"beginning {more}: refused", done.returncode == 2 and done.stderr.count("\n") == 1 and
               "a node cannot begin: a view begins" in done.stderr and "; adopt() asserts me->node != 1" in done.stderr, done.stdout + done.stderr)


def check_hum(directory):
    """The reduction postpones no event for ever."""
    text = (mutants.SOURCE / "tests" / "check" / "hum.c").read_text(encoding="utf-8")
    target = mutants.compile_object(text, "conclave_algorithm", directory, "hum")
    for more in ("", "--depth-first", "--threads 2", "--depth-first --threads 2"):
        check_found(f"hum {more}", [str(target), "-n", "3", "--property", "invariant", *more.split()], "invariant", 6,
                    directory)


def check_restless(directory):
    """
    With a fixed order of requests, the checker does not miss a run that never ends: it searches again with clocks, which
    tick for ever here, until there is no memory left.
    """
    source = mutants.SOURCE / "src" / "algorithm" / "mutex" / "ricart_agrawala.c"
    text, before = source.read_text(encoding="utf-8"), "    if (--my->missing == 0)\n        enter(me);\n"
    text = text.replace("return my->mode == WANTED && my->missing;", "return true;")  # the validity of messages is not the point
    expect("restless: the lines are there once", text.count(before) == 1)
    target = mutants.compile_object(text.replace("    (void)message;\n" + before,
                                                 "    (void)my;\n    (void)enter;\n    cv_signal(me, message->from, OK);\n"),
                                    "cv_ricart_agrawala", directory, "restless")
    done = run([str(target), "-n", "2", "--property", "every-request", "--memory", "30M", "--json"])
    expect("restless: not held", done.returncode == 2 and json.loads(done.stdout)["verdict"] == "unfinished", done.stdout)


def check_contract():
    result = json.loads(run("bully -n 3 --json".split()).stdout)
    keys = ["schema", "algorithm", "nodes", "arrangements", "verdict", "complete", "states", "transitions", "depth", "seconds", "bytes",
            "properties", "counterexample", "ids", "outside", "command"]
    expect("the keys of the JSON", list(result) == keys, list(result))
    expect("the command repeats it", result["command"] == "conclave check bully -n 3 --json", result["command"])
    counts = {json.loads(run(f"ricart-agrawala -n 3 --no-reduction --json {more}".split()).stdout)["states"]
              for more in ("", "--threads 2", "--threads 5", "--fingerprints 128")}
    expect("threads and fingerprints change no count", len(counts) == 1, counts)
    expect("help", run(["--help"]).stdout.startswith("usage: conclave check"))
    silent = run("bully -n 3".split())
    expect("nothing on stderr when it is no terminal", silent.stderr == "", silent.stderr)


def check_bounds():
    done = run("lamport -n 3 --no-reduction --memory 16M --json".split())
    result = json.loads(done.stdout)
    expect("the bound on memory", done.returncode == 2 and result["verdict"] == "unfinished"
           and result["complete"] is False and result["bytes"] < 24 << 20, done.stdout)
    told = run("lamport -n 3 --no-reduction --memory 16M".split()).stdout
    expect("the bound is told", re.search(r"explored \d+ states, unfinished \(memory\)", told), told)
    for line in ("ring-list -n 4 --crashes 2", "lamport -n 4 --no-reduction --depth-first", "central -n 6 --entries 3"):
        done = run(f"{line} --memory 24M --json".split())
        expect(f"{line}: the bound on memory is kept", done.returncode == 2 and json.loads(done.stdout)["bytes"] <= 24 << 20,
               done.stdout)
    done = run("bully -n 4 --depth 5 --json".split())
    expect("the bound on depth", done.returncode == 2 and json.loads(done.stdout)["depth"] == 5, done.stdout)
    with subprocess.Popen([CONCLAVE, "check", "ricart-agrawala", "-n", "5", "--memory", "2G"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        time.sleep(1)
        child.send_signal(signal.SIGINT)
        out = child.communicate(timeout=60)[0]
        expect("Ctrl-C tells what is known", child.returncode == 2 and "unfinished (interrupted)" in out, out)


def check_refused(directory):
    for line, wanted in REFUSED:
        done = run(line.split())
        expect(f"check {line}: refused", done.returncode == 2 and wanted in done.stderr
               and done.stderr.count("\n") == 1, f"{done.returncode} {done.stdout}{done.stderr}")
    good = directory / "good.replay"
    run(["bully", "-n", "3", "--timeouts", "any", "--trace", str(good)])
    text = good.read_text(encoding="utf-8")
    broken = {
        "": "expected a file of conclave check --trace",
        "conclave replay 7\n": "expected a file of conclave check --trace",
        "conclave replay 1\n": "expected an algorithm",
        text.replace("word bully", "word nobody"): "no such algorithm",
        text.replace("word --timeouts", "word --seed"): "no such option",
        text.replace("word --timeouts\nword any\n", ""): "not due yet",
        text + "dance 1\n": "dance 1: expected a decision",
        text + "deliver 1 from 9\n": "expected a decision",
        text + "deliver 1 from\n": "expected a decision",
        text + "deliver 1 from 2 chose 1 chose 1 chose 1 chose 1 chose 1 chose 1 chose 1\n": "expected a decision",
        text + next(line for line in text.splitlines() if line.startswith("start ")) + "\n": "that node cannot call now",
        text + "deliver 2 from 1 place 3\n": "no such message",
        text + "leave 1\n": "not inside",
        text + "loop\n": "expected decisions after it",
        text + "crash 1\ncrash 2\ncrash 3\n": "no node would be left",
        text + "crash 1\nstart 1\n": "that node is dead",
        text + "timeout 1 timer 7\n": "that timer is not armed",
        text + "tell 1 of 2\n": "not lost",
        text + "recover 1\n": "that node is not dead",
        text + "crash 1\nrecover 1\n": "no more nodes may come back",
        text + "trust 1 of 2\n": "not back",
        text + "cut 1 of 2\n": "no link is ever cut here",
        text + "cut 1 of 1\n": "there is no such node",
        text + "heal 1 of 2\n": "not cut",
    }
    for content, wanted in broken.items():
        bad = directory / "bad.replay"
        bad.write_text(content, encoding="utf-8")
        done = run(["--replay", str(bad)], program=("sim",))
        expect(f"a broken replay: {wanted}", done.returncode == 2 and wanted in done.stderr
               and done.stderr.count("\n") == 1, f"{done.returncode} {done.stdout}{done.stderr}")
    for words, wanted in ((["bully", "--replay", str(good)], "expected no algorithm"),
                          (["--replay", str(good), "-n", "3"], "--nodes: expected without --replay"),
                          (["--replay", "/nowhere"], "/nowhere"), (["--replay", str(directory)], "--replay")):
        done = run(words, program=("sim",))
        expect(f"sim {words[0]}: refused", done.returncode == 2 and wanted in done.stderr, done.stderr)


def main(words):
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(temporary)
        brief = "--brief" in words
        check_contract()
        if not brief:
            check_bounds()
        check_progress()
        check_arrangements(directory)
        check_refused(directory)
        check_disclaimed()
        check_all_found(directory, FOUND[1::2] if brief else FOUND)
        check_outside()
        check_depth_first(directory)
        check_complaints(directory)
        check_astray(directory)
        check_restless(directory)
        check_hum(directory)
        check_beginning(directory)
        check_both_wrong(directory)
        if not brief:
            check_promises(directory)
            check_counters(directory)
        check_all_held(HELD[::4] if brief else HELD)
        check_mutants(directory, 8 if brief else 1)
    print(f"{len(failures)} surprises")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
