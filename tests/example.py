#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""examples/, the algorithms that docs/write-your-own.md explains: they build as described, run, keep their promises and
their costs; and deliberate mistakes are caught."""

import json
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).resolve().parent.parent))
CONCLAVE = os.environ.get("CONCLAVE", str(SOURCE / "build" / "conclave"))
EXAMPLE = SOURCE / "examples" / "roll_call.c"
MUTEX = SOURCE / "examples" / "suzuki_kasami.c"
SYNCHRONOUS = SOURCE / "examples" / "independent_set.c"
GUIDE = SOURCE / "docs" / "write-your-own.md"
STRICT = ["-std=c17", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wpadded", "-Werror"]

failures = []


def expect(what, truth, shown=""):
    if not truth:
        failures.append(what)
        print(f"FAILED: {what}\n{shown}")


def build(directory, name, text, more=()):
    """The shared object of a source text."""
    (directory / f"{name}.c").write_text(text, encoding="utf-8")
    command = [os.environ.get("CC", "cc"), *STRICT, *more, "-shared", "-fPIC", "-I", str(SOURCE / "include"),
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


# The changed text, its replacement, and the property that must be violated.
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
    ("on_present, fields)", "NULL, fields), [PRESENT + 1] = CV_SIGNAL(\"unused\", on_present)", "no handler receives"),
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


# ---- the example of mutual exclusion ----


def check_verdict(algorithm, *options):
    """Exit code and the properties that the checker saw violated."""
    done = subprocess.run([CONCLAVE, "check", algorithm, *options, "--json"], capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["properties"] if done.stdout else []
    return done.returncode, [item["name"] for item in found if item["verdict"] == "violated"], done.stdout + done.stderr


def check_mutex(algorithm):
    for nodes in (1, 2, 3, 8, 40):
        for options in ([], ["--entries", "3"], ["--delay", "1..9"], ["--delay", "1..30", "--unordered"], ["--loss", "0.2"]):
            code, run = sim(algorithm, "-n", str(nodes), *options)
            told = f"{nodes} nodes, {options}: {run}"
            expect("held", code == 0 and run["verdict"] == "held", told)
            kinds = run["messages"]["by_kind"]
            expect("n - 1 requests for each token that comes", kinds.get("request", 0) == (nodes - 1) * kinds.get("token", 0), told)
            entries = nodes * (3 if "--entries" in options else 1)
            expect("at most n messages an entry", run["messages"]["total"] <= nodes * entries, told)
    code, run = sim(algorithm, "-n", "6", "--request", "3@0+2")
    expect("n messages for an entry without the token", code == 0 and run["messages"]["total"] == 6, run)
    code, run = sim(algorithm, "-n", "6", "--request", "1@0+2")
    expect("none with it", code == 0 and run["messages"]["total"] == 0, run)
    code, run = sim(algorithm, "-n", "5", "--entries", "4", "--crash", "1@3", "--recover", "1@40", "--delay", "1..5", "--runs", "50")
    expect("a view begins when the holder dies", code == 0 and run["verdicts"]["held"] == 50, run)
    for options in (["-n", "3"], ["-n", "3", "--entries", "2", "--unordered"], ["-n", "2", "--entries", "3"]):
        code, wrong, told = check_verdict(algorithm, *options)
        expect(f"checked {options}", code == 0, f"{wrong} {told}")


# The changed text, its replacement, and the property that the checker finds violated.
BROKEN_MUTEX = [
    ("my->entries = my->holds = my->waiting = 0", "my->entries = my->waiting = 0", "exclusion"),
    ("cv_fence(me, ++my->entries)", "cv_fence(me, my->entries)", "fences-rise"),
    ("my->holds && !my->inside && is_unserved", "my->holds && is_unserved", "exclusion"),
    ("if (my->holds && !my->inside", "if (my->inside", "no-deadlock"),
    ("    served(me)[me->node] = requested(me)[me->node];\n", "", "invariant"),
    ("!cv_list_has((struct cv_list){queue(me), my->waiting}, cv_id_of(me, node))", "node > me->node", "no-deadlock"),
]


def check_broken_mutex(directory, text):
    for number, (before, after, name) in enumerate(BROKEN_MUTEX):
        expect(f"{before} stands once in the example", text.count(before) == 1)
        algorithm = build(directory, f"broken_mutex{number}", text.replace(before, after), ["-Wno-unused-function"])
        _, wrong, told = check_verdict(algorithm, "-n", "3", "--entries", "2", "--property", name)
        expect(f"{after}: caught", name in wrong, told)


# ---- conclave new ----


def begin(directory, *words):
    return subprocess.run([CONCLAVE, "new", *words], cwd=directory, capture_output=True, text=True, check=False)


def check_new(directory):
    """What `conclave new` writes compiles, runs and is tested; its test can fail; nothing is overwritten."""
    environment = {**os.environ, "CONCLAVE": CONCLAVE, "CONCLAVE_INCLUDE": str(SOURCE / "include")}
    mistakes = {"election": ("answer->rank > my->best", "answer->rank < my->best"),
                "mutex": ("++my->entries", "my->entries"), "synchronous": ("    {CV_FIELD(struct state, told, FLAG)},\n", "")}
    for problem, (before, after) in mistakes.items():
        done = begin(directory, problem, f"my-{problem}")
        source, script = directory / f"my_{problem}.c", directory / f"my_{problem}_test.sh"
        expect(f"new {problem}", done.returncode == 0 and not done.stderr and source.name in done.stdout, done)
        text = source.read_text(encoding="utf-8")
        expect("it has its own name", f'"my-{problem}"' in text and f"My {problem}" in text and "examples/" not in text, text)
        done = subprocess.run([script], env=environment, capture_output=True, text=True, check=False)
        expect(f"new {problem}: its test passes", done.returncode == 0 and "every run held" in done.stdout, done)
        again = begin(directory, problem, f"my-{problem}")
        expect("nothing is overwritten", again.returncode == 2 and "File exists" in again.stderr
               and source.read_text(encoding="utf-8") == text, again)
        source.write_text(text.replace(before, after), encoding="utf-8")
        done = subprocess.run([script], env=environment, capture_output=True, text=True, check=False)
        expect(f"new {problem}: its test can fail", done.returncode == 1 and "failed: conclave" in done.stdout, done)
    for most in (100, 3000):  # bytes of a file: less than the algorithm takes
        done = subprocess.run([CONCLAVE, "new", "synchronous", "cut-short"], cwd=directory, capture_output=True, text=True, check=False,
                              restore_signals=False, preexec_fn=lambda most=most: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
        expect(f"no room after {most} bytes: one line, no file", done.returncode == 2 and done.stderr.count("\n") == 1
               and not list(directory.glob("cut_short*")), done)
    for words, told in ((["elections", "x"], "expected election, mutex or synchronous"), (["mutex", "X"], "a letter first"),
                        (["mutex", "x" * 41], "up to 40"), (["mutex", "x-"], "expected a name"), (["mutex"], "PROBLEM and NAME"),
                        (["mutex", "other", "--directory", "/nowhere"], "/nowhere/other.c")):
        done = begin(directory, *words)
        expect(f"new {words}: refused", done.returncode == 2 and done.stderr.count("\n") == 1 and told in done.stderr, done)


# ---- the synchronous example ----


def random_graph(nodes):
    """The edges of a connected graph of nodes 1..nodes."""
    edges = {(random.randrange(1, node), node) for node in range(2, nodes + 1)}
    for _ in range(random.randrange(2 * nodes)):
        one, other = random.randrange(1, nodes + 1), random.randrange(1, nodes + 1)
        edges |= {(min(one, other), max(one, other))} if one != other else set()
    return sorted(edges)


def greedy(nodes, edges):
    """From the highest id down, every node without a neighbour in the set."""
    chosen = set()
    for node in range(nodes, 0, -1):
        if not any((node, other) in edges or (other, node) in edges for other in chosen):
            chosen.add(node)
    return {str(node): int(node in chosen) for node in range(1, nodes + 1)}


def check_hosted(app):
    random.seed(1)
    for nodes in (2, 3, 8, 20):
        edges = random_graph(nodes)
        graph = "edges:" + ",".join(f"{one}-{other}" for one, other in edges)
        for host in ("lockstep", "abd", "alpha", "beta", "gamma"):
            for options in [[]] if host == "lockstep" else ([], ["--delay", "1..9"], ["--loss", "0.2"]):
                code, run = sim(host, "--app", app, "--graph", graph, "--set", f"rounds={nodes}", *options)
                told = f"{host}, {graph}, {options}: {run}"
                expect("held", code == 0 and run["verdict"] == "held" and run["app"] == "independent-set", told)
                expect("every node tells its neighbours once", run["messages"]["by_kind"]["message"] == 2 * len(edges), told)
                expect("the greedy set", run["results"] == greedy(nodes, edges), told)
    code, run = sim(app, "-n", "8")
    expect("by itself it runs on a synchronous network", code == 0 and run["time"] <= 7 and run["messages"]["by_kind"] == {"message": 32}, run)
    code, run = sim("alpha", "--app", app, "-n", "1")
    expect("alone", code == 0 and run["results"] == {"1": 1}, run)
    code, run = sim("alpha", "--app", app, "--graph", "edges:1-2,2-3,3-4")
    expect("n - 1 rounds are enough", code == 0 and run["results"] == {"1": 0, "2": 1, "3": 0, "4": 1}, run)


# Mistakes of a synchronous algorithm.
UNFIT = [
    ("    .pulse = pulse,\n", "", "expected a pulse handler"),
    ("struct decision, on", "char[260], on", "at most 256 bytes"),
    ("on_decided, fields)", "on_decided, (&(const struct cv_field){CV_FIELD_IDS(struct decision)}))", "no list"),
]


def check_unfit(directory, text):
    for number, (before, after, words) in enumerate(UNFIT):
        expect(f"{before} stands once in the example", text.count(before) == 1)
        app = build(directory, f"unfit{number}", text.replace(before, after),
                    ["-Wno-unused-function", "-Wno-unused-const-variable"])
        code, said = sim("alpha", "--app", app)
        expect(f"{after}: refused", code == 2 and said.count("\n") == 1 and words in said, said)


# A table of state fields that is wrong, and the line that says so.
WRONG_FIELDS = [
    ("    {CV_FIELD(struct state, heard, NUMBER)},\n", "",
     "roll-call: byte 8 of the state of node 1 of 3 is in no field; expected each in one field"),
    ("struct state, spoken, FLAG", "struct state, heard, FLAG",
     "roll-call: byte 8 of the state of node 1 of 3 is in two fields; expected each in one field"),
    ("spoken, FLAG)", "spoken, MODE)", "field spoken of the state: expected its words"),
    ("{{CV_FIELD(struct answer, rank, RANK)}, {0}}", "{{CV_FIELD_ROW(struct answer, \"row\")}, {CV_FIELD(struct answer, rank, RANK)}, {0}}",
     "field row of present: expected numbers after the body, with no field but the list after them"),
]


def check_fields(directory, text):
    def show(algorithm, *words):
        done = subprocess.run([CONCLAVE, *words[:1], algorithm, *words[1:]], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    nameless = build(directory, "nameless", text.replace("    .state_fields = state_fields,\n", ""),
                     ["-Wno-unused-const-variable"])
    code, told, _ = show(nameless, "list")
    expect("the list says that there are no names", code == 0 and "does not name the fields" in told, told)
    code, told, _ = show(nameless, "sim", "-n", "3", "--transcript", "--states")
    expect("a run says so, too", code == 0 and "roll-call does not name the fields of its state\n" in told, told)
    for number, (before, after, words) in enumerate(WRONG_FIELDS):
        expect(f"{before} stands once in the example", text.count(before) == 1)
        code, told, why = show(build(directory, f"wrong{number}", text.replace(before, after)), "sim", "-n", "3")
        expect(words, code == 2 and not told and words in why and why.count("\n") == 1, why)


def main():
    text = EXAMPLE.read_text(encoding="utf-8")
    guide = GUIDE.read_text(encoding="utf-8")
    synchronous = SYNCHRONOUS.read_text(encoding="utf-8")
    expect("the guide shows the example as it is", f"```c examples/roll_call.c\n{text}```\n" in guide)
    expect("and the others", all(f"```c examples/{name}.c\n" in guide for name in ("independent_set", "suzuki_kasami")))
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        algorithm = build(directory, "mine", text)
        check_runs(algorithm)
        check_broken(directory, text)
        check_unusable(directory, text)
        check_fields(directory, text)
        check_mutex(build(directory, "mutex", MUTEX.read_text(encoding="utf-8")))
        check_broken_mutex(directory, MUTEX.read_text(encoding="utf-8"))
        check_hosted(build(directory, "hosted", synchronous))
        check_unfit(directory, synchronous)
        check_new(directory)
    print(f"{len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
