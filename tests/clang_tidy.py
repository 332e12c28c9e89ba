#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""clang-tidy over every source of the build in $CONCLAVE_BUILD, with the checks of .clang-tidy."""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORKERS = 2


def check(build, source):
    """One line per finding; how the analyzer got there is for whoever runs clang-tidy on that file by hand."""
    result = subprocess.run(
        ["clang-tidy", "--quiet", "--extra-arg=-Wno-unknown-warning-option", "-p", str(build), str(source)],
        capture_output=True, text=True, check=False)
    if result.returncode == 0:
        return []
    lines = [line for line in result.stdout.splitlines() if re.search(r"\b(error|warning): ", line)]
    return [line.replace(f"{build}/../", "").removeprefix("../") for line in lines] or [f"{source}: {result.stderr}"]


def main():
    build = pathlib.Path(os.environ.get("CONCLAVE_BUILD", ROOT / "build")).resolve()
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    sources = sorted({(pathlib.Path(entry["directory"]) / entry["file"]).resolve() for entry in commands})
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        findings = {line for lines in pool.map(lambda source: check(build, source), sources) for line in lines}
    for line in sorted(findings):
        print(line)
    print(f"{len(sources)} files, {len(findings)} findings")
    return 1 if findings or not sources else 0


if __name__ == "__main__":
    sys.exit(main())
