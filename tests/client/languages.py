# SPDX-License-Identifier: MIT
"""How to build and start the program of each client that plays the conformance suite."""

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CLIENTS = pathlib.Path(os.environ.get("CONCLAVE_CLIENTS", ROOT / "clients"))  # or a copy, in which something was changed
BUILD = pathlib.Path(os.environ.get("CONCLAVE_BUILD", ROOT / "build")).resolve() / "clients"
OUT = CLIENTS / "out" if "CONCLAVE_CLIENTS" in os.environ else BUILD


class Missing(Exception):
    """What the language needs is not installed."""


def need(program, package):
    path = shutil.which(program)
    if not path:
        raise Missing(f"{program} is not installed (Debian: {package})")
    return path


def compile_with(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}"


def python(mode):
    return [sys.executable, str(CLIENTS / "python" / "conformance" / "driver.py"), mode]


def node():
    return [need("node", "nodejs"), str(CLIENTS / "node" / "conformance" / "driver.mjs")]


def go():
    program = OUT / "go" / "driver"
    environment = {**os.environ, "GOCACHE": str(BUILD / "go" / "cache"), "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local",
                   "CGO_ENABLED": "0"}
    compile_with(need("go", "golang-go"), "build", "-o", program, "./conformance", cwd=CLIENTS / "go", env=environment)
    return [str(program)]


def java():
    classes = OUT / "java"
    sources = sorted((CLIENTS / "java").glob("**/*.java"))
    compile_with(need("javac", "default-jdk-headless"), "-Xlint:all", "-Werror", "-d", classes, *sources)
    return [need("java", "default-jre-headless"), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-cp", str(classes),
            "conformance.Driver"]


def c():
    program = os.environ.get("CONCLAVE_CONFORMANCE")
    if not program:
        raise Missing("CONCLAVE_CONFORMANCE names no program")
    return [program]


LANGUAGES = {"python": lambda: python("sync"), "asyncio": lambda: python("aio"), "node": node, "go": go, "java": java,
             "libconclave": c}
