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


def ranks_of(mpirun):
    """The processes that it has started here: {rank: pid}."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[1])
            variables = dict(pair.split("=", 1) for pair in (path / "environ").read_text(encoding="utf-8").split("\0") if "=" in pair)
            rank = variables.get("OMPI_COMM_WORLD_RANK", variables.get("PMI_RANK"))
            if rank is not None and (parent == mpirun or variables.get("CONCLAVE_TEST_JOB") == str(os.getpid())):
                found[int(rank)] = int(path.name)
        except (OSError, ValueError):
            pass
    return found
