#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The plugin of docs/write-your-own.md, broken on purpose: what `sim`, `check`, `run` and `explore` say about it, word by word.

usage: misbehaviour.py [NAME...]   tries the broken plugins of those names alone"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

SOURCE = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).resolve().parent.parent))
CONCLAVE = os.environ.get("CONCLAVE", str(SOURCE / "build" / "conclave"))
EXAMPLE = (SOURCE / "examples" / "roll_call.c").read_text(encoding="utf-8")
PATIENCE = 120  # seconds, for what takes less than one on a machine that has nothing else to do

failures = []


def expect(what, truth, shown=""):
    if not truth:
        failures.append(what)
        print(f"FAILED: {what}\n{shown}")


# ---- the broken plugins ----

HEARD = "    my->heard++;\n"
INCLUDE = "#include <conclave/algorithm.h>\n"
RECEIVES = "it receives present(1) from 1 (its state before: best -, heard 0, spoken no); "
STARTS = "it is to start (its state before: best -, heard 0, spoken no); "
NOTHING_OUTSIDE = ": a step may keep nothing outside its state"
TAKEN_AGAIN = "the step does something else when it is taken again: "
MORE = "; it depends on more than its state and what happened"


def after_heard(code, *includes):
    """A line more in the handler of the only message."""
    return [(HEARD, HEARD + f"    {code}\n"), (INCLUDE, INCLUDE + "".join(f"#include <{name}.h>\n" for name in includes))]


