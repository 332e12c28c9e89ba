#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""libconclave as a package would install it: pkg-config finds it, the example builds against the shared and the static
library and runs, the header suits strict compilers and C++, and exports nothing but its own functions."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from fake import Fake  # pylint: disable=wrong-import-position

SOURCE = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
BUILD = os.environ.get("CONCLAVE_BUILD", str(SOURCE / "build"))
EXAMPLE = SOURCE / "examples" / "client" / "one_at_a_time.c"
STRICT = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wpedantic", "-Werror"]

failures = []


def expect(what, found, expected):
    if found != expected:
        failures.append(what)
        print(f"FAILED: {what}: {found!r} instead of {expected!r}")


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def installed(directory):
    """The directory of conclave.pc under the root."""
    done = run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", str(directory)])
    expect(f"meson install: {done.stderr[-500:]}", done.returncode, 0)
    return next(directory.rglob("conclave.pc")).parent


def pkg_config(root, path, *arguments):
    environment = {**os.environ, "PKG_CONFIG_SYSROOT_DIR": str(root), "PKG_CONFIG_PATH": str(path)}
    done = run(["pkg-config", *arguments, "conclave"], env=environment)
    expect(f"pkg-config {arguments}: {done.stderr}", done.returncode, 0)
    return done.stdout.split()


def check_example(program, library):
    environment = {**os.environ, "LD_LIBRARY_PATH": str(library)}
    with Fake() as server:
        environment["CONCLAVE_SERVER"] = server.address
        done = run([program, "backup", "3"], env=environment)
        expect("the example", (done.returncode, done.stdout.splitlines(), done.stderr),
               (0, ["holding backup, fence 1", "step 1 of 3", "step 2 of 3", "step 3 of 3"], ""))
        expect("it gave the lock back", server.holders("backup"), [])
        process = subprocess.Popen([program, "backup", "1000"], env=environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        process.stdout.readline()
        time.sleep(0.1)
        server.lose("backup")
        _, err = process.communicate(timeout=10)
        expect(f"it stops when the lock is lost: {err}", process.returncode, 1)
    done = run([program, "backup", "3"], env={**environment, "CONCLAVE_SERVER": "127.0.0.1:1"})
    expect("it tells of no server", (done.returncode, "no server" in done.stderr), (1, True))


def check_symbols(library):
    names = set()
    for line in run(["nm", "-D", "--defined-only", str(library / "libconclave.so")]).stdout.splitlines():
        names.add(line.split()[-1])
    declared = set(re.findall(r"\b(conclave_\w+)\(", (SOURCE / "include/conclave/conclave.h").read_text(encoding="utf-8")))
    versions = {name for name in names if name.startswith("CONCLAVE_")}
    expect("exported is what the header declares", {name.split("@")[0] for name in names - versions}, declared)
    expect("with a version", {name.partition("@@")[2] for name in names - versions}, versions)
    needed = re.findall(r"NEEDED.*\[(.*)\]", run(["readelf", "-d", str(library / "libconclave.so")]).stdout)
    expect("it needs the C library alone", needed, ["libc.so.6"])
    manual = (SOURCE / "man" / "libconclave.3").read_text(encoding="utf-8")
    expect("documented", sorted(name for name in declared if name not in manual), [])


def main():
    compiler = os.environ.get("CC", "cc")
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        path = installed(root)
        library = path.parent
        flags, libraries = pkg_config(root, path, "--cflags"), pkg_config(root, path, "--libs")
        program = str(root / "example")
        done = run([compiler, "-std=c99", *STRICT, *flags, "-o", program, str(EXAMPLE), *libraries])
        expect(f"build: {done.stderr}", done.returncode, 0)
        check_example(program, library)
        done = run([compiler, *flags, "-o", program, str(EXAMPLE), str(library / "libconclave.a")])
        expect(f"static build: {done.stderr}", done.returncode, 0)
        check_example(program, library)
        if shutil.which("c++"):
            (root / "header.cpp").write_text("#include <conclave/conclave.h>\nint main() { return conclave_error_text(0) == 0; }\n",
                                             encoding="utf-8")
            done = run(["c++", *STRICT, *flags, "-o", program, str(root / "header.cpp"), *libraries])
            expect(f"C++: {done.stderr}", done.returncode, 0)
        check_symbols(library)
        version = pkg_config(root, path, "--modversion")
        expect("the version", run([str(next(root.rglob("bin/conclave"))), "--version"]).stdout.split()[1:], version)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
