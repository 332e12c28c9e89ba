#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`conclave explore` without a browser: what it writes and serves, and to whom. tests/browser.py has the page itself.

Exit code 77, which Meson calls skipped, if the program was built without the page."""
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).resolve().parent.parent))
CONCLAVE = os.environ.get("CONCLAVE", str(SOURCE / "build" / "conclave"))
PATIENCE_S = 60
LARGEST_PAGE = 1_500_000
SKIPPED = 77


class Served:
    """`conclave explore` while it serves."""

    def __init__(self, *words):
        self.process = subprocess.Popen([CONCLAVE, "explore", "--no-open", *words], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.port = int(re.search(r"http://127\.0\.0\.1:(\d+)/", line).group(1))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(PATIENCE_S) == 0

    def ask(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        connection.request(method, path, body=body, headers=headers or {})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def say(self, data):
        """Raw bytes, and what comes back until the end."""
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE_S) as connection:
            connection.sendall(data)
            told = b""
            while part := connection.recv(65536):
                told += part
        return told


def start_of(page):
    """What the page begins with."""
    return json.loads(re.search(r'<script id="begin" type="application/json">(.*?)</script>', page, re.S).group(1))


def written(directory, *words):
    path = pathlib.Path(directory) / "page.html"
    subprocess.run([CONCLAVE, "explore", *words, "--write", path], check=True, timeout=PATIENCE_S)
    return path.read_text(encoding="utf-8")


def test_file(directory):
    page = written(directory)
    assert len(page.encode()) <= LARGEST_PAGE, len(page.encode())
    assert start_of(page) == {}
    assert not re.search(r'<(script|link|img|iframe)[^>]*(src|href)="(?!data:)', page), "the page asks for something"
    page = written(directory, "bully", "--labels", "a,b", "-n", "2")
    assert start_of(page)["words"] == ["bully", "--labels", "a,b", "-n", "2"]
    nasty = pathlib.Path(directory) / "nasty"
    text = "conclave replay 2\nword wireless\nword --graph\nword </script><b>\nfile </script><b>\nline 1 2\n"
    nasty.write_text(text, encoding="utf-8")
    start = start_of(written(directory, "--replay", str(nasty)))
    assert start["replay"] == text and start["files"] == {"</script><b>": "1 2\n"}, start
    nasty.write_text("</script><b>", encoding="utf-8")
    refused = subprocess.run([CONCLAVE, "explore", "--replay", nasty, "--write", nasty], capture_output=True, text=True,
                             check=False, timeout=PATIENCE_S)
    assert refused.returncode == 2 and f"--replay {nasty}: line 1" in refused.stderr, refused
    graph = pathlib.Path(directory) / "graph.txt"
    graph.write_text("1 2 7\n2 3\n", encoding="utf-8")
    start = start_of(written(directory, "bellman-ford-async", "--graph", str(graph)))
    assert start["files"] == {str(graph): "1 2 7\n2 3\n"}, start
    replay = pathlib.Path(directory) / "bully.trace"
    checked = subprocess.run([CONCLAVE, "check", "bully", "-n", "3", "--timeouts", "any", "--trace", replay],
                             capture_output=True, check=False, timeout=PATIENCE_S)
    assert checked.returncode == 1
    assert start_of(written(directory, "--replay", str(replay)))["replay"] == replay.read_text(encoding="utf-8")


def test_serving(_directory):
    with Served("bully", "-n", "3") as served:
        status, page = served.ask("GET", "/")
        assert status == 200 and start_of(page)["words"] == ["bully", "-n", "3"]
        assert served.ask("GET", "/?again")[0] == 200
        assert served.ask("GET", "/elsewhere")[0] == 404
        assert served.ask("POST", "/call/a/now", "{}")[0] == 404, "a built-in algorithm runs in the page"
        assert served.ask("GET", "/", headers={"Host": f"elsewhere.example:{served.port}"})[0] == 403
        assert served.ask("GET", "/", headers={"Origin": "http://elsewhere.example"})[0] == 403
        assert served.ask("GET", "/", headers={"Host": f"localhost:{served.port}"})[0] == 200
        assert served.say(b"nonsense\r\n\r\n").startswith(b"HTTP/1.1 400 ")
        assert served.say(b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n").startswith(b"HTTP/1.1 413 ")
        with Served("bully", "-n", "3") as other:
            assert other.port != served.port
        taken = subprocess.run([CONCLAVE, "explore", "--no-open", "--port", str(served.port)], capture_output=True,
                               text=True, check=False, timeout=PATIENCE_S)
        assert taken.returncode == 2 and "--port" in taken.stderr and "in use" in taken.stderr, taken


def test_own_algorithm(directory):
    source = sorted((SOURCE / "examples").glob("*.c"))[0]
    mine = pathlib.Path(directory) / "mine.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-I", SOURCE / "include", "-o", mine, source], check=True)
    refused = subprocess.run([CONCLAVE, "explore", mine, "--write", mine.with_suffix(".html")], capture_output=True,
                             text=True, check=False, timeout=PATIENCE_S)
    assert refused.returncode == 2 and "--write" in refused.stderr, refused
    broken = pathlib.Path(directory) / "broken.c"
    broken.write_text("nonsense", encoding="utf-8")
    refused = subprocess.run([CONCLAVE, "explore", broken], capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert refused.returncode == 2 and "cc does not compile it" in refused.stderr, refused
    with Served(str(source), "-n", "3") as served:
        start = start_of(served.ask("GET", "/")[1])
        assert start == {"words": [str(source), "-n", "3"], "files": {}, "served": "call"}, start
        begun = served.ask("POST", "/call/one/begin", json.dumps({"words": start["words"]}))
        assert begun[0] == 200 and json.loads(begun[1])["ok"], begun
    with Served(str(mine), "-n", "3") as served:
        start = start_of(served.ask("GET", "/")[1])
        assert start["served"] == "call"

        def call(session, name, words):
            status, text = served.ask("POST", f"/call/{session}/{name}", json.dumps(words))
            assert status == 200, text
            return json.loads(text)

        for session in ("one", "two"):
            assert call(session, "begin", {"words": start["words"]})["ok"]
        call("one", "run", {"count": 1})
        assert call("one", "now", {})["step"] == 1
        assert call("two", "now", {})["step"] == 0, "sessions have nothing to do with each other"
        for number in range(12):
            call(f"session{number}", "begin", {"words": start["words"]})
        assert "error" in call("one", "now", {}), "the oldest session gave way"
        assert served.ask("POST", "/call/one", "{}")[0] == 404
        assert served.ask("POST", f"/call/{'x' * 99}/now", "{}")[0] == 404
        assert served.ask("POST", "/call/one/now", "{}", {"Origin": "http://elsewhere.example"})[0] == 403


def test_own_recording(directory):
    """Recordings of an algorithm of one's own are told if it is brought along; a recording itself has no file loaded."""
    source = SOURCE / "examples" / "roll_call.c"
    of_group = {"node": 1, "lamport": 1, "subject": "group", "name": "group", "algorithm": "roll-call", "round": 1}
    lines = ({"schema": 1, "type": "live", "node": 1, "started": 1000, "nodes": [1], "attributes": [1]},
             {"time": 2000, "event": "start", **of_group}, {"time": 2000, "event": "elected", "leader": 1, **of_group}, {"type": "end", "time": 3000})
    recording, nasty = pathlib.Path(directory) / "node1.jsonl", pathlib.Path(directory) / "nasty.jsonl"
    recording.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    nasty.write_text(recording.read_text(encoding="utf-8").replace("roll-call", str(source)), encoding="utf-8")

    def refused(*words):
        done = subprocess.run([CONCLAVE, "explore", "--no-open", *map(str, words)], capture_output=True, text=True, check=False, timeout=PATIENCE_S)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done
        return done.stderr

    for words in ((recording,), (nasty,), (nasty, "--with", source)):
        told = refused("--replay", *words)
        assert "line 2" in told and "--with FILE" in told, told
    assert "expected --replay" in refused("--with", source), "there is nothing to bring it for"
    assert "--write" in refused("--with", source, "--replay", recording, "--write", nasty)
    assert "as in ./FILE" in refused("--with", "roll_call.c", "--replay", recording)
    with Served("--replay", str(recording), "--with", str(source)) as served:
        start = start_of(served.ask("GET", "/")[1])
        assert start["served"] == "call" and start["recordings"] == [recording.read_text(encoding="utf-8")], start
        status, text = served.ask("POST", "/call/one/load", json.dumps({"recordings": start["recordings"]}))
        told = json.loads(text)
        assert status == 200 and told["ok"] and told["names"][0]["algorithm"] == "roll-call", text
        history = json.loads(served.ask("POST", "/call/one/history", "{}")[1])
        assert history[0]["text"] == "1 is asked to call an election, becomes leader", history


def main():
    with tempfile.TemporaryDirectory() as directory:
        made = subprocess.run([CONCLAVE, "explore", "--write", pathlib.Path(directory) / "page.html"], capture_output=True,
                              text=True, check=False)
        if made.returncode == 2 and "built without the page" in made.stderr:
            print("skipped: the program was built without the page; scripts/npm-packages and make")
            return SKIPPED
        for test in (test_file, test_serving, test_own_algorithm, test_own_recording):
            test(directory)
            print(f"ok: {test.__name__}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
