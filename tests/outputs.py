#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pictures and traces are well formed, agree with the run, and are complete."""

import collections
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml

import shiviz_check

SOURCE = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).resolve().parent.parent))
CONCLAVE = os.environ.get("CONCLAVE", "build/conclave")
SVG = "{http://www.w3.org/2000/svg}"

RUNS = [
    "bully --ids 0..7 --crash 7@0 --start 4",
    "bully --ids 0..7 --crash 7@0 --start 4 --recover 7@9",
    "bully --ids 0..5 --start 0,3 --partition 0,1,2/3,4,5@0..9",
    "bully --ids 0..5 --crash 5@0 --start 0 --crash 4@before:coordinator --crash 3@after:coordinator --delay 1..6",
    "bully -n 12 --start all --loss 0.3 --duplicate 0.2 --reorder --delay 1..4",
    "bully -n 1",
    "chang-roberts --ids 3,32,5,80,6,12 --start 3",
    "chang-roberts --ids 3,32,5,80,6,12 --start 3 --crash 80@5 --blind *:80",
    "chang-roberts --ids 3,32,5,80,6,12 --start 3 --suspect *:80@4",
    "chang-roberts -n 300 --ids random --start all --delay 1..9",
    "ring-list -n 6 --start 1,4 --crash 5@3",
    "franklin -n 9 --ids random --start all --delay exp:5",
    "peterson -n 9 --ids random --start all",
    "multicast -n 5 --crash 5@2",
    "wireless -n 10 --delay 1..3",
    "wireless -n 10 --crash 4@2",
    "central -n 4 --entries 2 --hold 3",
    "central -n 5 --entries 2 --hold 9 --crash 5@12 --crash 2@20 --recover 2@40 --election chang-roberts",
    "token-ring -n 5 --request 3@0+9,1@5 --crash 3@5 --views off --set regenerate=20",
    "ricart-agrawala -n 4 --entries 2 --hold 3 --names 3 --delay 1..5",
    "lamport -n 12 --entries 2 --think 5 --delay exp:3 --crash 4@9",
    "maekawa -n 9 --entries 2 --delay 1..9 --lag 1:*:request=30",
    "maekawa-plain -n 9 --entries 2 --delay 1..9",
    "voting -n 5 --request 1@0+50,3@10 --crash 3@5 --recover 3@6 --views off",
    "abd -n 6 --delay 1..5 --set tick=3",
    "alpha -n 1",
    "alpha -n 7 --graph grid:1x7 --app bfs-tree --delay 1..9",
    "alpha -n 6 --app flood-max --crash 4@5 --recover 4@30 --delay 1..3",
    "beta -n 8 --app flood-max --loss 0.2 --set root=5",
    "gamma --graph edges:1-2:5,2-3:0,3-4:7,4-1:2,4-5:1 --set clusters=sets:1-2/3-4-5 --unordered --delay 1..9",
    "lockstep -n 9 --app bfs-tree",
    "bellman-ford-async --graph gadget:4",
]


def run(line, *extra, expect=(0, 1, 2), **more):
    done = subprocess.run([CONCLAVE, "sim", *line.split(), *extra], capture_output=True, check=False, **more)
    assert done.returncode in expect, f"{line} {extra}: {done.returncode}, {done.stderr.decode()}"
    return done


def check_trace(line, text, result):
    """Counts of the trace against those of the run, and its clocks against each other."""
    lines = [json.loads(each) for each in text.splitlines()]
    header, events, end = lines[0], lines[1:-1], lines[-1]
    assert header["schema"] == 1 and header["type"] == "header", header
    assert header["algorithm"] == line.split()[0] and len(header["nodes"]) == result["nodes"], header
    assert end["type"] == "end" and end["verdict"] == result["verdict"], end
    assert end["messages"] == result["messages"]["total"] and end["time"] == result["time"], end

    sent, clocks, now, by_kind = {}, {}, 0, collections.Counter()
    for event in events:
        assert event["time"] >= now, event
        now = event["time"]
        node = event.get("node")
        if event["event"] == "send":
            targets = event["to"] if isinstance(event["to"], list) else [event["to"]]
            numbers = event["messages"] if isinstance(event["to"], list) else [event["message"]]
            assert len(targets) == len(numbers)
            by_kind[event["kind"]] += sum(target != node for target in targets)
            for target, number in zip(targets, numbers):
                assert number not in sent
                sent[number] = (node, target, event)
        if event["event"] in ("receive", "lost"):
            assert sent[event["message"]][:2] == (event["from"], node), event
            assert sent[event["message"]][2]["kind"] == event["kind"]
            assert sent[event["message"]][2].get("body") == event.get("body")
        if event["event"] == "receive":
            send = sent[event["message"]][2]
            assert event["lamport"] > send["lamport"]
            for other, count in send.get("vector", {}).items():
                assert event["vector"][other] >= count, event
        if node is not None and event["event"] not in ("lost", "state"):
            before = clocks.get(node, {})
            after = event.get("vector", {})
            assert ("vector" in event) == (result["nodes"] <= 256), event
            assert all(after[other] >= count for other, count in before.items()), event
            clocks[node] = after
    for name, key in (("enter", "entered"), ("leave", "left")):
        told = [(event["node"], event["time"]) for event in events if event["event"] == name]
        died = [(event["node"], event["time"]) for event in events if event["event"] == "crash"]
        found = [(entry["node"], entry[key]) for entry in result["entries"] if entry[key] is not None]
        assert sorted(told) == sorted(one for one in found if key == "entered" or one not in died), (name, told, found)
    fences = [event["fence"] for event in events if event["event"] == "enter"]
    assert sorted(fences) == sorted(entry["fence"] for entry in result["entries"] if entry["fence"] is not None)
    counted = {**result["messages"]["by_kind"], **result.get("preparing", {"by_kind": {}})["by_kind"]}
    expected = {kind: count for kind, count in counted.items() if count}
    assert +by_kind == expected, (by_kind, expected)
    check_rounds(events, result)
    check_states(line, events, result)


