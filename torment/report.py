# SPDX-License-Identifier: MIT
"""The report of a campaign, for people and programs."""

import json
import os
import sys

COLUMNS = ("asked", "done", "nil", "refused", "unanswered")  # of calls of a recipe
COLOURS = {"held": "32", "violated": "31", "unknown": "33"}


class Writer:
    def __init__(self, options, lacking):
        self.options = options
        self.runs = []
        self.interrupted = False
        self.network = "network namespaces" if options.isolated else "loopback"
        self.lacking = [{"nemesis": name, "needs": needs} for name, needs in lacking]
        self.colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        self.shows_progress = sys.stderr.isatty()
        if not options.json:
            self.open()

    def open(self):
        check = "fences are checked" if self.options.fence_check else "fences are not checked"
        print(f"torment: group {self.options.group}, nodes on {self.network}, {check}")
        for entry in self.lacking:
            print(f"left out: {entry['nemesis']}, which needs {' and '.join(entry['needs'])}")
        sys.stdout.flush()

    def progress(self, at, left):
        if self.shows_progress:
            number, name, nodes = at
            print(f"\r\033[Krun {number}: {name}, {nodes} nodes, {left:.0f} s left ", end="",
                  file=sys.stderr, flush=True)

    def paint(self, verdict):
        return f"\033[{COLOURS[verdict]}m{verdict}\033[0m" if self.colours else verdict

    def add(self, run):
        self.runs.append(run)
        if self.shows_progress:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        if self.options.json:
            return
        numbers, recovery = run["numbers"], run["numbers"]["recovery_ms"]
        print(f"\nseed {run['seed']}, {run['nodes']} nodes, {run['nemesis']}: {self.paint(run['verdict'])}")
        if run["configuration"]:
            print("  " + ", ".join(f"{key} {value}" for key, value in run["configuration"].items()))
        if run["problem"]:
            print(f"  {run['problem']}")
        print(f"  {numbers['faults']} faults, {numbers['grants']} grants, {numbers['lost']} lost, "
              f"{numbers['writes']} writes, {numbers['refused']} refused for their fence, "
              f"{numbers['leaders_observed']} changes of leader seen, {numbers['lasting']} holds with a TTL, {numbers['moved']} renewed "
              "at another member")
        if numbers["recipes"]:
            print("  recipes: " + ", ".join(f"{name} {count['done']:,} of {count['asked']:,}" for name, count in
                                            numbers["recipes"].items()))
        if recovery["median"] is not None:
            print(f"  first grant after healing: median {recovery['median']} ms, worst {recovery['worst']} ms")
        for entry in run["properties"]:
            if entry["violations"]:
                print(f"  {entry['name']}: {entry['verdict']}, {entry['violations']} times; first: {entry['detail']}")
        for line in run["stuck"]:
            print(f"    {line}")
        print(f"  again: {run['repeat']}", flush=True)

    def verdict(self):
        verdicts = {run["verdict"] for run in self.runs}
        if "violated" in verdicts:
            return "violated"
        return "unknown" if "unknown" in verdicts or self.interrupted or not verdicts else "held"

    def played(self):
        """By recipe, the calls of all runs."""
        counts = [run["numbers"]["recipes"] for run in self.runs]
        return {name: {column: sum(count[name][column] for count in counts if name in count) for column in COLUMNS}
                for name in sorted(set().union(*counts))}

    def finish(self):
        """The exit status."""
        verdict = self.verdict()
        totals = {key: sum(run["numbers"][key] for run in self.runs)
                  for key in ("seconds", "faults", "grants", "lost", "writes", "refused")}
        played = self.played()
        if self.options.json:
            print(json.dumps({"schema": 1, "group": self.options.group, "network": self.network,
                              "fence_check": self.options.fence_check, "seed": self.options.seed,
                              "left_out": self.lacking, "verdict": verdict, "totals": totals, "recipes": played,
                              "runs": self.runs},
                             indent=1))
        else:
            if played:
                print(f"\n{'recipe':16}" + "".join(f"{column:>12}" for column in COLUMNS))
            for name, count in played.items():
                print(f"{name:16}" + "".join(f"{count[column]:12,}" for column in COLUMNS))
            bad = sum(run["verdict"] != "held" for run in self.runs)
            print(f"\n{len(self.runs)} runs, {totals['seconds'] / 60:.1f} minutes, {totals['faults']} faults, "
                  f"{totals['grants']} grants, {totals['writes']} writes: {self.paint(verdict)}"
                  + (f", {bad} runs" if bad else ""), flush=True)
        return {"held": 0, "violated": 1, "unknown": 2}[verdict]
