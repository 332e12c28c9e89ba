#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Redis's own C client speaks with a node, over TCP and a Unix socket."""

import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "live"))
from harness import Node, free_port  # pylint: disable=wrong-import-position


def main():
    program = os.environ["CONCLAVE_HIREDIS"]
    port = free_port()
    with Node("--listen", f"127.0.0.1:{port}") as node:
        results = [subprocess.run([program, *where], check=False, timeout=60).returncode
                   for where in ([node.address()], ["127.0.0.1", str(port)])]
    return 1 if any(results) else 0


if __name__ == "__main__":
    sys.exit(main())
