#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/texts.md: every command of its tables ends as told, and its matrices are what the algorithms claim."""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

SOURCE = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).resolve().parent.parent))
CONCLAVE = os.environ.get("CONCLAVE", str(SOURCE / "build" / "conclave"))
ENDS = {"held": 0, "violated": 1}
COLUMNS = {"mutex": ("exclusion", "every-request", "request-order"),
           "elections": ("best-wins", "everyone-learns", "any-caller")}


def rows(text):
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith(("| ---", "| item", "| algorithm")):
            yield [cell.strip() for cell in line.strip("|").split("|")]


def run(command):
    words = shlex.split(command)
    assert words[0] == "conclave", command
    return subprocess.run([CONCLAVE, *words[1:]], capture_output=True, text=True, check=False, timeout=300,
                          cwd=SOURCE)


def main():
    wrong, played, claims = [], {}, 0
    listed = json.loads(subprocess.run([CONCLAVE, "list", "--json"], capture_output=True, check=True).stdout)
    algorithms = {it["name"]: it for it in listed["algorithms"]}
    for cells in rows((SOURCE / "docs" / "texts.md").read_text(encoding="utf-8")):
        matrix = re.match(r"\[`(.*)`\]\((mutex|elections)/", cells[0])
        if matrix:
            wanted = ["yes" if claim in algorithms[matrix[1]]["claims"] else "no" for claim in COLUMNS[matrix[2]]]
            claims += 1
            if cells[1:4] != wanted:
                wrong.append(f"{matrix[1]}: {cells[1:4]}, it claims {wanted}")
            continue
        command, ends = cells[1].strip("`"), cells[2]
        if not command:
            if ends or cells[3] != "not shown":
                wrong.append(f"{cells[0]}: no command")
            continue
        if command not in played:
            played[command] = run(command)
        done = played[command]
        if done.returncode != ENDS.get(ends, -1):
            wrong.append(f"{command}: exit code {done.returncode}, not {ends}\n{done.stdout[-600:]}{done.stderr}")
    unclaimed = {name for name, it in algorithms.items() if it["problem"] in ("mutex", "election")}
    if claims != len(unclaimed):
        wrong.append(f"{claims} algorithms in the matrices, there are {len(unclaimed)}")
    for it in wrong:
        print(f"FAILED: {it}")
    print(f"{len(played)} commands, {len(wrong)} surprises")
    return 1 if wrong or len(played) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