def check_rounds(events, result):
    """Rounds follow each other, and the nodes' last results are those of the run."""
    rounds, results = collections.defaultdict(int), {}
    for event in events:
        if event["event"] == "crash":
            rounds[event["node"]] = 0
        if event["event"] == "pulse":
            assert event["round"] in (rounds[event["node"]] + 1, rounds[event["node"]] + 2), event
            rounds[event["node"]] = event["round"]
        if event["event"] == "result":
            results[str(event["node"])] = event["result"]
    told = result.get("distances", {})
    assert all(results.get(name) == value for name, value in told.items()), (results, told)
    if "rounds" in result and result["verdict"] == "held" and result["nodes"] > 1:
        assert set(rounds.values()) == {result["rounds"] + 1}, rounds


def check_states(line, events, result):
    """A node's first state has all its fields, in a new view too; the others what has changed. The last is the result."""
    algorithm, *options = line.split()
    app = options[options.index("--app") + 1] if "--app" in options else "bellman-ford"
    described = {one["name"]: one for one in json.loads(subprocess.run([CONCLAVE, "list", "--json"], capture_output=True,
                                                                      check=True).stdout)["algorithms"]}
    named = {field["name"].split(".")[0] if "each" in field else field["name"] for field in described[algorithm]["state"]}
    if described[algorithm]["problem"] == "synchronizer":
        named |= {field["name"] for field in described[app]["state"]} | {"round", "kept"}
    states = {}
    for event in events:
        if event["event"] != "state":
            continue
        key = event["node"], event.get("name")
        assert set(event["state"]) <= named and event["state"], (event, named)
        if key not in states:
            assert len(event["state"]) == len(named), (event, named)
        elif len(event["state"]) < len(named) and all(states[key][name] == value and name != "kept"  # its round is not told
                                                      for name, value in event["state"].items()):
            raise AssertionError(f"{line}: nothing has changed: {event}")
        states.setdefault(key, {}).update(event["state"])
    believed = {"bully": "leader", "wireless": "best"}.get(algorithm)
    for node, leader in result["elected"].items() if believed else []:
        known = states.get((int(node), None), {believed: None})[believed]
        assert leader is None or known == leader, (node, states)
    for node, distance in result.get("distances", {}).items():
        name = "depth" if app == "bfs-tree" else "distance"
        assert result["nodes"] == 1 or states[int(node), None][name] == distance, (node, states)


def states_are_told(directory):
    """Each step says by name what it changed, nodes by their labels."""
    picture = directory / "states.svg"
    told = run("peterson --ids 1,3,2 --start all --labels p..r", "--transcript", "--diagram", "--states", "--svg",
               str(picture)).stdout.decode()
    for words in ("color asleep → red", "color red → black", "alias r → q", "▪ black", "▪ red, alias r",
                  "states at the end", "  r  color done, alias q, nearer q, second no"):
        assert words in told, (words, told)
    assert ">black<" in picture.read_text(encoding="utf-8")
    picture.unlink()
    told = run("wireless -n 3 --labels a..c --attr 4,8,6 --graph line", "--transcript", "--states").stdout.decode()
    for words in ("ack([c,6], to parent, a·1)", "parent - → b", "best [a,4] → [b,8]", "link - → b: awaited"):
        assert words in told, (words, told)
    told = run("bellman-ford --graph edges:1-2:5,2-3:2", "--transcript", "--states").stdout.decode()
    assert "distance ∞ → 7, via 3 → 2" in told, told
    one_line(run("bully -n 3", "--states"), "--states", "--transcript, --diagram or --svg")
    for line in RUNS:
        for option in ("--transcript", "--diagram"):
            told = run(line, option, "--states").stdout
            assert told == run(line, option, "--states").stdout and b"bytes without names" not in told, line


