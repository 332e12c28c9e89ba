#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""conclave.hpp: compiled without a warning, and used with a real server. Skipped where there is no C++ compiler."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "live"), str(HERE.parent / "support")]
import starvation  # pylint: disable=wrong-import-position
from harness import Node  # pylint: disable=wrong-import-position

LIBRARY = pathlib.Path(os.environ["LIBCONCLAVE"])
SKIP = 77


def main():
    compiler = shutil.which("g++") or shutil.which("c++")
    if not compiler:
        print("no C++ compiler (Debian: g++)")
        return SKIP
    with tempfile.TemporaryDirectory(prefix="conclave-test-") as directory:
        program = f"{directory}/program"
        subprocess.run([compiler, "-std=c++17", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Weffc++", "-Werror",
                        f"-I{HERE.parent.parent / 'include'}", str(HERE / "cplusplus.cpp"), "-o", program, str(LIBRARY),
                        f"-Wl,-rpath,{LIBRARY.parent}", "-pthread"], check=True)

        def cplusplus():
            with Node() as node:
                subprocess.run([program, node.address(), str(node.process.pid)], check=True, timeout=100)

        return 0 if starvation.run(cplusplus) else 1


if __name__ == "__main__":
    sys.exit(main())
