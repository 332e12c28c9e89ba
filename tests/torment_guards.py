# SPDX-License-Identifier: MIT
"""Holders that were stopped and woken, a few of them: no guard lets a stale write through, without guards some go through; and the
judge of it can tell."""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
GUARDS = ROOT / "torment" / "guards"


def load():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("torment_guards_program", str(GUARDS))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def write(fence, begun, ended, accepted=True):
    return {"fence": fence, "begun": begun, "ended": ended, "accepted": accepted}


def the_judge(judge):
    """(stale, accepted, refused, wrongly refused) of invented histories."""
    assert judge([write(1, 0, 1), write(2, 2, 3), write(1, 4, 5)]) == (1, 3, 0, 0)
    assert judge([write(2, 0, 1), write(2, 2, 3), write(3, 4, 5)]) == (0, 3, 0, 0)
    assert judge([write(2, 0, 5), write(1, 4, 6)]) == (0, 2, 0, 0), "side by side: nobody knows which came first"
    assert judge([write(2, 0, 1), write(1, 2, 3, False)]) == (0, 1, 1, 0)
    assert judge([write(2, 4, 5), write(1, 2, 3, False)]) == (0, 1, 1, 1), "refused for nothing"
    assert judge([write(1, 2, 3, False)], [(2, 1)]) == (0, 0, 1, 0), "for one that was not done yet"
    assert judge([write(5, 0, 1), write(3, 2, 3), write(4, 2, 3), write(6, 7, 8), write(5, 9, 10)]) == (3, 5, 0, 0)


def the_run():
    ended = subprocess.run([sys.executable, GUARDS, "--holders", "20", "--writers", "9", "--ttl", "60", "--json"], capture_output=True, text=True,
                           check=False, cwd=ROOT, env=os.environ)
    assert ended.returncode == 0, (ended.returncode, ended.stdout, ended.stderr)
    report = json.loads(ended.stdout)
    assert report["verdict"] == "held" and report["woken_after_another_wrote"] >= 20, report
    for row in report["resources"]:
        assert (row["stale"] == 0 and row["refused"] > 0) if row["guarded"] else row["stale"] > 0, row
        assert row["wrongly_refused"] == 0, row
    print(f"{report['seconds']} s; left out: {', '.join(report['left_out']) or 'nothing'}")
    for words in (["--holders", "0"], ["--writers", "2"], ["--ttl", "x"], ["--nothing"]):
        wrong = subprocess.run([sys.executable, GUARDS, *words], capture_output=True, text=True, check=False)
        assert wrong.returncode == 2 and wrong.stderr.count("\n") == 1, wrong


if __name__ == "__main__":
    the_judge(load().judge)
    the_run()