# What is replaced by what, and what is told of the step: of the first message, as a rule. The six of the guide come first.
BROKEN = {
    "loops": (after_heard('while (my->heard)\n        __asm__ volatile("");'),
              RECEIVES + "the handler does not return within 100 ms of processor time (--step-limit)"),
    "crashes": (after_heard("*(volatile int *)0 = 1;"), RECEIVES + "the handler follows a null pointer (SIGSEGV)"),
    "global": ([(HEARD, "    static uint32_t heard;\n    my->heard = ++heard;\n")],
               RECEIVES + "the handler writes to a global variable, `heard`" + NOTHING_OUTSIDE),
    "out-of-bounds": (after_heard("(&my->spoken)[1] = 1;"),
                      RECEIVES + "the handler reads or writes past the end of its state: byte 16 of 16"),
    "aborts": (after_heard("abort();", "stdlib"), RECEIVES + "the handler calls abort()"),
    "asserts": (after_heard("assert(my->heard > 5);"), RECEIVES + "on_present() asserts my->heard > 5"),
    "divides": (after_heard("my->heard /= my->spoken - 1;"), RECEIVES + "the handler divides by zero (SIGFPE)"),
    "traps": (after_heard("__builtin_trap();"), RECEIVES + "the handler runs into what is no code (SIGILL)"),
    "recurses": (after_heard("on_present(me, message);\n    my->best += my->heard;"),
                 RECEIVES + "the handler calls itself for ever: its stack is full (SIGSEGV)"),
    "last-message": (after_heard("static cv_rank last;\n    if (last > my->best)\n        my->best = last;\n    last = answer->rank;"),
                     RECEIVES + "the handler writes to a global variable, `last`" + NOTHING_OUTSIDE),
    "shared-maximum": (after_heard("static cv_rank most;\n    if (answer->rank > most)\n        most = answer->rank;\n    my->best = most;"),
                       RECEIVES + "the handler writes to a global variable, `most`" + NOTHING_OUTSIDE),
    "thread-local": ([(HEARD, "    static _Thread_local uint32_t heard;\n    my->heard = ++heard;\n")],
                     RECEIVES + TAKEN_AGAIN + "`heard` is N, then N" + MORE),
    "reads-clock": (after_heard("my->best += (uint64_t)time(NULL) % 2;", "time"),
                    RECEIVES + "the handler calls time(), and a step may depend on no clock"),
    "draws-lots": (after_heard("my->best += (uint64_t)rand() % 2;", "stdlib"),
                   RECEIVES + "the handler calls rand(), and a step may depend on no chance but cv_choose()"),
    "sleeps": (after_heard("sleep(1000);", "unistd"), RECEIVES + "the handler calls sleep(), and a step takes no time"),
    "uninitialized": (after_heard("volatile cv_rank junk[4];\n    my->best += junk[2];"),
                      RECEIVES + TAKEN_AGAIN + "`best` is N, then N" + MORE),
    "uninitialized-body": ([("cv_multicast(me, PRESENT, &(struct answer){cv_my_rank(me)});",
                             "for (uint32_t i = 0; i < cv_degree(me); i++)\n        cv_post(me, cv_neighbour(me, i), PRESENT, sizeof(struct answer));")],
                           STARTS + TAKEN_AGAIN + "`present` to 2 has `rank` N, then N" + MORE),
    "before-state": (after_heard("((uint32_t *)my)[-1] = 1;"), RECEIVES + "the handler writes to memory next to its state"),
    "past-message": (after_heard("my->best += (&answer->rank)[1];"),
                     RECEIVES + "the handler reads or writes past the end of the message: byte 24 of 24"),
    "writes-message": (after_heard("((struct answer *)(uintptr_t)answer)->rank = 3;"),
                       RECEIVES + "the handler writes to the message that it receives"),
    "past-body": ([("cv_multicast(me, PRESENT, &(struct answer){cv_my_rank(me)});",
                    "for (uint32_t i = 0; i < cv_degree(me); i++) {\n"
                    "        volatile uint64_t *body = cv_post(me, cv_neighbour(me, i), PRESENT, sizeof(struct answer))->body;\n"
                    "        body[0] = cv_my_rank(me);\n        body[1] = 1;\n    }")],
                  STARTS + "the handler writes past the end of a message that it sends"),
    "wrong-length": ([("&(struct answer){cv_my_rank(me)}", "&(struct { cv_rank rank, more; }){cv_my_rank(me), 1}")],
                     STARTS + "the handler sends `present` with 16 bytes; its table says 8"),
    "no-such-timer": (after_heard("cv_arm(me, 0, 4);"), RECEIVES + "the handler sets timer 0; its table has 0 timers"),
    "endless-sends": (after_heard("for (;;)\n        cv_signal(me, 0, PRESENT);"),
                      RECEIVES + "the handler sends without end: the messages of one step fill 256 MB"),
    "nobody": (after_heard("cv_signal(me, 77, PRESENT);"), RECEIVES + "cv_post() asserts to < me->group->nodes && "),
    "valid-writes": ([("    return cv_rank_id(answer->rank) ==", "    ((struct state *)me->state)->heard++;\n    return cv_rank_id(answer->rank) ==")],
                     "`valid` is asked about present(1) from 1 (its state before: best -, heard 0, spoken no); "
                     "it writes to the state, and may only look"),
}

SIX = ("loops", "crashes", "global", "out-of-bounds")  # and those that cost something else, or are unsafe: check_six()


def build(directory, name, changes):
    text = EXAMPLE
    for before, after in changes:
        expect(f"{name}: {before!r} stands once in the example", text.count(before) == 1)
        text = text.replace(before, after)
    (directory / f"{name}.c").write_text(text, encoding="utf-8")
    subprocess.run([os.environ.get("CC", "cc"), "-O1", "-w", "-shared", "-fPIC", "-I", str(SOURCE / "include"), "-o",
                    str(directory / f"{name}.so"), str(directory / f"{name}.c")], check=True)
    return str(directory / f"{name}.so")


def conclave(*words):
    return subprocess.run([CONCLAVE, *words], capture_output=True, text=True, check=False, timeout=PATIENCE)


def verdict_of(done):
    found = re.search("^verdict   (.*)$", done.stdout, re.MULTILINE)
    return found.group(1) if found else None


