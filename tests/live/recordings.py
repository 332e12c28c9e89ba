# SPDX-License-Identifier: MIT
"""`conclave judge` and incomplete recordings: of nodes that still run, were killed, or have no file."""

import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from harness import CONCLAVE, Cluster, main


def judge(files, *options):
    """(exit code, JSON report, text)."""
    words = [CONCLAVE, "judge", *options, *(str(file) for file in files)]
    text = subprocess.run(words, capture_output=True, text=True, check=False)
    result = subprocess.run([*words, "--json"], capture_output=True, text=True, check=False)
    assert result.stdout, result.stderr
    report = json.loads(result.stdout)
    bad = [(name["name"], p) for name in report["names"] for p in name["properties"] if p["verdict"] == "violated"]
    return result.returncode, report, text.stdout, bad


def files_of(cluster):
    return sorted((cluster.directory / "record").glob("*.jsonl"))


def lock_around(cluster, turns=5):
    for turn in range(turns):
        for node in cluster.pids:
            client = cluster.client(node)
            client.ask("UNLOCK", "x", client.ask("LOCK", "x"))
            if turn == turns - 1:
                client.ask("LOCK", f"held-by-{node}")
            client.close()
    last = cluster.client(max(cluster.pids))  # the coordinator: when it has been let in, no release is under way
    for node in cluster.pids:
        last.ask("UNLOCK", f"held-by-{node}", last.ask("LOCK", f"held-by-{node}"))
    last.close()


def nodes_still_run():
    """A healthy group with locks held and requests under way: nothing is violated, and the report does not say that it ended."""
    with Cluster(3) as cluster:
        cluster.await_view([1, 2, 3])
        lock_around(cluster)
        holder = cluster.client(1)
        holder.ask("LOCK", "y")
        waiter = cluster.client(2)
        waiter.say("LOCK", "y")
        for _ in range(5):
            code, report, text, bad = judge(files_of(cluster))
            assert not bad and code == 2 and report["verdict"] == "unfinished", (code, report["verdict"], bad)
            assert report["without_end"] == [1, 2, 3] and report["missing"] == [], report
            assert text.count("its end was not recorded") == 3, text
            time.sleep(0.1)
        holder.close()
        assert waiter.hear(), "it is served"
        waiter.close()
        last = cluster.client(3)  # the coordinator: when it is let in, nothing is under way any more
        assert last.ask("UNLOCK", "y", last.ask("LOCK", "y")) == 1
        last.close()
    code, report, text, bad = judge(files_of(cluster))
    assert code == 0 and report["verdict"] == "held" and report["without_end"] == [], (code, text)
    cluster.remove()


def killed_in_the_middle():
    """The others went on without a node, so it is known to be dead, and the rest is judged as usual."""
    with Cluster(3) as cluster:
        cluster.await_view([1, 2, 3])
        lock_around(cluster)
        cluster.kill(3)
        cluster.await_view([1, 2])
        lock_around(cluster)
    code, report, text, bad = judge(files_of(cluster))
    assert code == 0 and report["verdict"] == "held" and report["without_end"] == [], (code, text, bad)
    cluster.remove()


def holder_hangs():
    """What it held ended with its lease, though it notices that only when it goes on."""
    with Cluster(3) as cluster:
        cluster.await_view([1, 2, 3])
        for victim in (1, 3):
            hanging, waiting = cluster.client(victim), cluster.client(2)
            fence = hanging.ask("LOCK", "x")
            waiting.say("LOCK", "x")
            cluster.kill(victim, signal.SIGSTOP)
            new = waiting.hear()
            assert new > fence
            time.sleep(0.1)
            cluster.kill(victim, signal.SIGCONT)
            assert hanging.push() == ["lost", "x", fence]
            waiting.ask("UNLOCK", "x", new)
            cluster.await_view([1, 2, 3], coordinator=3)
            hanging.close()
            waiting.close()
        lock_around(cluster)
    code, report, text, bad = judge(files_of(cluster))
    assert code == 0 and not bad, (code, text, bad)
    cluster.remove()


def all_killed():
    """All nodes were killed, so none has noticed it."""
    with Cluster(3) as cluster:
        cluster.await_view([1, 2, 3])
        lock_around(cluster)
        for node in (2, 1, 3):
            cluster.kill(node, signal.SIGKILL)
        time.sleep(0.5)
        code, report, text, bad = judge(files_of(cluster))
        assert not bad and code == 2 and report["verdict"] == "unfinished", (code, text)
        assert len(report["without_end"]) >= 2, report  # one may have begun a view without another
    cluster.remove()


def file_is_missing():
    with Cluster(3) as cluster:
        cluster.await_view([1, 2, 3])
        lock_around(cluster)
    files = files_of(cluster)
    for gone in range(3):
        code, report, text, bad = judge(files[:gone] + files[gone + 1:])
        assert not bad and code == 2 and report["verdict"] == "unfinished", (gone, code, text)
        assert report["missing"] == [gone + 1] and f"node {gone + 1} " in text and "missing" in text, (gone, text)
    result = subprocess.run([CONCLAVE, "judge", str(files[0]), str(files[1]), str(files[0])], capture_output=True,
                            text=True, check=False)
    assert result.returncode == 2 and "another of node 1" in result.stderr, result
    cluster.remove()


