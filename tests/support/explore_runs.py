# SPDX-License-Identifier: MIT
"""Who only ever does what is next in the explorer does what the simulator does, step by step, whatever crashes."""

import json
import pathlib
import random
import tempfile

from support.explorer import ELECTIONS, MUTEXES, fail, failures, sim


def steps_of_trace(text):
    """What happened in a run of the simulator, without what steps did."""
    found = []
    for line in map(json.loads, text.splitlines()):
        if line.get("event") in ("start", "leave", "receive", "timeout", "recover", "view") or line.get("event") == "request" and "text" not in line:
            found.append((line["event"], line.get("node"), line.get("message")))
    return found


def steps_of_story(explorer):
    """The same. That the members of a view start is in no trace."""
    scenario = explorer("scenario")
    ids = [it["id"] for it in scenario["nodes"]]
    found = []
    for it in explorer("history"):
        if it["type"] == "start" and scenario["problem"] == "mutex":
            continue
        if it["type"] in ("start", "request", "leave", "deliver", "timeout", "recover", "view"):
            found.append(({"deliver": "receive"}.get(it["type"], it["type"]), None if it["node"] is None else ids[it["node"]], it["message"]))
    return found


def same_run(explorer, line, trace, repeats=False):
    """The same steps in the same order. A run that repeats itself is ended by the simulator alone."""
    explorer.begin(line)
    explorer("run", count=10000)
    theirs, mine = steps_of_trace(trace), steps_of_story(explorer)
    if repeats:
        mine = mine[:len(theirs)]
    if mine != theirs:
        at = next((i for i, (a, b) in enumerate(zip(mine, theirs)) if a != b), min(len(mine), len(theirs)))
        fail(f"{line}: after {at} steps of {len(theirs)} the explorer has {mine[at:at + 3]}, the simulator {theirs[at:at + 3]}")


def crashes(chance, size, last, most=3, back=0.7):
    """Some nodes die and some of them come back."""
    words = ""
    for node in chance.sample(range(1, size + 1), chance.randint(1, min(size - 1, most))):
        dies = chance.randint(1, last)
        words += f" --crash {node}@{dies}"
        if chance.random() < back:
            words += f" --recover {node}@{dies + chance.randint(1, 15)}"
    return words


def mutex_scenario(chance):
    name, size = chance.choice(MUTEXES), chance.randint(2, 6)
    if chance.random() < 0.6:
        wants = f" --entries {chance.randint(1, 3)}" + chance.choice(["", f" --hold {chance.randint(1, 5)}"]) + chance.choice(["", f" --think {chance.randint(1, 20)}"])
    else:
        times = sorted((chance.randint(0, 25), chance.randint(1, size)) for _ in range(chance.randint(1, 6)))
        wants = " --request " + ",".join(f"{node}@{time}" + chance.choice(["", f"+{chance.randint(1, 6)}"]) for time, node in times)
    more = chance.choice(["", "", f" --delay 1..{chance.randint(2, 6)}", f" --detect {chance.randint(1, 6)}"])
    more += chance.choice(["", "", "", " --views off"]) + chance.choice(["", "", f" --election {chance.choice(['ring-list', 'bully'])}"])
    faults = crashes(chance, size, 25)
    return f"{name} -n {size}{wants}{more}{faults} --seed {chance.randint(1, 99)} --until 300"


def election_scenario(chance):
    name, size = chance.choice(ELECTIONS), chance.randint(2, 7)
    more = chance.choice(["", " --start all"]) + chance.choice(["", f" --delay 1..{chance.randint(2, 6)}"]) + chance.choice(["", f" --detect {chance.randint(1, 6)}"])
    # In a graph many returns that are reported one after the other split it otherwise than the simulator has it.
    faults = crashes(chance, size, 12, 1 if name == "wireless" else 3)
    if chance.random() < 0.2:
        faults = f" --crash {size}@0 --recover {size}@{chance.randint(1, 12)}"
    return f"{name} -n {size}{more}{faults} --seed {chance.randint(1, 99)} --until 300"


def random_runs(explorer, count, seed):
    """Random scenarios with crashes and recoveries."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "run.jsonl"
        for number in range(seed, seed + count):
            chance = random.Random(number)
            line = mutex_scenario(chance) if chance.random() < 0.75 else election_scenario(chance)
            run = sim(*line.split(), "--trace", str(path))
            if run:
                same_run(explorer, line, path.read_text(encoding="utf-8"), "repeats itself" in run["reason"])
            if len(failures) > 10:
                return
