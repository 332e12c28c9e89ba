#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Clients of Redis's old protocol that hold a lock each, and do nothing until they are killed.

usage: crowd.py HOST PORT COUNT NAME    prints a line when all of them hold theirs; NAME is the lock, NAME-I where COUNT > 1
"""

import resource
import signal
import sys

from resp import Connection, Gone


def main(host, port, count, name):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    held = []
    for number in range(count):
        connection = Connection((host, port), patience=10)
        connection.say("LOCK", f"{name}-{number}" if count > 1 else name, "WAIT", 5000)
        held.append(connection)
    for connection in held:
        if not isinstance((connection.hear(10) or [None])[0], int):
            return 1
    print("inside", flush=True)
    signal.pause()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))
    except Gone:
        sys.exit(1)
