#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""conclave compare: the numbers against the texts' formulas worked out here, the shapes of its outputs, bad input."""

import csv
import io
import json
import math
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

CONCLAVE = os.environ.get("CONCLAVE", "build/conclave")
SVG = "{http://www.w3.org/2000/svg}"
SQUARES = [4, 9, 16, 25, 49]

# (algorithm, load, quantity): what an entry, or an election, costs among n. Voting sets are rows and columns of a
# square, K = 2√n - 1; three entries each; the coordinator's own are free; the best node is dead in elections.
MUTEX = {
    ("central", "one", "messages"): lambda n: 3,
    ("central", "all", "messages"): lambda n: 3 * (n - 1) / n,
    ("central-deny", "one", "messages"): lambda n: 3,
    ("central-deny", "all", "messages"): lambda n: 4 * (n - 1) / n,
    ("token-ring", "one", "messages"): lambda n: n - 1,
    ("token-ring", "all", "messages"): lambda n: (3 * n - 1) / (3 * n),
    ("ricart-agrawala", "one", "messages"): lambda n: 2 * (n - 1),
    ("ricart-agrawala", "all", "messages"): lambda n: 2 * (n - 1),
    ("lamport", "one", "messages"): lambda n: 3 * (n - 1),
    ("lamport", "all", "messages"): lambda n: 3 * (n - 1),
    ("maekawa-plain", "one", "messages"): lambda n: 6 * (math.isqrt(n) - 1),
    ("maekawa-plain", "all", "messages"): lambda n: 6 * (math.isqrt(n) - 1),
    ("maekawa", "one", "messages"): lambda n: 6 * (math.isqrt(n) - 1),
    ("voting", "one", "messages"): lambda n: 3 * (n // 2),
    ("token-ring", "one", "delay"): lambda n: n - 1,
    ("token-ring", "here", "delay"): lambda n: 0,
    ("token-ring", "one", "idle"): lambda n: 10 * n,
    **{(name, "one", "delay"): lambda n: 2
       for name in ("central", "central-deny", "ricart-agrawala", "lamport", "maekawa-plain", "maekawa", "voting")},
    **{(name, "all", "synchronization"): lambda n: 2 for name in ("central", "central-deny", "maekawa-plain", "maekawa")},
    **{(name, "all", "synchronization"): lambda n: 1 for name in ("token-ring", "ricart-agrawala", "lamport")},
}
ELECTION = {
    ("bully", "one", "messages"): lambda n: n * n - n - 1,
    ("bully", "all", "messages"): lambda n: n * n - n - 1,
    ("bully", "one", "time"): lambda n: 4,
    ("bully", "all", "time"): lambda n: 3,
    ("ring-list", "one", "messages"): lambda n: 2 * (n - 1),
    ("ring-list", "all", "messages"): lambda n: 2 * (n - 1) ** 2,
    ("ring-list", "one", "time"): lambda n: 2 * (n - 1),
    ("ring-basic", "all", "messages"): lambda n: (n - 1) * (5 * (n - 1) - 1) / 2,
    ("ring-basic", "all", "time"): lambda n: 3 * (n - 1) - 1,
    ("chang-roberts", "all", "time"): lambda n: 2 * (n - 1),
    ("chang-roberts-token", "one", "messages"): lambda n: 2 * (n - 1),
    ("multicast", "one", "messages"): lambda n: (n - 1) * (2 * n - 3) + n - 1,
    ("multicast", "all", "messages"): lambda n: (n - 1) * (2 * n - 3) + n - 1,
    ("multicast-lean", "one", "messages"): lambda n: n * (n - 1) + (n - 1) * (n - 2) / 2,
    ("multicast-lean", "all", "messages"): lambda n: n * (n - 1) + (n - 1) * (n - 2) / 2,
    ("wireless", "one", "messages"): lambda n: 4 * min(2 * n, n * (n - 1) // 2) - (n - 1),
}

# The formulas for every graph, and for the gadget of n = 2K + 1 nodes.
SYNCHRONIZERS = {
    ("lockstep", "round", "control"): lambda n: 0,
    ("lockstep", "round", "time"): lambda n: 1,
    ("abd", "round", "control"): lambda n: 0,
    ("alpha", "round", "time"): lambda n: 3,
    ("beta", "round", "control"): lambda n: 2 * (n - 1),
    ("gamma, k = 1", "round", "control"): lambda n: 4 * (n - 1),
}
GADGET = {
    ("without rounds", "messages"): lambda k: 3 * (2 ** k - 1),
    ("without rounds", "updates"): lambda k: 2 ** k,
    ("the same, equal delays", "messages"): lambda k: 3 * k * (k + 1) / 2,
    ("the same, equal delays", "updates"): lambda k: k + 1,
    ("synchronous", "messages"): lambda k: 3 * k * 2 * k,
    ("synchronous", "updates"): lambda k: k + 1,
    ("on alpha", "messages"): lambda k: (2 * 3 * k + 2 * 3 * k) * 2 * k,
    ("on alpha", "updates"): lambda k: k + 1,
    ("on beta", "messages"): lambda k: (2 * 3 * k + 2 * 2 * k) * 2 * k,
    ("on beta", "updates"): lambda k: k + 1,
}

# Formulas that stand in the texts (CS677's and Tanenbaum's tables, Ghosh's synchronizers);
# every other one is ours, and where a text has another number the row says which.
OF_THE_TEXTS = {
    ("central", "one", "messages"), ("central-deny", "one", "messages"), ("central", "one", "delay"),
    ("central-deny", "one", "delay"), ("token-ring", "one", "delay"), ("token-ring", "here", "delay"), ("ricart-agrawala", "one", "messages"),
    ("ricart-agrawala", "all", "messages"), ("abd", "round", "time"), ("alpha", "round", "time"),
    ("beta", "round", "control"),
}
OTHERWISE_IN_THE_TEXTS = {
    ("ricart-agrawala", "one", "delay"): "2(n − 1)",
    ("voting", "one", "delay"): "2m",
    ("voting", "one", "messages"): "3mk",
    ("token-ring", "one", "messages"): "1 to ∞",
    ("token-ring", "all", "messages"): "1 to ∞",
    ("token-ring", "one", "idle"): "1 to ∞",
    ("token-ring", "here", "delay"): "0 to n − 1",
    ("token-ring", "one", "delay"): "0 to n − 1",
    ("beta", "round", "time"): "the depth of the tree",
}

BAD = [
    [],
    ["locks"],
    ["mutex", "election"],
    ["mutex", "--nodes"],
    ["mutex", "--nodes", ""],
    ["mutex", "--nodes", "2"],
    ["mutex", "--nodes", "1001"],
    ["mutex", "--nodes", "9,4"],
    ["mutex", "--nodes", "4,4"],
    ["mutex", "--nodes", "4,x"],
    ["mutex", "--nodes", "3..100"],
    ["mutex", "--nodes", "4", "--nodes", "5"],
    ["mutex", "--node", "4"],
    ["mutex", "--seed", "-1"],
    ["mutex", "--json", "--csv"],
    ["mutex", "--json=1"],
    ["mutex", "--plot", "picture.gif"],
    ["mutex", "--plot", ".svg"],
    ["mutex", "--nodes", "4", "--plot", "nowhere/at/all.svg"],
    ["synchronizers", "--nodes", "0"],
    ["synchronizer"],
    ["mutex", "--what"],
    ["mutex", "-x"],
]


def run(*arguments, code=0, **more):
    done = subprocess.run([CONCLAVE, "compare", *arguments], capture_output=True, check=False, text=True, timeout=100,
                          **more)
    assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def measured(problem, sizes):
    result = json.loads(run(problem, "--json", "--nodes", ",".join(map(str, sizes))).stdout)
    assert result["schema"] == 1 and result["problem"] == problem and result["verdict"] == "held", result
    rows = {(row["algorithm"], row["load"], row["quantity"], row["nodes"]): row for row in result["rows"]}
    assert len(rows) == len(result["rows"]), "a number was measured twice"
    return result, rows


def check_numbers(problem, formulas, sizes):
    _, rows = measured(problem, sizes)
    for (algorithm, load, quantity), formula in formulas.items():
        for nodes in sizes:
            row = rows[algorithm, load, quantity, nodes]
            assert math.isclose(row["measured"], formula(nodes), rel_tol=1e-9), row
            assert math.isclose(row["expected"], formula(nodes), rel_tol=1e-9), row
            assert row["relation"] == "=" and row["holds"] is True, row


def check_sources():
    """A formula is called the text's only if a text has it."""
    for problem, sizes in (("mutex", [4, 9]), ("election", [5]), ("synchronizers", [9])):
        _, rows = measured(problem, sizes)
        for (algorithm, load, quantity, _), row in rows.items():
            key = algorithm, load, quantity
            if row["formula"] is None:
                assert row["source"] is None and row["where"] is None, row
                continue
            wanted = "text" if key in OF_THE_TEXTS else "derived"
            if problem == "election" and quantity == "time" and row["relation"] == "<=":
                wanted = row["source"]
            assert row["source"] == wanted and row["where"], row
            assert OTHERWISE_IN_THE_TEXTS.get(key, "") in (row["remark"] or ""), row


def check_complete(problem, quantities):
    """Every algorithm at every size, under both loads."""
    listed = json.loads(subprocess.run([CONCLAVE, "list", "--json"], capture_output=True, check=True).stdout)
    names = {it["name"] for it in listed["algorithms"] if it["problem"] == problem}
    _, rows = measured(problem, [4, 7])
    assert {key[0] for key in rows} == names, names
    for name in names:
        for load, quantity in quantities:
            for nodes in (4, 7):
                assert rows[name, load, quantity, nodes]["measured"] > 0, (name, load, quantity)


def check_maekawa():
    _, rows = measured("mutex", [7, 10, 13, 16])
    for nodes in (7, 10, 13, 16):
        row, plain = rows["maekawa", "all", "messages", nodes], rows["maekawa-plain", "all", "messages", nodes]
        assert row["relation"] == "<=" and plain["measured"] <= row["measured"] <= row["expected"], row


def check_commands():
    """Each printed command repeats its number."""
    result, rows = measured("mutex", [5])
    for row in [rows["lamport", "all", "messages", 5], rows["token-ring", "one", "messages", 5]]:
        again = json.loads(sim(row["command"])[1])
        assert math.isclose(again["messages"]["total"] / len(again["entries"]), row["measured"], rel_tol=1e-9), row
    verdicts = {"held": 0, "violated": 1, "unfinished": 2}
    assert {it["problem"] for it in result["problems"]} >= {
        "Coordinator crash", "Crash of any process", "Lost token", "Deadlock", "Starvation"}
    for it in result["problems"]:
        assert it["verdict"] == it["expected"], it
        assert sim(it["command"])[0] == verdicts[it["verdict"]], it


def check_gadget():
    _, rows = measured("synchronizers", [7])
    for (name, quantity), formula in GADGET.items():
        for k in (2, 4, 6, 8, 10, 12):
            row = rows[name, "gadget", quantity, 2 * k + 1]
            assert row["measured"] == row["expected"] == formula(k) and row["holds"] is True, row


def check_rounds():
    """Edges, clusters and preferred edges are read off the messages of the run that the command repeats."""
    sizes = [5, 30, 90]
    _, rows = measured("synchronizers", sizes)
    for nodes in sizes:
        alpha, beta = rows["alpha", "round", "control", nodes], rows["beta", "round", "time", nodes]
        kinds = json.loads(sim(alpha["command"])[1])["messages"]["by_kind"]
        assert alpha["measured"] == kinds["message"] / 20 == kinds["safe"] / 20, alpha
        height = (beta["measured"] - 2) / (2 + 1 / 20)
        assert math.isclose(height, round(height), abs_tol=1e-9) and 1 <= height < nodes, beta
        assert rows["abd", "round", "time", nodes]["measured"] <= 2
        for k in (1, 2, 3, 4, 8, nodes):
            name = f"gamma, k = {'n' if k == nodes else k}"
            control, time = rows[name, "round", "control", nodes], rows[name, "round", "time", nodes]
            kinds = json.loads(sim(control["command"])[1])["messages"]["by_kind"]
            inner, between = kinds["pulse"] / 20, (kinds["cluster-safe"] - kinds["pulse"]) / 40
            assert kinds["safe"] == kinds["ready"] == kinds["pulse"] and kinds["message"] == kinds["ack"], kinds
            assert control["measured"] == 4 * inner + 2 * between and between <= (k - 1) * nodes, control
            tallest = math.log(nodes, k) if k > 1 else nodes - 1
            assert 3 <= time["measured"] <= time["expected"] <= 4 * math.floor(tallest + 1e-9) + 3, time


def sim(command):
    words = shlex.split(command)
    assert words[:2] == ["conclave", "sim"], command
    done = subprocess.run([CONCLAVE, *words[1:], "--json"], capture_output=True, check=False, text=True)
    return done.returncode, done.stdout


def check_csv():
    for problem in ("mutex", "election", "synchronizers"):
        result, _ = measured(problem, [4, 9])
        lines = list(csv.DictReader(io.StringIO(run(problem, "--csv", "--nodes", "4,9").stdout)))
        assert len(lines) == len(result["rows"])
        for line, row in zip(lines, result["rows"]):
            assert line["problem"] == problem and None not in line, line
            assert line["algorithm"] == row["algorithm"] and line["command"] == row["command"], line
            assert math.isclose(float(line["measured"]), row["measured"], rel_tol=1e-6), line
            assert line["formula"] == (row["formula"] or ""), line


def check_text():
    for problem in ("mutex", "election", "synchronizers"):
        for nodes in ("4,9,16,25,49", "3..14", "4,9,16,25,36,49,64,81,100"):
            text = run(problem, "--nodes", nodes).stdout
            assert text == run(problem, "--nodes", nodes).stdout, "the same seed printed something else"
            assert "✗" not in text.replace("✗ neither", "") and "\033" not in text
            for line in text.splitlines():
                assert len(line) <= 100 and line == line.rstrip(), line
    assert run("election", "--seed", "2").stdout != run("election").stdout


def check_plots(folder):
    for problem, lines in (("mutex", 8), ("election", 10)):
        for nodes in ("4,9,16,25,49", "7", "3..14"):
            path = folder / f"{problem}.svg"
            run(problem, "--nodes", nodes, "--plot", str(path))
            picture = xml.parse(path).getroot()
            paths = [it.get("class") for it in picture.iter(f"{SVG}path")]
            assert picture.tag == f"{SVG}svg" and picture.find(f"{SVG}title").text
            assert paths.count("measured") == 2 * lines + 1 and paths.count("formula") == 2 * lines + 1, paths
            width = float(picture.get("width"))
            for it in picture.iter(f"{SVG}text"):
                assert 0 <= float(it.get("x")) < width, it.attrib
    check_tradeoff(folder)
    if shutil.which("rsvg-convert"):
        run("mutex", "--nodes", "4,9", "--plot", str(folder / "mutex.png"))
        assert (folder / "mutex.png").read_bytes().startswith(b"\x89PNG")
    refused = run("mutex", "--plot", str(folder / "other.png"), code=2, env={**os.environ, "PATH": str(folder)})
    assert "rsvg-convert" in refused.stderr and not (folder / "other.png").exists(), refused.stderr
    assert not list(folder.glob("*~*")) and len(list(folder.iterdir())) <= 4, list(folder.iterdir())


def check_tradeoff(folder):
    """Points of (time, messages) on the left, without those that need no message; lines on the right."""
    for nodes in ("16,32,64,128,256", "7", "3..14"):
        run("synchronizers", "--nodes", nodes, "--plot", str(folder / "synchronizers.svg"))
        picture = xml.parse(folder / "synchronizers.svg").getroot()
        paths = [it.get("class") for it in picture.iter(f"{SVG}path")]
        assert paths.count("measured") == 8 + 5 + 1 and paths.count("point") == 2 * 8 + 5 * (6 + 1) + 1, paths
        names = [it.text for it in picture.iter(f"{SVG}text") if it.get("class") == "name"]
        assert {"alpha", "beta", "gamma, k = 4", "without rounds", "on alpha"} <= set(names), names
        for it in picture.iter(f"{SVG}text"):
            assert 0 <= float(it.get("x")) < float(picture.get("width")), it.attrib


def build(folder, example, *changes):
    """An example of the repository as a shared object, with some of its text changed."""
    source = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).resolve().parent.parent))
    text = (source / "examples" / f"{example}.c").read_text(encoding="utf-8")
    for before, after in changes:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    target = folder / f"{example}{len(list(folder.iterdir()))}.so"
    subprocess.run(["cc", "-w", "-shared", "-fPIC", "-I", str(source / "include"), "-x", "c", "-o", str(target), "-"], input=text,
                   text=True, check=True)
    return str(target)


