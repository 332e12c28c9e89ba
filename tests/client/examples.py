#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The first examples of the clients for Python and Node: less than ten lines, they run as they stand in the docs, and they
notice that they have lost the lock."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE.parent / "live"), str(HERE.parent / "support")]
import starvation  # pylint: disable=wrong-import-position
from harness import PATIENCE, Node  # pylint: disable=wrong-import-position

EXAMPLES = ["python/examples/backup.py", "python/examples/backup_aio.py", "node/examples/backup.mjs"]
MOST_LINES = 10


def command(path):
    program = shutil.which("node") if path.suffix == ".mjs" else sys.executable
    return [program, str(path)] if program else None


def start(path, node, directory):
    """As a user has it: the package is installed, the program is somewhere else."""
    modules = directory / "node_modules"
    modules.mkdir(exist_ok=True)
    link = modules / "conclave-client"
    if not link.exists():
        link.symlink_to(ROOT / "clients" / "node")
    environment = {**os.environ, "CONCLAVE_SERVER": node.address(), "PYTHONPATH": str(ROOT / "clients" / "python"),
                   "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(command(path), env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def examples():
    with Node() as node, tempfile.TemporaryDirectory(prefix="conclave-test-") as name:
        directory = pathlib.Path(name)
        for example in EXAMPLES:
            text = (ROOT / "clients" / example).read_text(encoding="utf-8").split("\n", 1)[1]
            lines = [line for line in text.splitlines() if line.strip()]
            assert len(lines) < MOST_LINES, (example, len(lines))
            path = directory / pathlib.Path(example).name
            path.write_text(text, encoding="utf-8")
            if not command(path):
                print(f"{example}: node is not installed")
                continue
            done = start(path, node, directory)
            out, errors = done.communicate(timeout=PATIENCE)
            assert done.returncode == 0 and not errors, (example, done.returncode, errors)
            assert re.fullmatch(r"(copying [abc] with fence \d+\n){3}", out), (example, out)
            notices_its_loss(path, text, node, directory)
            refuses_what_it_does_not_know(path, text, node, directory)


def arguments_of_node():
    if not shutil.which("node"):
        print("node is not installed")
        return
    with tempfile.TemporaryDirectory(prefix="conclave-test-") as name:
        modules = pathlib.Path(name) / "node_modules"
        modules.mkdir()
        (modules / "conclave-client").symlink_to(ROOT / "clients" / "node")
        script = pathlib.Path(name) / "arguments.mjs"
        script.write_bytes((HERE / "arguments.mjs").read_bytes())
        done = subprocess.run(["node", script], text=True, capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0 and not done.stdout, (done.returncode, done.stdout, done.stderr)


def refuses_what_it_does_not_know(path, text, node, directory):
    """An option under a wrong name would silently be the usual value."""
    wrong = text.replace('"backup")', '"backup", ttl_ms=1)').replace('"backup",', '"backup", { ttl: 1000 },' if path.suffix == ".mjs" else '"backup",')
    path.write_text(wrong, encoding="utf-8")
    done = start(path, node, directory)
    out, errors = done.communicate(timeout=PATIENCE)
    assert done.returncode != 0 and not out and ("ttl_ms" in errors or "no option ttl:" in errors), (path.name, done.returncode, out, errors)


def notices_its_loss(path, text, node, directory):
    """The same, with a short time to live and much to copy, stopped for longer than that: no copy after it goes on."""
    slow = text.replace('"backup")', '"backup", ttl=1)').replace('"backup",', '"backup", { ttlMs: 1000 },' if path.suffix == ".mjs"
                                                                 else '"backup",')
    slow = slow.replace('["a", "b", "c"]', 'Array(100000).fill("a")' if path.suffix == ".mjs" else '["a"] * 100000')
    slow = slow.replace("lock.check(); //", "await new Promise((go) => setTimeout(go, 20)); lock.check(); //")
    slow = slow.replace("        lock.check()  #", "        __import__('time').sleep(0.02); lock.check()  #")
    path.write_text(slow, encoding="utf-8")
    process = start(path, node, directory)
    assert process.stdout.readline().startswith("copying a"), process.communicate()
    process.send_signal(signal.SIGSTOP)
    subprocess.run([os.environ.get("CONCLAVE", "build/conclave"), "lock", "backup", "--server", node.address(), "--", "true"],
                   check=True, timeout=PATIENCE)
    process.send_signal(signal.SIGCONT)
    out, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode != 0 and "LockLost" in errors, (path.name, process.returncode, out[-200:], errors)


if __name__ == "__main__":
    sys.exit(0 if starvation.run(examples) and starvation.run(arguments_of_node) else 1)
