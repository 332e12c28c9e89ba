#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does a reduction ever change a verdict? The test breaks algorithms at random: it reverses a comparison, drops the update
of a field, mistakes a neighbour for another, or leaves out a message. It checks each variant with every reduction, without
symmetry, and without any reduction; all must say the same. A variant is caught if a property is violated, and equivalent
if none is, with 3 nodes and with 4. A variant with infinitely many states, because a number or the messages grow for ever,
is caught if a simulated run is violated or does not come to rest.

usage: tests/variants.py [--count N] [--seed S] [--patience SECONDS] [--only NAME] [--nice N] [--table]

Exit 1 if two verdicts differ. A check that does not finish in time is counted, and proves nothing: --table tells how many
states it reached."""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import mutants

CONCLAVE = os.environ.get("CONCLAVE", str(mutants.SOURCE / "build" / "conclave"))
WORKERS = 2

# The checks of each algorithm with 3 nodes, and with 4. If clocks tick, or nodes try again, four requests are out of reach
# without reduction: ricart-agrawala has 4,349 states with two requests of four nodes, and 979,156 with three; voting had no
# end after 2.5 million states, at depth 15 of more than 30. So two of four nodes request there.
CALM, CRASHES = ["-n 3", "-n 4"], ["-n 3", "-n 3 --crashes 1", "-n 4"]
TWO_ASK = ["-n 3", "-n 4 --ask 1,2"]
ALGORITHMS = {
    "election/bully": ("cv_bully", CRASHES),
    "election/multicast": ("cv_multicast_lean", CRASHES),
    "election/ring_list": ("cv_ring_list", CALM),
    "election/ring_basic": ("cv_ring_basic", CRASHES),
    "election/chang_roberts": ("cv_chang_roberts", CRASHES),
    "election/franklin": ("cv_franklin", CALM),
    "election/peterson": ("cv_peterson", CALM),
    "election/wireless": ("cv_wireless", ["-n 3 --graph line", "-n 3 --graph ring", "-n 4 --graph line"]),
    "mutex/central": ("cv_central", ["-n 3 --entries 2", "-n 3 --inside 1", "-n 4 --entries 2"]),
    "mutex/token_ring": ("cv_token_ring", [*CALM, "-n 3 --set regenerate=5 --crashes 1"]),
    "mutex/ricart_agrawala": ("cv_ricart_agrawala", ["-n 3", "-n 3 --unordered", "-n 4 --ask 1,2"]),
    "mutex/lamport": ("cv_lamport", TWO_ASK),
    "mutex/maekawa_plain": ("cv_maekawa_plain", TWO_ASK),
    "mutex/maekawa": ("cv_maekawa", TWO_ASK),
    "mutex/voting": ("cv_voting", ["-n 3 --set backoff=0", "-n 4 --set backoff=0 --ask 1,2"]),
}

SEARCHES = {"reduced": "", "no symmetry": "--no-symmetry", "whole": "--no-reduction"}

# How to break a line: a pattern, and what it becomes.
TURNED = {"<=": ">", ">=": "<", "==": "!=", "!=": "==", "<": ">", ">": "<"}
NEIGHBOURS = {"cv_successor(me)": "cv_predecessor(me)", "cv_predecessor(me)": "cv_successor(me)",
              "message->from": "me->node", "me->node": "0", "cv_my_id(me)": "cv_id_of(me, 0)"}


def turn(line):
    if re.search(r"\b(for|while)\b", line):
        return []
    found = [match for match in re.finditer(r" (<=|>=|==|!=|<|>) ", line)]
    return [line[:match.start(1)] + TURNED[match[1]] + line[match.end(1):] for match in found]


def drop(line):
    return [";"] if re.match(r"\s+my->[\w\[\]>.\->]+( [|&+\-]?= .*|\+\+|--);$", line) else []


def swap(line):
    return [line.replace(one, other, 1) for one, other in NEIGHBOURS.items() if one in line and "= me->state" not in line]


def forget(line):
    return [";"] if re.match(r"\s+(cv_send|cv_send_around|cv_signal|cv_multicast|cv_multicast_signal|pass_on|tell|vote|fail)\(.*\);$", line) else []


def negate(line):
    found = re.match(r"(\s+(?:else )?if \()(.*)(\).*)$", line)
    return [f"{found[1]}!({found[2]}){found[3]}"] if found and found[2].count("(") == found[2].count(")") else []


BREAKS = {"a comparison turned round": turn, "an update dropped": drop, "a neighbour swapped": swap,
          "a message forgotten": forget, "a condition negated": negate}


def handlers(lines):
    """The numbers of the lines of handlers: between the first function and the tables at the end."""
    last = next((i for i, line in enumerate(lines) if line.startswith("static const struct cv_")), len(lines))
    return [i for i in range(last) if lines[i].startswith("    ") and not lines[i].lstrip().startswith(("*", "/*", "{"))]


def variants_of(name):
    """All ways to break one line of an algorithm: (how, line number, changed text)."""
    text = (mutants.SOURCE / "src" / "algorithm" / f"{name}.c").read_text(encoding="utf-8")
    lines = text.split("\n")
    for number in handlers(lines):
        for how, change in BREAKS.items():
            for changed in change(lines[number]):
                yield how, number + 1, "\n".join([*lines[:number], changed, *lines[number + 1:]])


def check(target, line, more, options):
    command = ["nice", "-n", options.nice, "timeout", "--signal=INT", "--kill-after=5", str(options.patience), CONCLAVE, "check",
               str(target), *line.split(), *more.split(), "--json", "--memory", "400M"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 2 and "cannot begin" in done.stderr:
        return "cannot begin"
    try:
        result = json.loads(done.stdout)
    except json.JSONDecodeError:
        return "unfinished" if done.returncode in (124, 137, -9) else f"exit {done.returncode}: {done.stderr}"
    if result["verdict"] != "violated":
        return result["verdict"] if result["verdict"] != "unfinished" else f"unfinished after {result['states']:,} states"
    names = {item["name"] for item in result["properties"] if item["verdict"] == "violated"}
    return "violated" if names - {"promises"} else "promises"


def try_line(target, line, options):
    """The verdicts of all searches. A broken promise about names says nothing about the properties."""
    told = {search: check(target, line, more, options) for search, more in SEARCHES.items()}
    plain = {"held" if verdict == "promises" else verdict for verdict in told.values() if "unfinished" not in verdict}
    return told, len(plain) > 1


# Simulated runs, long after every original is at rest.
RUNS = ["--start all --until 3000", "--start all --delay 1..9 --seed 3 --until 3000", "--start 1 --crash 3@4 --until 3000"]


def is_held(algorithm, words):
    done = subprocess.run([CONCLAVE, "sim", algorithm, "-n", "3", *words, "--json"], capture_output=True, text=True, check=False,
                          timeout=100)
    return '"verdict"' in done.stdout and json.loads(done.stdout)["verdict"] == "held"


def caught_by_a_run(name, target, line):
    """Is some simulated run violated or restless, while that of the original is held?"""
    given = " ".join(re.findall(r"--graph \w+|--set \w+=\w+", line)).split()
    original = ALGORITHMS[name][0].removeprefix("cv_").replace("_", "-")
    for run in RUNS:
        words = [*given, *(re.sub(r"--start \w+", "", run) if name.startswith("mutex/") else run).split()]
        if is_held(original, words) and not is_held(str(target), words):
            return True
    return False


def try_variant(name, how, number, text, directory, options):
    table, lines = ALGORITHMS[name]
    label = f"{name}.c:{number}: {how}"
    try:
        target = mutants.compile_object(text, table, directory, re.sub(r"\W+", "-", f"{name}-{number}-{how}-{hash(text)}"))
    except subprocess.CalledProcessError:
        return label, "does not compile", None
    caught, unfinished, promises = False, [], False
    for line in lines:
        told, differ = try_line(target, line, options)
        if differ:
            return label, "DIFFERS", f"{line}: {told}"
        caught |= "violated" in told.values() or "cannot begin" in told.values()
        unfinished += [f"{line}, {search}: {verdict}" for search, verdict in told.items() if "unfinished" in verdict]
        promises |= "promises" in told.values()
        if caught:
            break
    if not caught and not promises and unfinished:
        caught = caught_by_a_run(name, target, lines[0])
        unfinished.append("caught by a run" if caught else "not by runs")
    target.unlink()
    outcome = "caught" if caught else "promise broken" if promises else "not finished" if unfinished else "equivalent"
    return label, outcome, "; ".join(unfinished) or None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--patience", default="20", help="seconds for each search")
    parser.add_argument("--nice", default="19", help="of the checks")
    parser.add_argument("--only", help="one algorithm, as in mutex/central")
    parser.add_argument("--table", action="store_true", help="list every variant")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    names = [options.only] if options.only else list(ALGORITHMS)
    every = {name: list(variants_of(name)) for name in names}
    for found in every.values():
        chance.shuffle(found)
    sums, wrong, done = collections.defaultdict(collections.Counter), [], 0
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        directory = pathlib.Path(temporary)
        while done < options.count and any(every.values()):
            batch = [(name, *every[name].pop()) for name in names if every[name]][:options.count - done]
            tries = [pool.submit(try_variant, *variant, directory, options) for variant in batch]
            for variant, attempt in zip(batch, tries):
                label, outcome, detail = attempt.result()
                if options.table or outcome == "DIFFERS":
                    print(f"{outcome:16}  {label}{' ' + detail if detail else ''}", flush=True)
                sums[variant[0]][outcome] += 1
                done += outcome != "does not compile"
                if outcome == "DIFFERS":
                    wrong.append(label)
    outcomes = ["caught", "equivalent", "promise broken", "not finished", "does not compile", "DIFFERS"]
    print(f"{'':24}{''.join(f'{outcome:>18}' for outcome in outcomes)}")
    for name in [*names, "all"]:
        row = sum(sums.values(), collections.Counter()) if name == "all" else sums[name]
        print(f"{name:24}{''.join(f'{row[outcome]:18}' for outcome in outcomes)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
