# SPDX-License-Identifier: MIT
"""The fault campaign for half a minute: it passes if nothing fails, finds the split brain of a static group, and leaves
no process or file, however it ends."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent
PATIENCE_S = 120
PLAYED = {"semaphore", "reentrant", "lock-all", "sequence", "watch", "latch", "once", "barrier", "members"}


class Campaign:
    """torment/run in a temporary directory of its own, with a mark in the environment of every process it starts."""

    def __init__(self, *options, recipes="none"):
        self.mark = f"TORMENT_MARK={uuid.uuid4()}"
        self.directory = tempfile.TemporaryDirectory(prefix="torment-smoke-")
        name, value = self.mark.split("=")
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "torment" / "run"), "--nodes", "3", "--settings", "default", "--json",
             "--recipes", recipes, *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
            env=os.environ | {name: value, "TMPDIR": self.directory.name})

    def processes(self):
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                if self.mark.encode() in path.read_bytes().split(b"\0"):
                    found.append(int(path.parent.name))
            except OSError:  # it has just ended
                pass
        return found

    def await_processes(self, wanted):
        """Waits until the number of processes passes the test."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if wanted(len(self.processes())):
                return
            time.sleep(0.1)
        raise AssertionError(f"{len(self.processes())} processes")

    def finish(self):
        output, complaints = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, output, complaints

    def report(self, status):
        code, output, complaints = self.finish()
        assert code == status, (code, output, complaints)
        self.check_gone()
        return json.loads(output)

    def check_gone(self):
        self.await_processes(lambda count: count == 0)
        left = os.listdir(self.directory.name)
        assert not left, left
        self.directory.cleanup()


def calm():
    report = Campaign("--nemesis", "none", "--run-seconds", "4", recipes="all").report(0)
    run, = report["runs"]
    assert report["verdict"] == run["verdict"] == "held"
    assert run["numbers"]["grants"] > 20 and run["numbers"]["writes"] > 20, run["numbers"]
    played = run["numbers"]["recipes"]
    assert PLAYED <= {name for name, count in played.items() if count["done"]}, played
    return report["network"] != "loopback" and "halves" not in [entry["nemesis"] for entry in report["left_out"]]


def split_brain():
    """A static group grants on both sides of a cut: the campaign can fail. Whether two meet inside is chance, fences tell."""
    options = ("--group", "static", "--nemesis", "halves", "--run-seconds")
    for seconds in (6, 12, 24, 48):  # on a busy machine few are granted anything while the cut lasts
        campaign = Campaign(*options, str(seconds))
        code, output, complaints = campaign.finish()
        campaign.check_gone()
        if code != 0:
            break
    assert code == 1, (code, output, complaints)
    run, = json.loads(output)["runs"]
    verdicts = {entry["name"]: entry["verdict"] for entry in run["properties"]}
    assert "violated" in (verdicts["exclusion"], verdicts["fences-rise"]), run
    assert verdicts["nodes-survive"] == verdicts["calls-end"] == "held", run


def no_split_brain():
    """The same cut, where only a majority makes a view."""
    run, = Campaign("--nemesis", "halves", "--run-seconds", "6").report(0)["runs"]
    assert run["verdict"] == "held" and run["numbers"]["grants"] > 20, run


def interrupted():
    """Ctrl-C: what is known so far is told, and nothing stays."""
    for number in (signal.SIGINT, signal.SIGTERM):
        campaign = Campaign("--nemesis", "kill", "--run-seconds", "60")
        campaign.await_processes(lambda count: count > 10)
        campaign.process.send_signal(number)
        report = campaign.report(2)
        assert report["verdict"] == "unknown" and report["runs"][0]["problem"] == "interrupted", report


def killed():
    """Even SIGKILL of the campaign ends its nodes and clients."""
    campaign = Campaign("--nemesis", "pause", "--run-seconds", "60")
    campaign.await_processes(lambda count: count > 10)
    campaign.process.kill()
    campaign.finish()
    campaign.await_processes(lambda count: count == 0)
    campaign.directory.cleanup()


if __name__ == "__main__":
    if calm():
        split_brain()
        no_split_brain()
    else:
        print("no cuts can be made here: the split brain is left out")
    interrupted()
    killed()
