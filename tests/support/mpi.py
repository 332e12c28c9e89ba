# SPDX-License-Identifier: MIT
"""mpirun for tests: as root, with more ranks than cores."""

import os
import pathlib
import re
import shutil
import subprocess

MPIRUN = os.environ.get("MPIRUN", "mpirun")
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1", "CONCLAVE_TEST_JOB": str(os.getpid())}


def is_mpich():
    return bool(re.search("mpich|hydra", os.path.realpath(shutil.which(MPIRUN) or "")))


def module(program):
    """The module by which that program speaks MPI, or None."""
    path = pathlib.Path(program).resolve().parent / ("conclave-mpich.so" if is_mpich() else "conclave-openmpi.so")
    return path if path.exists() else None


def missing(program):
    """Why there is nothing to test, or None."""
    if not shutil.which(MPIRUN):
        return f"no {MPIRUN}"
    return None if module(program) else "conclave was built without MPI"


def start(ranks, *command, **more):
    """The MPI libraries leave memory behind when a process ends. So leaks are looked for without them alone."""
    return subprocess.Popen([MPIRUN, "-n", str(ranks), *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            stdin=subprocess.DEVNULL, env={**os.environ, **ENVIRONMENT, "ASAN_OPTIONS": "detect_leaks=0"}, **more)
