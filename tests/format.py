#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every C file is as clang-format would write it. --fix rewrites those that are not."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ["include", "src", "tests", "fuzz", "bench", "examples"]


def main(arguments):
    files = sorted(path for room in ROOMS for path in (ROOT / room).glob("**/*.[ch]"))
    mode = ["-i"] if "--fix" in arguments else ["--dry-run", "-Werror", "--ferror-limit=3"]
    status = subprocess.run(["clang-format", "--style=file", *mode, *files], check=False).returncode
    if status:
        print("make format puts this right")
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