def check_own(folder):
    """Algorithms of one's own in the tables: n messages an entry, the first of them without; n(n - 1) for a roll call."""
    folder = folder / "with a blank"
    folder.mkdir()
    token, roll = build(folder, "suzuki_kasami"), build(folder, "roll_call")
    rows = json.loads(run("mutex", "--nodes", "4,9", "--with", token, "--json").stdout)["rows"]
    rows = {(row["load"], row["quantity"], row["nodes"]): row for row in rows if row["algorithm"] == "suzuki-kasami"}
    for nodes in (4, 9):
        alone, contended = rows["one", "messages", nodes], rows["all", "messages", nodes]
        assert alone["measured"] == alone["expected"] == nodes and alone["formula"] == "n·e", alone
        assert math.isclose(contended["measured"], nodes * (3 * nodes - 1) / (3 * nodes), rel_tol=1e-9), contended
        assert contended["expected"] == nodes and contended["formula"] == "(n·e)/e" and contended["relation"] == "<=", contended
        assert alone["holds"] and contended["holds"] and alone["source"] == contended["source"] == "paper", alone
        assert rows["one", "delay", nodes]["measured"] == 2 and rows["all", "synchronization", nodes]["measured"] == 1, rows
        for row in (alone, contended):
            again = json.loads(sim(row["command"])[1])
            assert math.isclose(again["messages"]["total"] / len(again["entries"]), row["measured"], rel_tol=1e-9), row
    rows = json.loads(run("election", "--nodes", "5", "--with", roll, "--json").stdout)["rows"]
    rows = {(row["load"], row["quantity"]): row for row in rows if row["algorithm"] == "roll-call"}
    assert rows["one", "messages"]["measured"] == rows["all", "messages"]["expected"] == 4 * 4, rows
    assert rows["one", "time"]["measured"] == 2 and rows["all", "time"]["measured"] == 1, rows
    lines = list(csv.DictReader(io.StringIO(run("mutex", "--csv", "--nodes", "4", "--with", token).stdout)))
    assert len([line for line in lines if line["algorithm"] == "suzuki-kasami"]) == 4, lines
    run("mutex", "--nodes", "4,9", "--with", token, "--plot", str(folder / "own.svg"))
    names = [it.text for it in xml.parse(folder / "own.svg").getroot().iter(f"{SVG}text") if it.get("class") == "name"]
    assert names.count("suzuki-kasami") == 2, names
    assert all(len(line) <= 100 for line in run("mutex", "--with", token).stdout.splitlines())
    cheap = build(folder, "suzuki_kasami", ('CV_MESSAGES_AT_MOST("n·e")', 'CV_MESSAGES_ARE("n·e")'))
    assert "✗ suzuki-kasami, n = 4: measured 3.666666667, paper: (n·e)/e = 4" in run("mutex", "--nodes", "4", "--with", cheap, code=1).stdout
    unsafe = build(folder, "suzuki_kasami", ("my->entries = my->holds = my->waiting = 0", "my->entries = my->waiting = 0"))
    twin = build(folder, "suzuki_kasami", ('.name = "suzuki-kasami"', '.name = "central"'))
    for words, told in ((["mutex", "--with", unsafe], "keeps its promises; exclusion"), (["mutex", "--with", roll], "a mutual exclusion"),
                        (["election", "--with", token], "an election"), (["synchronizers", "--with", token], "mutex or election"),
                        (["mutex", "--with", token, "--with", token], "too"), (["mutex", "--with", twin], "built in"),
                        (["mutex", "--with", "mine.so"], "a slash"), (["mutex", "--with", "./nothing.so"], "./nothing.so")):
        refused = run(*words, code=2)
        assert refused.stdout == "" and refused.stderr.count("\n") == 1 and told in refused.stderr, refused


