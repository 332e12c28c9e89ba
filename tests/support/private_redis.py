# SPDX-License-Identifier: MIT
"""A Redis server of our own, on a Unix socket in a temporary directory."""

import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

SAME_PROGRAM = "/usr/bin/redis-check-rdb"  # Debian's redis-tools has the server, under its other name, and starts no service


def find():
    return shutil.which("redis-server") or (SAME_PROGRAM if pathlib.Path(SAME_PROGRAM).exists() else None)


def answers(path):
    """The socket is there a moment before the server listens."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(path))
    except OSError:
        return False
    return True


class Redis:
    """`with Redis(patience) as path`: the path of its socket."""

    def __init__(self, patience):
        self.patience = patience

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="conclave-test-")
        path = pathlib.Path(self.directory.name) / "redis.sock"
        self.process = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", self.directory.name],
                                        executable=find(), stdout=subprocess.DEVNULL)
        end = time.monotonic() + self.patience
        while not answers(path):
            assert self.process.poll() is None and time.monotonic() < end, "redis-server does not start"
            time.sleep(0.01)
        return str(path)

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(self.patience)
        self.directory.cleanup()
