# SPDX-License-Identifier: MIT
"""Slow disks: a preloaded library delays the nodes' syncs."""

import pathlib
import subprocess

from fault_process import kill, kill_leader

SOURCE = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void wait_for_disk(void)
{
    const char *path = getenv("TORMENT_SYNC_DELAY");
    FILE *file = path ? fopen(path, "re") : NULL;
    long ms = 0;
    if (file && fscanf(file, "%ld", &ms) == 1 && ms > 0)
        nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
    if (file)
        fclose(file);
}

int fdatasync(int fd)
{
    wait_for_disk();
    return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd);
}

int fsync(int fd)
{
    wait_for_disk();
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}
"""


class Disks:
    """The delay of each node's syncs: a file for each node, which the library reads every time."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.library = self.directory / "slow_disk.so"
        subprocess.run(["cc", "-x", "c", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", str(self.library), "-", "-ldl"],
                       input=SOURCE, text=True, check=True, capture_output=True)

    def file(self, node):
        return self.directory / f"sync-delay{node}"

    def environment(self, node):
        return {"LD_PRELOAD": str(self.library), "TORMENT_SYNC_DELAY": str(self.file(node))}

    def delay(self, node, ms):
        self.file(node).write_text(f"{ms}\n", encoding="ascii")


def slow_disk(world):
    """While disks take up to a second to sync, the group has to agree on something."""
    victims = world.any(world.random.randint(1, len(world.nodes())))
    delays = {node: world.random.choice([20, 100, 300, 1000]) for node in victims}
    act = world.random.choice([kill, kill_leader])
    world.say("slow", delays=delays)
    for node, ms in delays.items():
        world.cluster.disks.delay(node, ms)
    yield from act(world)
    yield world.seconds(0.3, 1.5)
    for node in victims:
        world.cluster.disks.delay(node, 0)
