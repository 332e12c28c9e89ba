#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs every algorithm every way, in the simulator, in the checker and between real processes, and compares what comes of
it with docs/every-way.md.

usage: scripts/every_way.py [--rewrite] [--jobs J]

--rewrite writes the page. Exit 1 if the page tells something else, or if an algorithm is missing or does not hold.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("CONCLAVE", str(ROOT / "build" / "conclave"))
PAGE = ROOT / "docs" / "every-way.md"
WAYS = ("sim", "check", "run")
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.c"))

HEAD = """# Every algorithm, every way

[`scripts/every_way.py`](../scripts/every_way.py) runs these commands and writes this page; a test runs them again and
compares. Each algorithm is one piece of code: [simulated](simulator.md) in virtual time, [checked](check.md) in every
order of events, and [run](run.md) between real processes. Every command ends with the verdict "held". The simulator tells
the number of messages, which for one seed is always the same; the checker the number of states, in all arrangements of
ids together; between processes the order of events, and so the number of messages, is the machine's.

What larger groups, crashes and other options give in the checker is in [what has been verified](verified.md).
"""

SECTIONS = {
    "election": "Elections",
    "mutex": "Mutual exclusion",
    "synchronizer": "Synchronizers, with what they host",
    "synchronous": "Synchronous algorithms",
    "paths": "Shortest paths",
}
NO_SYNCHRONY = "no network is synchronous: see alpha, beta, gamma and abd"

# What one way takes instead of what the others take.
OTHER_WORDS = {
    ("sim", "maekawa-plain"): "-n 3 --request 1@0,2@9",  # it may deadlock if two ask at once
    ("run", "maekawa-plain"): "-n 3 --request 1@0,2@400",
    ("check", "maekawa-plain"): "-n 3 --property exclusion",
    ("check", "voting"): "-n 3 --set backoff=0",
    ("run", "abd"): "--graph ring -n 3 --set bound=1000",  # a busy machine takes its time
}


def listed():
    told = subprocess.run([PROGRAM, "list", "--json"], capture_output=True, text=True, check=True).stdout
    return json.loads(told)["algorithms"]


def words_of(way, name, topology):
    usual = "--graph ring -n 3" if topology == "graph" else "-n 3"
    return OTHER_WORDS.get((way, name), usual)


def row_of(name, topology, problem, app=None):
    """The title of a row, and for each way its command, or why there is none."""
    hosted = f" --app {app}" if app else ""
    ways = {way: f"conclave {way} {name}{hosted} {words_of(way, name, topology)}" for way in WAYS}
    if name == "lockstep":
        ways["run"] = NO_SYNCHRONY
    if problem == "synchronous":
        ways["run"] = f"conclave run alpha --app {name} {words_of('run', name, 'graph')}"
    return (f"{name}, {app}" if app else name), ways


def rows():
    """By section."""
    algorithms = listed()
    apps = [it["name"] for it in algorithms if it["problem"] == "synchronous"]
    sections = {title: [] for title in SECTIONS.values()}
    for it in algorithms:
        for app in apps if it["problem"] == "synchronizer" else [None]:
            sections[SECTIONS[it["problem"]]].append(row_of(it["name"], it["topology"], it["problem"], app))
    sections["Your own: the examples, compiled"] = [
        row_of(f"./{name}.so", "graph" if kind == "synchronous" else "complete", kind) for name, kind in map(example_kind, EXAMPLES)]
    return sections


def example_kind(name):
    text = (ROOT / "examples" / f"{name}.c").read_text(encoding="utf-8")
    return name, re.search(r"\.problem = CV_(\w+)", text).group(1).lower()


def compile_examples(directory):
    for name in EXAMPLES:
        subprocess.run([os.environ.get("CC", "cc"), "-std=c17", "-shared", "-fPIC", "-I", str(ROOT / "include"),
                        "-o", f"{directory}/{name}.so", str(ROOT / "examples" / f"{name}.c")], check=True)


def perform(command, directory):
    """What the page says of a command, and whether that is as it should be."""
    if not command.startswith("conclave "):
        return command, True
    done = subprocess.run([PROGRAM, *command.split()[1:], "--json"], capture_output=True, text=True, check=False, cwd=directory)
    told = json.loads(done.stdout) if done.stdout else {"verdict": done.stderr.strip()}
    more = ""
    if told["verdict"] == "held" and " sim " in command:
        more = f", {told['messages']['total']} messages"
    if told["verdict"] == "held" and " check " in command:
        more = f", {told['states']:,} states"
    good = told["verdict"] == "held" and told.get("complete", True)
    if not good:
        print(f"FAILED: {command}\n{done.stdout}{done.stderr}")
    return f"`{command}`: {told['verdict']}{more}", good


def make_page(jobs):
    sections = rows()
    with tempfile.TemporaryDirectory() as directory, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        compile_examples(directory)
        commands = [ways[way] for each in sections.values() for _, ways in each for way in WAYS]
        told = dict(zip(commands, pool.map(lambda command: perform(command, directory), commands)))
    page = HEAD
    for title, each in sections.items():
        page += f"\n## {title}\n\n| | simulated | checked | between processes |\n| --- | --- | --- | --- |\n"
        for name, ways in each:
            page += f"| {name} | " + " | ".join(told[ways[way]][0] for way in WAYS) + " |\n"
    return page, all(good for _, good in told.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rewrite", action="store_true")
    parser.add_argument("--jobs", type=int, default=2 * len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    page, good = make_page(options.jobs)
    if options.rewrite:
        PAGE.write_text(page, encoding="utf-8")
    elif page != PAGE.read_text(encoding="utf-8"):
        before = set(PAGE.read_text(encoding="utf-8").splitlines())
        print("docs/every-way.md tells something else (scripts/every_way.py --rewrite):")
        print("\n".join(line for line in page.splitlines() if line not in before))
        good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