def check_svg(path):
    root = xml.parse(path).getroot()
    assert root.tag == SVG + "svg" and root.find(SVG + "title") is not None
    width, height = float(root.get("width")), float(root.get("height"))
    for text in root.iter(SVG + "text"):
        if text.get("x") and text.get("y"):
            assert 0 <= float(text.get("x")) <= width and 0 <= float(text.get("y")) <= height, text.attrib
    for line in root.iter(SVG + "line"):
        for name, most in (("x1", width), ("x2", width), ("y1", height), ("y2", height)):
            assert 0 <= float(line.get(name)) <= most, line.attrib


def all_formats(directory):
    for line in RUNS:
        trace, svg, shiviz = (str(directory / name) for name in ("trace.jsonl", "picture.svg", "log.txt"))
        small = "300" not in line
        outputs = ["--trace", trace, "--svg", svg] + (["--shiviz", shiviz] if small else [])
        result = json.loads(run(line, "--json", *outputs).stdout)
        check_trace(line, pathlib.Path(trace).read_text(encoding="utf-8"), result)
        check_svg(svg)
        if small:
            shiviz_check.check(pathlib.Path(shiviz).read_text(encoding="utf-8"))
        first = run(line, "--transcript", "--diagram").stdout
        assert first == run(line, "--transcript", "--diagram").stdout, line
        assert pathlib.Path(trace).read_bytes() == run(line, "--json", "--trace", "-").stdout.rsplit(b"\n", 2)[0] + b"\n"
    for file in directory.iterdir():
        file.unlink()


def diagrams_fit():
    for width in (1, 12, 30, 79, 80, 100, 132):
        for line in RUNS:
            text = run(line, "--diagram", env={**os.environ, "COLUMNS": str(width)}).stdout.decode()
            widest = max(map(len, text.split("\n\n")[0].split("\n")))
            assert widest <= width, f"{line}: {widest} columns of {width}"


def labels_stay_whole():
    """Every text in a diagram is a whole word: no word overlaps another."""
    def words(*line, width=100):
        done = subprocess.run([CONCLAVE, *line, "--diagram"], capture_output=True, check=True, text=True,
                              env={**os.environ, "COLUMNS": str(width)})
        return set(re.findall(r"[a-z]+(?: \d+)?", "\n".join(re.findall(r"^ *[\d→]* +[●░│★◆█▀↺].*$", done.stdout, re.M))))

    labels = words("scenario", "maekawa-deadlock")
    assert {"request 1", "request 2", "request 3"} <= labels and not labels & {"request 11", "request 22"}, labels
    for width in range(60, 130):
        labels = words("sim", "bully", "-n", "8", "--start", "all", width=width)
        assert not {word for word in labels if "callscalls" in word or word in ("ca", "cal", "call")}, (width, labels)


def networks_are_drawn(directory):
    """A ring has an edge a node; a tree over n nodes n - 1, in c clusters n - c; every edge of the graph is there once."""
    def edges(line):
        path = directory / "network.svg"
        run(line, "--svg", str(path))
        strokes = [path.get("stroke") for path in xml.parse(path).iter("{http://www.w3.org/2000/svg}path")
                   if "Q" in path.get("d", "") and path.get("stroke-width") in ("1.2", "1.6", "2.2", "2.6")]
        path.unlink()
        return collections.Counter(strokes)

    assert edges("chang-roberts -n 7") == {"#c9ced4": 7} and edges("franklin -n 5 --start all") == {"#c9ced4": 5}
    assert edges("beta --graph grid:3x4 -n 12") == {"#0072b2": 11, "#c9ced4": 17 - 11}
    assert edges("wireless --graph complete -n 6") == {"#0072b2": 5, "#c9ced4": 15 - 5}
    # Two triangles joined by two edges, one of which the clusters prefer.
    graph = "gamma --graph edges:1-2,2-3,1-3,4-5,5-6,4-6,3-4,2-5 --set clusters=sets:1-2-3/4-5-6"
    assert edges(graph) == {"#0072b2": 4, "#009e73": 1, "#c9ced4": 3}, edges(graph)


def runs_of_a_scenario_are_numbered(directory):
    """Each has a file of its own."""
    for option in (["--svg", str(directory / "split.svg")], [f"--trace={directory / 'split.jsonl'}"]):
        subprocess.run([CONCLAVE, "scenario", "split-brain", *option], capture_output=True, check=True)
    names = sorted(file.name for file in directory.iterdir())
    assert names == ["split-1.jsonl", "split-1.svg", "split-2.jsonl", "split-2.svg"], names
    assert len({file.read_bytes() for file in directory.iterdir()}) == 4
    for file in directory.iterdir():
        file.unlink()


