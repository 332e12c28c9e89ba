#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""examples/roll_call.c, the algorithm that docs/write-your-own.md explains: it builds as told there, runs, keeps its
promises and its costs; and what is broken on purpose is caught."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).resolve().parent.parent))
CONCLAVE = os.environ.get("CONCLAVE", str(SOURCE / "build" / "conclave"))
EXAMPLE = SOURCE / "examples" / "roll_call.c"
GUIDE = SOURCE / "docs" / "write-your-own.md"
STRICT = ["-std=c17", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wpadded", "-Werror"]

failures = []


def expect(what, truth, shown=""):
    if not truth:
        failures.append(what)
        print(f"FAILED: {what}\n{shown}")


def build(directory, name, text):
    """The shared object of a source text."""
    (directory / f"{name}.c").write_text(text, encoding="utf-8")
    command = [os.environ.get("CC", "cc"), *STRICT, "-shared", "-fPIC", "-I", str(SOURCE / "include"),
               "-o", str(directory / f"{name}.so"), str(directory / f"{name}.c")]
    subprocess.run(command, check=True)
    return str(directory / f"{name}.so")


def sim(algorithm, *options):
    """Exit code and result of a run."""
    done = subprocess.run([CONCLAVE, "sim", algorithm, *options, "--json"], capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr


def check_runs(algorithm):
    for nodes in (1, 2, 3, 8, 40):
        for options in ([], ["--start", "all"], ["--delay", "1..9"], ["--ids", "random"], ["--loss", "0.2"]):
            code, run = sim(algorithm, "-n", str(nodes), *options)
            told = f"{nodes} nodes, {options}: {run}"
            expect("held", code == 0 and run["verdict"] == "held", told)
            expect("the best is elected", run["leader"] == nodes, told)
            expect("n(n - 1) messages", run["messages"]["total"] == nodes * (nodes - 1), told)
            theory = run["theory"]["messages"]
            expect("as the table says", theory["holds"] and theory["value"] == nodes * (nodes - 1), told)
    code, run = sim(algorithm, "-n", "8", "--crash", "8@0")
    expect("dead from the start", code == 0 and run["leader"] == 7 and run["messages"]["total"] == 49, run)
    code, run = sim(algorithm, "-n", "8", "--crash", "8@after:present", "--delay", "1..9")
    expect("a death during the roll call is fatal, as the guide shows", code == 1, run)
    code, run = sim(algorithm, "-n", "9", "--delay", "1..50", "--runs", "50")
    expect("the count does not depend on delays", run["messages"]["min"] == run["messages"]["max"] == 72, run)


# What is changed, into what, and the property that must say so.
BROKEN = [
    ("answer->rank > my->best", "answer->rank < my->best", "best-wins"),
    ("my->heard == others", "my->heard + 1 == others", "agreement"),
    ("my->heard == others", "my->heard > others", "everyone-learns"),
    ("    speak(me);\n    my->heard++", "    my->heard++", "everyone-learns"),
    ("a(n − 1)", "a(n − 2)", "textbook-messages"),
    ("min(2, 2(a − 1))", "1", "textbook-delay"),
]


def check_broken(directory, text):
    for number, (before, after, name) in enumerate(BROKEN):
        expect(f"{before} stands once in the example", text.count(before) == 1)
        algorithm = build(directory, f"broken{number}", text.replace(before, after))
        if name == "agreement":  # not under every schedule
            code, run = sim(algorithm, "-n", "8", "--delay", "1..9", "--runs", "50")
            caught = run["worst"]["reason"].startswith(name)
        else:
            code, run = sim(algorithm, "-n", "8")
            caught = (name, "violated") in [(found["name"], found["verdict"]) for found in run["properties"]]
        expect(f"{after}: caught", code == 1 and caught, run)


# A table that cannot be used is refused in one line.
UNUSABLE = [
    (".abi = CV_ABI", ".abi = CV_ABI + 1", "version"),
    ("conclave_algorithm = {", "another_name = {", "conclave_algorithm"),
    ("on_present, false}", "NULL, false}, [PRESENT + 1] = {\"unused\", 0, on_present, false}", "nobody receives"),
    ("    .title = \"Roll call\",\n", "", "lacks"),
    ("a(n − 1)", "a(m − 1)", "m"),
]


def check_unusable(directory, text):
    for number, (before, after, words) in enumerate(UNUSABLE):
        expect(f"{before} stands once in the example", text.count(before) == 1)
        algorithm = build(directory, f"unusable{number}", text.replace(before, after))
        code, said = sim(algorithm, "-n", "8")
        one_line = isinstance(said, str) and said.count("\n") == 1
        expect(f"{after}: refused", code == 2 and one_line and words in said, said)
    code, said = sim(str(directory / "nowhere.so"), "-n", "8")
    expect("no such file: refused", code == 2 and said.count("\n") == 1, said)


def main():
    text = EXAMPLE.read_text(encoding="utf-8")
    guide = GUIDE.read_text(encoding="utf-8")
    expect("the guide shows the example as it is", f"```c examples/roll_call.c\n{text}```\n" in guide)
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        algorithm = build(directory, "mine", text)
        check_runs(algorithm)
        check_broken(directory, text)
        check_unusable(directory, text)
    print(f"{len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
