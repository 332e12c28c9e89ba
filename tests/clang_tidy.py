#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""clang-tidy over every source of the build in $CONCLAVE_BUILD, with the checks of .clang-tidy.

With --analyzer, as in `make lint`, clang's analyzer also reads the sources of the programs, a second or two for each file. A
clean file is not checked again until it, a header or the checks change.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORKERS = 2
# Where reserved names are meant, NOLINT says so; it has no power over errors of the compiler.
FLAGS = ["-Wno-unknown-warning-option", "-Wreserved-identifier", "-Wno-error=reserved-identifier", "-Wno-error=reserved-macro-identifier"]
ANALYZER = "--analyzer" in sys.argv


def check(build, source, command):
    """One line per finding. To see the analyzer's path, run clang-tidy on that file by hand."""
    analyzed = ANALYZER and (ROOT / "tests") not in source.parents
    checks = [] if analyzed else ["--checks=-clang-analyzer-*"]
    result = subprocess.run(
        ["clang-tidy", "--quiet", *checks, str(source), "--", *shlex.split(command)[1:], *FLAGS],
        capture_output=True, text=True, check=False, cwd=build)
    if result.returncode == 0:
        return []
    lines = [line for line in result.stdout.splitlines() if re.search(r"\b(error|warning): ", line)]
    return [line.replace(f"{build}/../", "").removeprefix("../") for line in lines] or [f"{source}: {result.stderr}"]


def common_digest():
    """The hash of all that every file's findings depend on: the checks and our headers."""
    digest = hashlib.sha256(str(ANALYZER).encode())
    headers = sorted(path for room in ("include", "src") for path in (ROOT / room).rglob("*.h"))
    for path in [ROOT / ".clang-tidy", *headers]:
        digest.update(path.read_bytes() + b"\0")
    return digest


def main():
    build = pathlib.Path(os.environ.get("CONCLAVE_BUILD", ROOT / "build")).resolve()
    clean = build / "clang-tidy-clean"
    clean.mkdir(exist_ok=True)
    common = common_digest()

    def findings_in(entry):
        source = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
        digest = common.copy()
        digest.update(entry["command"].encode() + source.read_bytes())
        stamp = clean / digest.hexdigest()
        if stamp.exists():
            return []
        lines = check(build, source, entry["command"])
        if not lines:
            stamp.touch()
        return lines

    # A file that is compiled twice, for the program and for a library, is looked at once.
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    entries = list({entry["file"]: entry for entry in commands}.values())
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        findings = {line for lines in pool.map(findings_in, entries) for line in lines}
    for line in sorted(findings):
        print(line)
    print(f"{len(entries)} files, {len(findings)} findings")
    return 1 if findings or not entries else 0


if __name__ == "__main__":
    sys.exit(main())
