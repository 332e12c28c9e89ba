#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`conclave lock-all`, `conclave sequence` and `conclave watch`, with a group of real processes."""

import json
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "live"), str(HERE.parent / "support")]
from harness import CONCLAVE, PATIENCE, Cluster, main  # pylint: disable=wrong-import-position
from recipes import CALM  # pylint: disable=wrong-import-position


def begin(cluster, node, *words):
    command, options, rest = words[0], ["--server", cluster.address(node)], list(words[1:])
    end = rest.index("--") if "--" in rest else len(rest)
    return subprocess.Popen([CONCLAVE, command, *rest[:end], *options, *rest[end:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(*words):
    """Exit code, output, errors."""
    process = begin(*words)
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


def all_of_them():
    """All or none, in whichever order they are named; every fence is in the environment, and one that is lost ends the command."""
    with Cluster(3, *CALM) as cluster:
        show = ("sh", "-c", 'echo "$CONCLAVE_LOCK"; echo $CONCLAVE_FENCE; echo $CONCLAVE_FENCE_1 $CONCLAVE_FENCE_2 $CONCLAVE_FENCE_3; exit 7')
        code, out, err = run(cluster, 1, "lock-all", "c", "a b", "--ttl", "0", "b", "--", *show)
        lines = out.splitlines()
        assert code == 7 and not err and lines[:3] == ["c", "a b", "b"] and lines[3] == lines[4] and len(lines[3].split()) == 3, (out, err)
        running = [begin(cluster, 1 + turn % 3, "lock-all", *names, "--", "sleep", "0.05")
                   for turn, names in enumerate([("x", "y"), ("y", "x"), ("y", "z", "x"), ("z", "y"), ("x", "z"), ("x", "y", "z")])]
        for process in running:
            _, err = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0 and not err, err
        client = cluster.client(2)
        fence = client.ask("LOCK", "b")
        for words, code, told in ((("--wait", "0", "--", "true"), 124, "lock a and others: waited too long"),
                                  (("--wait", "200ms", "--", "true"), 124, "waited too long"), ((), 125, "expected -- and a COMMAND"),
                                  (("a", "--", "true"), 125, "each name once"), (("--shared", "--", "true"), 125, "--shared: no such option")):
            found, out, err = run(cluster, 1, "lock-all", "a", "b", *words)
            assert found == code and told in err and err.count("\n") == 1 and not out, (words, found, err)
        for words, told in (((), "0 names"), (("--", "true"), "0 names"), ([str(n) for n in range(25)] + ["--", "true"], "25 names"),
                            (("TTL", "5", "--", "true"), "the first name is TTL"), (("", "--", "true"), "a name has")):
            code, out, err = run(cluster, 1, "lock-all", *words)
            assert code == 125 and told in err and err.count("\n") == 1 and not out, (words, code, err)
        assert client.ask("LOCK", "a", "WAIT", 0), "nothing is kept of what could not be had as a whole"
        assert client.ask("UNLOCK", "b", fence) == 1
        held = begin(cluster, 3, "lock-all", "p", "q", "--", "sh", "-c", "echo $CONCLAVE_FENCE; exec sleep 60")
        fences = held.stdout.readline().split()
        assert client.ask("LOCK", "p", "WAIT", 0) is None and client.ask("LOCK", "q", "WAIT", 0) is None
        assert client.ask("FORCE", "q", fences[1], "because") == "OK"
        _, err = held.communicate(timeout=PATIENCE)
        assert held.returncode == 122 and "because" in err, (held.returncode, err)
        assert client.ask("LOCK", "p", "WAIT", 20000) > int(fences[0]) and client.ask("LOCK", "q", "WAIT", 20000) > int(fences[1])
        client.close()
    cluster.check()
    cluster.judge(allow=["every-request"])
    cluster.remove()


def numbers():
    with Cluster(3, *CALM) as cluster:
        seen = []
        for node, words in ((1, ("ids",)), (2, ("ids", "3")), (3, ("ids", "2")), (1, ("ids", "4096"))):
            code, out, err = run(cluster, node, "sequence", *words)
            count = int(words[1]) if len(words) > 1 else 1
            found = [int(line) for line in out.splitlines()]
            assert code == 0 and not err and found == list(range(found[0], found[0] + count)), (out, err)
            assert not seen or found[0] > seen[-1], "they rise"
            seen += found
        code, out, err = run(cluster, 2, "sequence", "ids", "5", "--json")
        told = json.loads(out)
        assert code == 0 and told["first"] > seen[-1] and told == {"name": "ids", "first": told["first"], "count": 5}, out
        for words, said in (((), "expected a NAME"), (("ids", "0"), "ids 0: expected"), (("ids", "4097"), "1..4096"), (("ids", "x"), "ids x"),
                            (("ids", "1", "2"), "nothing else"), (("",), "a name has")):
            code, out, err = run(cluster, 1, "sequence", *words)
            assert code == 125 and said in err and err.count("\n") == 1 and not out, (words, code, err)
        client = cluster.client(1)
        fence = client.ask("LOCK", "ids")
        code, out, err = run(cluster, 2, "sequence", "ids", "--wait", "0")
        assert code == 124 and "waited too long" in err and err.count("\n") == 1 and not out, (code, out, err)
        process = begin(cluster, 2, "sequence", "ids")
        time.sleep(2.5)  # longer than a server may take to answer what does not wait
        assert process.poll() is None and client.ask("UNLOCK", "ids", fence) == 1
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0 and int(out) > fence, (out, err)
        client.close()
        for name in ("a b", "x" * 10000):
            code, out, err = run(cluster, 1, "lock", "x", "--client", name, "--", "true")
            assert code == 125 and "--client" in err and "expected" in err and len(err) < 300 and not out, (code, err)
    cluster.check()
    cluster.remove()
    code = subprocess.run([CONCLAVE, "sequence", "ids", "--server", f"{cluster.directory}/none"], capture_output=True, check=False).returncode
    assert code == 123, code


def watched():
    """A line for each change, whoever holds it at whichever server."""
    with Cluster(3, *CALM) as cluster:
        words, lines = begin(cluster, 1, "watch", "a"), begin(cluster, 2, "watch", "a", "--json")
        assert words.stdout.readline() == "nobody holds it\n"
        assert json.loads(lines.stdout.readline()) == {"name": "a", "holder": None, "fence": 0}
        for node in (3, 1):
            client = cluster.client(node)
            fence = client.ask("LOCK", "a")
            line = words.stdout.readline()
            assert line.startswith(f"{node}/") and line.endswith(f" holds it (fence {fence})\n"), line
            told = json.loads(lines.stdout.readline())
            assert told == {"name": "a", "holder": line.split()[0], "fence": fence}, told
            client.close()
            assert words.stdout.readline() == "nobody holds it\n"
            assert json.loads(lines.stdout.readline())["holder"] is None
        for process in (words, lines):
            process.terminate()
            process.communicate(timeout=PATIENCE)
        for bad in ((), ("a", "b"), ("--json",), ("",)):
            code, out, err = run(cluster, 1, "watch", *bad)
            assert code == 125 and err.count("\n") == 1 and not out, (bad, code, err)
    cluster.check()
    cluster.remove()


if __name__ == "__main__":
    sys.exit(main([all_of_them, numbers, watched]))
