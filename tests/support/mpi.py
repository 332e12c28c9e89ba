# SPDX-License-Identifier: MIT
"""mpirun for tests: as root, with more ranks than cores."""

import os
import pathlib
import shutil
import subprocess

MPIRUN = os.environ.get("MPIRUN", "mpirun")
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1", "CONCLAVE_TEST_JOB": str(os.getpid())}
# What Open MPI and the libraries below it leave behind when a process ends is not ours.
LEAKS = ["libmpi", "libopen-rte", "libopen-pal", "libpmix", "libmpich", "mca_", "libevent", "libhwloc", "libfabric", "libucp", "libucs", "libpsm", "<unknown module>"]


def module(program):
    """The module by which that program speaks MPI, or None."""
    name = "conclave-mpich.so" if "mpich" in os.path.realpath(shutil.which(MPIRUN) or "") else "conclave-openmpi.so"
    path = pathlib.Path(program).resolve().parent / name
    return path if path.exists() else None


def missing(program):
    """Why there is nothing to test, or None."""
    if not shutil.which(MPIRUN):
        return f"no {MPIRUN}"
    return None if module(program) else "conclave was built without MPI"


def environment(directory, **more):
    suppressions = pathlib.Path(directory) / "leaks"
    suppressions.write_text("".join(f"leak:{name}\n" for name in LEAKS), encoding="utf-8")
    return {**os.environ, **ENVIRONMENT, "LSAN_OPTIONS": f"suppressions={suppressions}:print_suppressions=0", **more}


def start(directory, ranks, *command, **more):
    return subprocess.Popen([MPIRUN, "-n", str(ranks), *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            stdin=subprocess.DEVNULL, env=environment(directory), **more)