def check_bad_input(folder):
    for arguments in BAD:
        refused = run(*arguments, code=2, cwd=folder)
        assert refused.stdout == "" and refused.stderr.count("\n") == 1, (arguments, refused)
        assert refused.stderr.startswith("conclave: "), refused.stderr
    assert "--plot" in run("--help").stdout


def main():
    global CONCLAVE
    CONCLAVE = str(pathlib.Path(CONCLAVE).resolve())
    os.environ.pop("COLUMNS", None)
    check_numbers("mutex", MUTEX, SQUARES)
    check_numbers("election", ELECTION, [4, 5, 8, 13, 30])
    check_numbers("synchronizers", SYNCHRONIZERS, [5, 12, 40])
    check_gadget()
    check_rounds()
    check_complete("mutex", [("one", "messages"), ("all", "messages"), ("one", "delay"), ("all", "synchronization")])
    check_complete("election", [("one", "messages"), ("all", "messages"), ("one", "time"), ("all", "time")])
    check_maekawa()
    check_commands()
    check_csv()
    check_text()
    check_sources()
    with tempfile.TemporaryDirectory() as name:
        check_plots(pathlib.Path(name))
    with tempfile.TemporaryDirectory() as name:
        check_bad_input(pathlib.Path(name))
    with tempfile.TemporaryDirectory() as name:
        check_own(pathlib.Path(name))
    print("compare: numbers, outputs, plots and refusals are as they should be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
