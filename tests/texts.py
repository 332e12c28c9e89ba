#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/texts.md: every command of its tables ends as described, and its matrices are the algorithms' claims. The
program shows what the texts draw and count: the tree of the wireless figure, nodes with letters, messages that pile
up."""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

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


def facts_of(command):
    return json.loads(run(f"{command} --json").stdout)


def check_figure():
    """Figure 6-22: which node hears of the election from whom first, and what it reports back."""
    parents = {"b": "a", "j": "a", "c": "b", "g": "b", "d": "c", "e": "g", "h": "g", "f": "e", "i": "h"}
    reports = {"j": "[j,4]", "d": "[d,2]", "c": "[c,3]", "f": "[f,4]", "e": "[f,4]", "i": "[i,5]", "h": "[h,8]",
               "g": "[h,8]", "b": "[h,8]"}
    story = run("conclave scenario wireless-example").stdout
    heard = {}
    for who, whom in re.findall(r"^ +\d+  t=\d+ +(\w) hears election\(a·1\) from (\w)", story, re.M):
        heard.setdefault(who, whom)
    told = {who: best for best, who in re.findall(r"hears ack\((\S+), to parent, a·1\) from (\w)", story)}
    yield "the figure's tree", heard, parents
    yield "the figure's reports", told, reports
    yield "the figure's leader", re.findall(r"^leader +(\w+)", story, re.M), ["h"]


def check_labels():
    """Texts for people have labels; JSON has ids."""
    command = "conclave sim bully -n 4 --crash 4@0"
    named = f"{command} --labels red,green,blue,black"
    plain, labelled = facts_of(command), facts_of(named)
    for facts in (plain, labelled):
        facts.pop("command")
    yield "JSON with labels", labelled, plain
    with tempfile.TemporaryDirectory() as directory:
        shown = run(f"{named} --transcript --svg {directory}/run.svg").stdout
        shown += run(f"{named} --diagram").stdout
        picture = (pathlib.Path(directory) / "run.svg").read_text(encoding="utf-8")
    for words in ("leader    blue", "black is down from the start", "red calls an election: election to green, blue, black",
                  "red, green hear coordinator from blue, follow blue", "→blue"):
        yield words, words in shown, True
    for words in (">red<", "follows blue", "from red to green"):
        yield f"{words} in the picture", words in picture, True
    split = facts_of("conclave sim bully -n 2 --labels p,q --partition 1/2@0.. --start all")
    yield "a reason with labels", "node p follows p, node q follows q" in split["reason"], True
    story = run("conclave check maekawa-plain -n 2 --labels x,y").stdout
    yield "a counterexample with labels", "x wants to enter" in story and bool(re.search(r"(x, y|y, x) wait for ever", story)), True
    lists = run("conclave sim ring-list -n 3 --labels a..c --transcript").stdout
    yield "a list of labels", "coordinator(c, [a b])" in lists, True


def check_pile_ups():
    """K triangles: 2^K distances, each a tick after the one before; a message sets out when the link is free."""
    for rungs in range(1, 9):
        facts = facts_of(f"conclave sim bellman-ford-async --graph gadget:{rungs} --serial")
        yield f"messages of {rungs} triangles", facts["messages"]["total"], 3 * (2**rungs - 1)
        yield f"time of {rungs} triangles", facts["time"], 2 * rungs + 2**rungs - 1
    # 2 tells 4 at 1 and at 2, over a link of 10 ticks; 4 answers the second.
    facts = facts_of("conclave sim bellman-ford-async --graph edges:1-2:9,1-3:1,3-2:1,2-4:1 --lag 2:4=10 --serial")
    yield "the second of two messages", facts["time"], 1 + 10 + 10 + 1


def main():
    wrong, played, claims = [], {}, 0
    for what, found, wanted in (*check_figure(), *check_labels(), *check_pile_ups()):
        if found != wanted:
            wrong.append(f"{what}: {found}, not {wanted}")
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
