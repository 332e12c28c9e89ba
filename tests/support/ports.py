# SPDX-License-Identifier: MIT
"""Ports for servers of tests. They are below those that the kernel gives to outgoing connections. Each test process has
a block of its own for as long as it lives, so that tests that run side by side do not collide."""

import fcntl
import os
import pathlib
import random
import socket
import tempfile

FIRST, LAST, BLOCK = 12000, 32000, 50


class Block:
    """The ports of this process."""
    lock = None
    first = next = 0

    @classmethod
    def take(cls):
        directory = pathlib.Path(tempfile.gettempdir()) / f"conclave-test-ports-{os.getuid()}"
        directory.mkdir(exist_ok=True)
        blocks = list(range(FIRST, LAST, BLOCK))
        random.SystemRandom().shuffle(blocks)
        for first in blocks:
            file = open(directory / str(first), "w", encoding="ascii")  # pylint: disable=consider-using-with
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                file.close()
                continue
            cls.lock, cls.first, cls.next = file, first, 0
            return
        raise AssertionError("all ports are taken")


def is_free(port):
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
            return True
        except OSError:
            return False


def free_ports(count=1):
    """The first of so many free ports in a row. A port is given again only after all others of the block."""
    if not Block.lock:
        Block.take()
    for _ in range(3 * BLOCK):
        if Block.next + count > BLOCK:
            Block.next = 0
        first = Block.first + Block.next
        if all(is_free(port) for port in range(first, first + count)):
            Block.next += count
            return first
        Block.next += 1
    raise AssertionError("no free port")