def check_told(command, plugin, name, told):
    """The report says it in one line, and the exit code is 1. Times and uninitialized numbers may be any."""
    done = conclave(command, plugin, "-n", "3", "--step-limit", "1h" if name == "endless-sends" else "100ms")
    said = verdict_of(done) or ""
    plain = re.sub(r"at time \d+ on", "at time T on", said)
    if "then N" in told:
        plain = re.sub(r"(is|rank`) [^ ]+, then [^ ;]+", r"\1 N, then N", plain)
    nodes = [1] if told.startswith(STARTS) else [2, 3] if command == "run" else [2]  # either of them may be the first
    expect(f"{command} of a plugin that {name}", done.returncode == 1 and done.stderr == "" and
           any(plain.startswith(f"violated: invariant: at time T on node {node}: {told}") for node in nodes), f"{said}\n{told}\n{done}")


# ---- the six of the guide ----


def check_six(directory):
    """Wrong costs and wrong leaders are told by the properties they violate. The checker judges no costs."""
    cost = build(directory, "cost", [("a(n − 1)", "a(n − 1) + 1")])
    unsafe = build(directory, "unsafe", [("cv_elected(me, cv_rank_id(my->best))", "cv_elected(me, cv_my_id(me))")])
    for command in ("sim", "run"):
        for plugin, told in ((cost, "violated: textbook-messages: 6, derived: a(n − 1) + 1 = 7"),
                             (unsafe, "violated: agreement: node 1 follows 1, node 2 follows 2")):
            done = conclave(command, plugin, "-n", "3")
            expect(f"{command} {plugin}", done.returncode == 1 and verdict_of(done) == told, done)
    done = conclave("check", cost, "-n", "3")
    expect("check judges no costs", done.returncode == 0, done)
    done = conclave("check", unsafe, "-n", "3")
    expect("check finds a wrong leader", done.returncode == 1 and verdict_of(done).startswith("violated: best-wins: at time "), done)


# ---- other ways ----


def check_beginning(directory):
    plugin = build(directory, "begins", [(".start = speak", ".init = speak,\n    .start = speak")])
    for command in ("sim", "check", "run"):
        done = conclave(command, plugin, "-n", "3")
        expect(f"{command}: a node cannot begin", done.returncode == 2 and done.stdout == "" and done.stderr ==
               "conclave: roll-call: a node cannot begin: it begins; `init` sends or records effects; it may only fill in the state\n",
               done)


def check_many(directory):
    """--runs, labels, JSON, a plugin that fails late, and a counterexample that is played again."""
    crashes = str(directory / "crashes.so")
    done = conclave("sim", crashes, "-n", "4", "--runs", "50")
    expect("of many runs the first is told", done.returncode == 1 and "follows a null pointer" in done.stdout and
           " 1 violated" in done.stdout, done)
    done = conclave("sim", crashes, "-n", "3", "--labels", "red,green,blue")
    expect("nodes have their labels", "on node green: it receives present(red) from red (" in done.stdout, done)
    told = json.loads(conclave("run", crashes, "-n", "3", "--json").stdout)
    expect("JSON has it, too", told["verdict"] == "violated" and any(
        it["name"] == "invariant" and it["verdict"] == "violated" and "null pointer" in it["detail"] for it in told["properties"]), told)
    late = build(directory, "late", after_heard("static uint32_t heard;\n    if (my->heard == 5)\n        heard++;"))
    done = conclave("sim", late, "-n", "8", "--diagram")
    expect("late: the state before is told", "heard 4, spoken yes); the handler writes to a global variable, `heard`" in done.stdout, done)
    trace = directory / "trace.json"
    done = conclave("check", crashes, "-n", "3", "--trace", str(trace))
    again = conclave("sim", "--replay", str(trace))
    expect("a counterexample is played again", again.returncode == 1 and verdict_of(again) == verdict_of(done), (done, again))
    done = conclave("check", crashes, "-n", "3", "--threads", "2")
    expect("by two threads", done.returncode == 1 and RECEIVES in done.stdout, done)


