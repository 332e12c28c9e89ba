# SPDX-License-Identifier: MIT
"""The history of a run, one JSON object a line: `us` is CLOCK_MONOTONIC of this machine, which no nemesis touches."""

import json
import time


def now_us():
    return time.monotonic_ns() // 1000


class History:
    """The history of one process. Each line is written at once, so that a killed process leaves what it knew."""

    def __init__(self, path, who):
        self.file = open(path, "a", buffering=1, encoding="utf-8")
        self.who = who

    def note(self, what, **facts):
        moment = now_us()
        self.file.write(json.dumps({"us": moment, "who": self.who, "what": what, **facts}) + "\n")
        return moment

    def close(self):
        self.file.close()


def read(paths):
    """The histories of all processes, in the order of time."""
    events = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            events += [json.loads(line) for line in file if line.endswith("\n")]
    return sorted(events, key=lambda event: event["us"])
