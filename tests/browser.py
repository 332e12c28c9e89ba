#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The explorer's page in a real browser (tests/browser/), and its sources as the formatter and the linter want them.

usage: browser.py [--part I/N] [NAME...]    a part of the tests, or those whose names contain one of these

Exit code 77, which Meson calls skipped, if there is no browser or no package of npm; `make test` gets them.
"""
import os
import pathlib
import platform
import shutil
import subprocess
import sys

ROOT = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).resolve().parent.parent))
MODULES = ROOT / "web/node_modules"
BIOME = MODULES / f"@biomejs/cli-linux-{ {'aarch64': 'arm64'}.get(platform.machine(), 'x64') }/biome"
SKIPPED = 77


def missing():
    needed = {"chromium": shutil.which("chromium"), "node": shutil.which("node"), "playwright-core of npm":
              (MODULES / "playwright-core").is_dir(), "biome of npm": BIOME.is_file()}
    return [name for name, there in needed.items() if not there]


def main():
    lacking = missing()
    if lacking:
        print(f"skipped: no {', no '.join(lacking)}; scripts/install-packages browser and scripts/npm-packages --dev get them")
        return SKIPPED
    style = subprocess.run([BIOME, "check", "--colors=off", ROOT], cwd=ROOT, check=False)
    tests = subprocess.run(["node", ROOT / "tests/browser/run.js", *sys.argv[1:]], check=False)
    return style.returncode or tests.returncode


if __name__ == "__main__":
    sys.exit(main())
