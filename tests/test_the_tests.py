#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the tests rely on: a failure is excused only by a lack of processor time, and an assertion tells what it saw."""

import ast
import contextlib
import io
import os
import pathlib
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "support"))
import starvation  # pylint: disable=wrong-import-position
import telling  # pylint: disable=wrong-import-position

SPIN = "import os, time\nos.nice({nice})\nend = time.monotonic() + {seconds}\nwhile time.monotonic() < end:\n    pass\n"


def spinner(nice, seconds):
    """A process that wants all of the first processor."""
    first = min(os.sched_getaffinity(0))
    return subprocess.Popen([sys.executable, "-c", SPIN.format(nice=nice, seconds=seconds)],
                            preexec_fn=lambda: os.sched_setaffinity(0, {first}))


def the_kernel_tells_who_starves():
    with starvation.Watch() as watch:
        time.sleep(0.3)
        children = [spinner(0, 2), spinner(0, 2), spinner(19, 2)]
        for child in children:
            child.wait()
    assert watch.starved(), watch.worst


def outcome(test, starved):
    """Does it pass, and how often was it run?"""
    runs = []
    starvation.CALM_S = 0

    def once():
        runs.append(len(runs))
        test(len(runs))

    look, starvation.Watch.look = starvation.Watch.look, lambda watch: setattr(watch, "worst", 1.0 if starved else 0.0)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return starvation.run(once, name="on purpose"), len(runs)
    finally:
        starvation.Watch.look = look


def only_the_starved_are_run_again():
    def fails_once(count):
        assert count > 1

    def fails():
        raise AssertionError

    def breaks(_):
        raise starvation.Broken("two inside")

    for test, starved, expected in ((fails_once, True, (True, 2)), (fails_once, False, (False, 1)),
                                    (lambda _: fails(), True, (False, len(starvation.STRETCHES))), (breaks, True, (False, 1)),
                                    (lambda _: None, True, (True, 1))):
        assert outcome(test, starved) == expected, (test, outcome(test, starved))
    collected = []
    with contextlib.redirect_stdout(io.StringIO()):
        assert not starvation.run(lambda: collected.append("wrong"), name="on purpose", failures=collected)
    assert collected == ["wrong"], collected
    with contextlib.redirect_stdout(io.StringIO()):
        assert not starvation.run(lambda: breaks(0), name="on purpose", failures=collected)
    assert len(collected) == 2 and "two inside" in collected[1], "an exception is a failure, too"


def told(source, **names):
    """What an assertion says when it fails."""
    tree = telling.Rewriter().visit(ast.parse(source))
    try:
        exec(compile(tree, "example", "exec"), {"_show": telling.show, "_tell": telling.tell, **names})  # pylint: disable=exec-used
    except AssertionError as error:
        return str(error)
    return None


def assertions_tell():
    assert told("assert a == b", a=1, b=2) == "a == b: 1, 2"
    assert told("assert a == b, 'why'", a=[1], b=2) == "a == b: [1], 2, why"
    assert told("assert f(a) and b", f=lambda x: x, a=3, b=0) == "b: 0"
    assert told("assert a and missing", a="") == "a: ''", "the second is not looked at"
    assert told("assert not a", a=[7]) == "not a: False"
    assert told("for i in (1, 2):\n    assert i < 2", a=1) == "i < 2: 2, 2"
    assert told("assert a <= b", a=1, b=1) is None
    calls = []
    assert told("assert f() == 2", f=lambda: calls.append(1) or 2) is None and calls == [1], "looked at once"


def main():
    failed = 0
    for test in (the_kernel_tells_who_starves, only_the_starved_are_run_again, assertions_tell):
        try:
            test()
            print(f"ok   {test.__name__}")
        except AssertionError as error:
            failed += 1
            print(f"FAIL {test.__name__}: {error!r}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