def check_honest(directory):
    """Nothing is told of an honest plugin, whatever happens around it; nor of one that was compiled to be looked at."""
    honest = build(directory, "honest", [])
    for words in ("sim -n 40", "sim -n 300 --delay 1..9", "sim -n 8 --loss 0.2", "sim -n 5 --crash 5@0", "check -n 4", "run -n 5"):
        command, *options = words.split()
        done = conclave(command, honest, *options)
        expect(f"honest: {words}", done.returncode == 0 and done.stderr == "", done)
    for option in ("-fprofile-arcs", "-fsanitize=undefined"):
        plugin = directory / "watched.so"
        made = subprocess.run([os.environ.get("CC", "cc"), option, "-shared", "-fPIC", "-I", str(SOURCE / "include"), "-o", str(plugin),
                               str(directory / "honest.c")], capture_output=True, check=False, cwd=directory)
        done = conclave("sim", str(plugin), "-n", "5")
        expect(f"compiled with {option}", made.returncode or done.returncode == 0, done)


def check_app(directory):
    """The app of a synchronizer fails like any other algorithm, and is told of by its own state."""
    text = (SOURCE / "examples" / "independent_set.c").read_text(encoding="utf-8")
    line = "    cv_multicast(me, DECIDED, &(struct decision){my->status});\n"
    for name, after, told in (("app-crashes", line + "    __builtin_trap();\n", "the handler runs into what is no code (SIGILL)"),
                              ("app-twice", line + line, "the handler sends two messages to node 2 in one round")):
        (directory / f"{name}.c").write_text(text.replace(line, after), encoding="utf-8")
        subprocess.run([os.environ.get("CC", "cc"), "-O1", "-w", "-shared", "-fPIC", "-I", str(SOURCE / "include"), "-o",
                        str(directory / f"{name}.so"), str(directory / f"{name}.c")], check=True)
        for command in ("sim", "check", "run"):
            done = conclave(command, "alpha", "--app", str(directory / f"{name}.so"), "-n", "3", "--graph", "line")
            expect(f"{command}: {name}", done.returncode == 1 and re.search(
                rf"a round begins: \d+ \(its state before: status in, told no, before 0\); {re.escape(told)}", done.stdout), done)


# ---- signals ----


def check_interrupted(directory):
    """One signal ends everything, also while a handler goes on for ever."""
    loops = str(directory / "loops.so")
    for words in ("sim", "sim --runs 5", "check", "check --threads 2", "run"):
        command, *options = words.split()
        for number in (signal.SIGTERM, signal.SIGINT):
            process = subprocess.Popen([CONCLAVE, command, loops, "-n", "3", "--step-limit", "24h", *options],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            time.sleep(0.5)  # it may not have begun then: that is no failure, and another time it has
            process.send_signal(number)
            try:
                out, err = process.communicate(timeout=PATIENCE)
                expect(f"{words}: ends by {number.name}", process.returncode in (2, -number) and "violated: " not in out, (out, err, process.returncode))
            except subprocess.TimeoutExpired:
                process.kill()
                expect(f"{words}: ends by {number.name}", False)


# ---- the explorer ----


def explore_to_failure(address, plugin):
    """What the page's engine says after a few steps."""
    def call(name, words):
        request = urllib.request.Request(f"{address}call/one/{name}", json.dumps(words).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.read().decode()

    call("begin", {"words": [plugin, "-n", "3"]})
    call("run", {"count": 3})
    return call("now", {})


def check_explorer(directory):
    process = subprocess.Popen([CONCLAVE, "explore", "--no-open", "--step-limit", "100ms", str(directory / "loops.so"), "-n", "3"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    found = re.search(r"http://\S+", process.stdout.readline())
    if not found:
        expect("explore serves", "built without the page" in process.stderr.read())
        process.wait()
        return
    try:
        told = explore_to_failure(found.group(0), str(directory / "loops.so"))
        expect("explore tells it, too", RECEIVES + "the handler does not return within 100 ms" in told, told)
    finally:
        process.send_signal(signal.SIGTERM)
        expect("explore ends", process.wait(timeout=PATIENCE) == 0)


def main():
    names = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        for broken, (changes, told) in BROKEN.items():
            plugin = build(directory, broken, changes) if not names or broken in names else None
            for command in ("sim", "check", "run") if plugin else ():
                check_told(command, plugin, broken, told)
        if not names:
            check_six(directory)
            check_beginning(directory)
            check_many(directory)
            check_honest(directory)
            check_app(directory)
            check_interrupted(directory)
            check_explorer(directory)
    print("FAILED" if failures else "ok")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
