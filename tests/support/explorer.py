# SPDX-License-Identifier: MIT
"""The explorer's engine behind a pipe (tests/explore/driver.c), for tests that call it."""

import json
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CONCLAVE = os.environ.get("CONCLAVE", str(ROOT / "build" / "conclave"))
DRIVER = os.environ.get("CONCLAVE_EXPLORER", str(ROOT / "build" / "tests" / "explore_driver"))
WASM = os.environ.get("CONCLAVE_WASM", str(ROOT / "build" / "src" / "explore" / "conclave.wasm"))

ELECTIONS = ["bully", "ring-list", "ring-basic", "chang-roberts", "chang-roberts-token", "franklin", "peterson",
             "multicast", "multicast-lean", "wireless"]
MUTEXES = ["central", "central-deny", "token-ring", "ricart-agrawala", "lamport", "maekawa-plain", "maekawa", "voting"]
ROUNDS = ["abd", "alpha", "beta", "gamma", "bellman-ford", "flood-max", "bfs-tree", "bellman-ford-async"]

failures = []


def fail(what):
    failures.append(what)
    print(f"FAILED: {what}", flush=True)


class Explorer:
    def __init__(self, *command):
        self.process = subprocess.Popen(command or [DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def text(self, name, **arguments):
        self.process.stdin.write(f"{name} {json.dumps(arguments) if arguments else ''}\n".encode())
        self.process.stdin.flush()
        answer = self.process.stdout.readline().decode()
        if not answer:
            raise SystemExit(f"FAILED: the explorer ended at {name} {arguments}")
        return answer

    def __call__(self, name, **arguments):
        return json.loads(self.text(name, **arguments))

    def begin(self, line, **more):
        answer = self("begin", words=line.split(), **more)
        if "error" in answer:
            fail(f"begin {line}: {answer['error']}")
        return "error" not in answer

    def end(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            fail(f"the explorer ended with {self.process.returncode}")


def sim(*words):
    done = subprocess.run([CONCLAVE, "sim", *words, "--json"], capture_output=True, check=False)
    if done.returncode not in (0, 1, 2) or not done.stdout:
        fail(f"sim {' '.join(words)}: exit code {done.returncode}, {done.stderr.decode().strip()}")
        return None
    return json.loads(done.stdout)


def see(explorer):
    return explorer.text("now"), explorer.text("events"), explorer.text("history")
