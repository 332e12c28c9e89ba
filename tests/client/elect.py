#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`conclave elect`: a command runs while its process leads; `--observe` tells who leads, in order."""

import json
import os
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from lock import CONCLAVE, expect, failures, finish, starvation, until, with_server  # pylint: disable=wrong-import-position


def elect(server, *arguments, **options):
    environment = {**os.environ, "CONCLAVE_SERVER": server if isinstance(server, str) else server.address}
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.PIPE, "text": True, **options}
    return subprocess.Popen([CONCLAVE, "elect", *arguments], env=environment, **options)


def check_commands(server):
    expect("its code and environment",
           finish(elect(server, "boss", "--", "sh", "-c", "echo $CONCLAVE_LOCK $CONCLAVE_FENCE; exit 3"))[:2], (3, "boss 1\n"))
    leader = elect(server, "boss", "--", "cat")
    until(lambda: server.holders("boss"))
    expect("too long", finish(elect(server, "boss", "--wait", "0.1", "--", "true"))[0], 124)
    expect("at once", finish(elect(server, "boss", "--wait", "0", "--", "true"))[0], 124)
    low = elect(server, "boss", "--", "echo", "low")
    until(lambda: server.waiting("boss") == 1)
    high = elect(server, "boss", "--priority", "5", "--", "cat")
    until(lambda: server.waiting("boss") == 2)
    finish(leader, "")
    expect("the higher priority leads", until(lambda: server.waiting("boss") == 1 and server.holders("boss")), True)
    expect("the lower waits", low.poll(), None)
    finish(high, "")
    expect("then it leads", finish(low), (0, "low\n", ""))
    expect("resigned", server.holders("boss"), [])
    leader = elect(server, "boss", "--", "sh", "-c", "echo begun; sleep 100")
    leader.stdout.readline()
    server.lose("boss")
    expect("no longer leads", finish(leader), (122, "", "conclave: election boss: lost, so the command was ended\n"))
    expect("no server", finish(elect("127.0.0.1:1", "boss", "--", "true"))[0], 123)


def check_observing(server):
    observer = elect(server, "--observe", "boss")
    expect("nobody", observer.stdout.readline(), "nobody leads\n")
    leader = elect(server, "boss", "--", "cat")
    until(lambda: server.holders("boss"))
    fence = server.holders("boss")[0]
    line = observer.stdout.readline()
    expect(f"somebody: {line}", line.endswith(f" leads (fence {fence})\n") and line.startswith("1/"), True)
    second = elect(server, "boss", "--observe", "--json")
    told = json.loads(second.stdout.readline())
    expect("the same as JSON", (told["name"], told["leader"], told["fence"]), ("boss", line.split()[0], fence))
    finish(leader, "")
    expect("resigned", observer.stdout.readline(), "nobody leads\n")
    expect("the same as JSON", json.loads(second.stdout.readline()),
           {"name": "boss", "leader": None, "fence": 0, "value": None})
    observer.send_signal(signal.SIGINT)
    expect("Ctrl-C", finish(observer)[0], -signal.SIGINT)
    second.kill()
    finish(second)
    expect("observing nobody's server", finish(elect("127.0.0.1:1", "--observe", "boss"))[0], 123)
    with open("/dev/full", "w", encoding="utf-8") as full:
        code, _, err = finish(elect(server, "--observe", "boss", stdout=full))
        expect("a full disk", (code, err.count("\n")), (125, 1))


def check_usage(server):
    for arguments, words in (([], ["NAME"]), (["boss"], ["elect boss", "COMMAND", "--observe"]),
                             (["--observe"], ["NAME"]), (["--observe", "boss", "--", "true"], ["--observe without"]),
                             (["boss", "--json", "--", "true"], ["--observe"]),
                             (["boss", "--priority", "x", "--", "true"], ["--priority x", "expected a number of 0..2147483647"]),
                             (["boss", "--priority", "2147483648", "--", "true"], ["--priority 2147483648"]),
                             (["boss", "--priority", "-1", "--", "true"], ["--priority -1"]),
                             (["boss", "--ttl", "x", "--", "true"], ["--ttl"])):
        code, out, err = finish(elect(server, *arguments))
        expect(f"{arguments}: {err}", (code, out, err.count("\n"), [word for word in words if word not in err]),
               (125, "", 1, []))
    expect("help", finish(elect(server, "--help"))[0], 0)


def main():
    for check in (check_commands, check_observing, check_usage):
        starvation.run(with_server, check, name=check.__name__, failures=failures)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
