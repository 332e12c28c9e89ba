#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the fuzzers of fuzz/ for a while: fuzz.py [SECONDS each, 4] [NAME...].

New inputs worth keeping are found in a copy of fuzz/corpus; with --keep they go there. A crash is shown with the bytes
that cause it and the command that repeats it.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).resolve().parent.parent))
RESP = ["src/service/resp_read.c", "src/service/resp_write.c", "src/core/parse.c"]
FUZZERS = {"resp_command": RESP, "resp_reply": RESP, "frame": ["src/core/frame.c"]}
LONGEST = 20000  # bytes; a command has 16384 at most
FLAGS = ["-std=c17", "-D_GNU_SOURCE", "-g", "-O1", "-fno-omit-frame-pointer",
         "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all"]


def build(name, directory):
    target = directory / name
    sources = [str(SOURCE / path) for path in [f"fuzz/{name}.c", *FUZZERS[name]]]
    subprocess.run(["clang", *FLAGS, "-I", str(SOURCE), "-I", str(SOURCE / "src"), "-o", str(target), *sources], check=True)
    return target


def fuzz(name, seconds, keep, directory):
    corpus = SOURCE / "fuzz" / "corpus" / name
    found = directory / f"{name}-found"
    found.mkdir()
    command = [str(build(name, directory)), f"-max_total_time={seconds}", f"-max_len={LONGEST}", "-timeout=5",
               "-rss_limit_mb=1024", "-print_final_stats=1", f"-artifact_prefix={directory}/", str(found), str(corpus)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    runs = [line.split()[-1] for line in done.stdout.splitlines() if "number_of_executed_units" in line]
    if done.returncode or not runs:
        print(done.stdout[-6000:], "\nrepeat with:", " ".join(command))
        return False
    print(f"{name}: {int(runs[0]):,} inputs, no failure, {len(list(found.iterdir()))} new ones")
    if keep:
        # Only what reaches something new is worth keeping.
        subprocess.run([command[0], "-merge=1", f"-max_len={LONGEST}", str(corpus), str(found)], check=True,
                       stderr=subprocess.DEVNULL)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", type=int, nargs="?", default=4)
    parser.add_argument("names", nargs="*", default=sorted(FUZZERS))
    parser.add_argument("--keep", action="store_true", help="add what was found to the corpus")
    options = parser.parse_args()
    if not shutil.which("clang"):
        print("there is no clang: nothing was fuzzed")
        return 77
    with tempfile.TemporaryDirectory() as directory:
        results = [fuzz(name, options.seconds, options.keep, pathlib.Path(directory)) for name in options.names]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
