#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Clients and lock libraries for Redis, each as its users have it, with real nodes. What is not installed is left out, by name.
docs/redis.md has the list."""

import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))
from harness import PATIENCE, Cluster, Node, main  # pylint: disable=wrong-import-position

SCRIPTS = HERE / "redis"
MODULES = HERE.parents[1] / "web/node_modules"
RELEASE = 'if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end'


def installed(what, *command):
    """Can that be run, to the end?"""
    if shutil.which(command[0]) and subprocess.run(command, capture_output=True, check=False).returncode == 0:
        return True
    print(f"{what} is not installed: left out")
    return False


def imports_redis(python):
    return shutil.which(python) and subprocess.run([python, "-c", "import redis.lock"], capture_output=True, check=False).returncode == 0


def run(*command):
    ended = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert ended.returncode == 0, (command, ended.returncode, ended.stdout, ended.stderr)
    print(ended.stdout.strip())


def with_one_node(*command):
    with Node() as node:
        run(*command, node.address())


def redis_cli():
    """One command each, as a shell script would; the last word is what Redis answers, too."""
    if not installed("redis-cli", "redis-cli", "--version"):
        return
    with Node() as node:
        def ask(*words):
            ended = subprocess.run(["redis-cli", "-s", node.address(), *words], capture_output=True, text=True, check=False, timeout=PATIENCE)
            assert ended.returncode in (0, 1), ended
            return (ended.stdout + ended.stderr).strip()

        assert ask("SET", "cli", "t", "NX", "PX", "60000") == "OK" and ask("SET", "cli", "u", "NX", "PX", "60000") == ""
        assert ask("GET", "cli") == "t" and ask("-3", "GET", "cli") == "t" and int(ask("PTTL", "cli")) > 0
        assert ask("EVAL", RELEASE, "1", "cli", "u") == "0" and ask("EVAL", RELEASE, "1", "cli", "t") == "1"
        assert "unknown command" in ask("INCR", "cli") and ask("-n", "0", "PING") == "PONG"
        assert "expected 0" in ask("-n", "3", "PING")


def redis_py():
    """Three nodes; the first is killed while a lock of its client is held."""
    python = next((each for each in (sys.executable, "/usr/bin/python3") if imports_redis(each)), None)
    if not python:
        print("python3-redis is not installed: left out")
        return
    with Cluster(3, record=False) as cluster, tempfile.TemporaryDirectory() as directory:
        cluster.await_view([1, 2, 3])
        sign = pathlib.Path(directory) / "sign"
        script = subprocess.Popen([python, SCRIPTS / "lock.py", *(cluster.address(node) for node in (1, 2, 3)), sign],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            while script.poll() is None and not sign.exists():
                try:
                    script.wait(0.02)
                except subprocess.TimeoutExpired:
                    pass
            cluster.kill(1, signal.SIGKILL)
            output, errors = script.communicate(timeout=PATIENCE)
        finally:
            script.kill()
        assert script.returncode == 0, (script.returncode, output, errors)
        print(output.strip())


def npm():
    """ioredis, node-redis, redlock, redis-semaphore."""
    if not installed("Node.js", "node", "--version"):
        return
    if not all((MODULES / name / "package.json").is_file() for name in ("ioredis", "redis", "redlock", "redis-semaphore")):
        print("ioredis, redis, redlock and redis-semaphore are not there (scripts/npm-packages --dev): left out")
        return
    with Cluster(3, record=False) as cluster:
        cluster.await_view([1, 2, 3])
        run("node", SCRIPTS / "locks.mjs", MODULES, *(cluster.address(node) for node in (1, 2, 3)))
    cluster.check()


def perl():
    if installed("libredis-perl", "perl", "-MRedis", "-e1"):
        with_one_node("perl", SCRIPTS / "client.pl")


def php():
    if installed("php-redis", "php", "-r", "exit(class_exists('Redis') ? 0 : 1);"):
        with_one_node("php", SCRIPTS / "client.php")


def ruby():
    if installed("ruby-redis", "ruby", "-rredis", "-e", "1"):
        with_one_node("ruby", SCRIPTS / "client.rb")


if __name__ == "__main__":
    sys.exit(main([redis_cli, redis_py, npm, perl, php, ruby]))