# ---- invented recordings ----


class Recording:
    """Three nodes, `central` with coordinator 1; times in milliseconds."""

    def __init__(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="conclave-test-"))
        self.lines = {node: [] for node in (1, 2, 3)}
        self.messages = 0
        for node in self.lines:
            self.line(node, 0, type="live", schema=1, node=node, started=1, nodes=[1, 2, 3], attributes=[1, 2, 3])
            self.line(node, 1, event="view", node=node, view=1, base=1, coordinator=1, members=[1, 2, 3])

    def line(self, of, ms, **facts):
        self.lines[of].append({"time": int(ms * 1000) + 1, **facts})

    def event(self, node, ms, event, **facts):
        self.line(node, ms, event=event, node=node, lamport=int(ms) + 1, subject="lock", name="x", algorithm="central",
                  round=1, **facts)

    def message(self, sender, receiver, kind, sent, received=None, body=()):
        self.messages += 1
        facts = {"message": self.messages, "kind": kind, "body": list(body)}
        self.event(sender, sent, "send", to=receiver, **facts)
        if received is not None:
            self.event(receiver, received, "receive", **facts, **{"from": sender})

    def enter(self, node, ms, fence):
        """Asks at `ms`, is inside at ms + 2, has left at ms + 3."""
        self.event(node, ms, "request")
        self.message(node, 1, "request", ms, ms + 1)
        self.message(1, node, "grant", ms + 1, ms + 2, body=[fence, 0])
        self.event(node, ms + 2, "enter", fence=fence)
        self.event(node, ms + 3, "leave")
        self.message(node, 1, "release", ms + 3, ms + 4)

    def judge(self, nodes=(1, 2, 3), ends=(1, 2, 3)):
        files = []
        end = 1 + max(line["time"] for lines in self.lines.values() for line in lines)
        for node in nodes:
            files.append(self.directory / f"{node}.jsonl")
            lines = sorted(self.lines[node], key=lambda line: line["time"])
            if node in ends:
                lines = lines + [{"type": "end", "time": end}]
            files[-1].write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        try:
            return judge(files)
        finally:
            shutil.rmtree(self.directory)


def verdict_on(report, name):
    return next(p["verdict"] for each in report["names"] if each["of"] == "nodes" for p in each["properties"]
                if p["name"] == name)


def request_held_back():
    """A cut link delays a request: a node that enters meanwhile does not overtake it."""
    for arrives in (None, 900):
        recording = Recording()
        recording.event(2, 10, "request")
        recording.message(2, 1, "request", 10, arrives)
        for turn in range(40):
            recording.enter(3, 20 + 20 * turn, turn + 1)
        if arrives:
            recording.message(1, 2, "grant", arrives, arrives + 1, body=[100, 0])
            recording.event(2, arrives + 1, "enter", fence=100)
            recording.event(2, arrives + 2, "leave")
        _, report, text, _ = recording.judge()
        assert verdict_on(report, "bounded-waiting") != "violated", text


def request_not_sent():
    """A request that could not be sent has the number 0 in the recording: no node overtakes it."""
    recording = Recording()
    recording.event(2, 10, "request")
    recording.event(2, 10, "send", to=1, message=0, kind="request", body=[])
    for turn in range(4):
        recording.enter(3, 20 + 20 * turn, turn + 1)
    _, report, text, bad = recording.judge()
    assert not bad and verdict_on(report, "bounded-waiting") != "violated", text


def request_overtaken():
    """A request that arrived and was overtaken."""
    recording = Recording()
    recording.event(2, 10, "request")
    recording.message(2, 1, "request", 10, 11)
    for turn in range(4):
        recording.enter(3, 20 + 20 * turn, turn + 1)
    recording.message(1, 2, "grant", 900, 901, body=[100, 0])
    recording.event(2, 901, "enter", fence=100)
    recording.event(2, 902, "leave")
    code, report, text, _ = recording.judge()
    assert code == 1 and verdict_on(report, "bounded-waiting") == "violated", text


def two_inside_for_sure():
    """Two holders at once are a violation, whatever is missing and whatever comes later."""
    for nodes, ends in (((1, 2, 3), (1, 2, 3)), ((2, 3), (2, 3)), ((1, 2, 3), ())):
        recording = Recording()
        for node in (2, 3):
            recording.event(node, 10 + node, "request")
            recording.event(node, 20 + node, "enter", fence=node)
            recording.event(node, 40 + node, "leave")
        code, report, text, _ = recording.judge(nodes, ends)
        assert code == 1 and verdict_on(report, "exclusion") == "violated", (nodes, ends, text)


if __name__ == "__main__":
    sys.exit(main([nodes_still_run, killed_in_the_middle, holder_hangs, all_killed, file_is_missing, request_held_back,
                   request_not_sent, request_overtaken, two_inside_for_sure]))