def one_line(done, *words):
    text = done.stderr.decode()
    assert done.returncode == 2 and text.count("\n") == 1 and all(word in text for word in words), (done, text)


def labels_are_everywhere():
    told = subprocess.run([CONCLAVE, "check", "bully", "-n", "3", "--timeouts", "any", "--labels", "red,green,blue"], capture_output=True, text=True,
                          check=False).stdout
    assert "verdict   violated" in told and re.search(r"node (red|green|blue) follows \1, node (red|green|blue) follows \2", told), told


def one_node_is_one():
    for words, expected in ((["sim", "bully", "-n", "1"], ", 1 node, seed"), (["run", "bully", "-n", "1"], ", 1 process, seed"),
                            (["sim", "bully", "-n", "2", "--runs", "1"], ", 2 nodes, 1 run from"),
                            (["sim", "bully", "-n", "1", "--runs", "2"], ", 1 node, 2 runs from")):
        told = subprocess.run([CONCLAVE, *words], capture_output=True, text=True, check=True).stdout
        assert expected in told, (words, told)


def c_files_are_compiled(directory):
    """An algorithm in C is run as its shared object would be, and nothing is left of what the compiler wrote."""
    place = directory / "place"
    place.mkdir()
    source, broken = SOURCE / "examples" / "roll_call.c", directory / "broken.c"
    broken.write_text("nonsense")

    def told(*words, **more):
        done = subprocess.run([CONCLAVE, *words], capture_output=True, check=False, env={**os.environ, "TMPDIR": str(place), **more})
        assert not list(place.iterdir()), (words, list(place.iterdir()))
        return done

    for words in (["sim", source, "-n", "3"], ["check", source, "-n", "3"], ["run", source, "-n", "3"], ["list", source],
                  ["compare", "election", "--nodes", "4", "--with", source]):
        done = told(*map(str, words))
        assert done.returncode == 0 and not done.stderr and re.search(b"[Rr]oll.call", done.stdout), (words, done)
    again = told("sim", str(source), "-n", "3").stdout.decode().splitlines()[-1]
    assert again == f"again     conclave sim {source} -n 3 --seed 1", again
    done = told("sim", str(broken))
    assert done.returncode == 2 and done.stderr.endswith(b"broken.c: cc does not compile it; expected an algorithm in C\n"), done
    one_line(told("sim", str(broken), PATH=str(place)), "cc cannot be run")
    (directory / "no.c").write_text("int x;")
    one_line(told("sim", str(directory / "no.c")), "no.c: does not define conclave_algorithm")
    done = told("sim", str(directory / "missing.c"))
    assert done.returncode == 2 and b"missing.c" in done.stderr.splitlines()[-1], done
    one_line(subprocess.run([CONCLAVE, "sim", str(source)], capture_output=True, check=False, env={**os.environ, "TMPDIR": str(broken)}), "TMPDIR")
    for path in (broken, directory / "no.c"):
        path.unlink()
    place.rmdir()


def failures_leave_nothing(directory):
    line = "bully --ids 0..7 --crash 7@0 --start 4"
    for option in ("--trace", "--svg", "--shiviz"):
        one_line(run(line, option, "/dev/full"), "/dev/full", "No space left on device")
        one_line(run(line, option, str(directory / "no" / "file")), "No such file or directory")
        one_line(run(line, option, str(directory)), "Is a directory")
    one_line(run(line, "--trace", "x", "--svg", "x"), "--svg x")
    one_line(run("bully -n 257", "--shiviz", str(directory / "log")), "256")

    # A disk that fills up: no file may grow beyond a few bytes.
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    one_line(run("bully -n 20", "--trace", str(directory / "trace"), preexec_fn=limit), "trace", "File too large")
    assert not list(directory.iterdir()), list(directory.iterdir())

    # Killed in the middle: the older file is still there, and no other under that name.
    final = directory / "trace"
    final.write_text("before")
    endless = "chang-roberts -n 200000 --ids random --start all --seed 5"
    with subprocess.Popen([CONCLAVE, "sim", *endless.split(), "--trace", str(final)],
                          stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 30
        while not any(path != final and path.stat().st_size for path in directory.iterdir()):
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.01)
        process.kill()
    assert final.read_text() == "before"
    for path in directory.iterdir():
        path.unlink()


def main():
    with tempfile.TemporaryDirectory() as name:
        all_formats(pathlib.Path(name))
        diagrams_fit()
        labels_stay_whole()
        networks_are_drawn(pathlib.Path(name))
        states_are_told(pathlib.Path(name))
        runs_of_a_scenario_are_numbered(pathlib.Path(name))
        labels_are_everywhere()
        one_node_is_one()
        c_files_are_compiled(pathlib.Path(name))
        failures_leave_nothing(pathlib.Path(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
