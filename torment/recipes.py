#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Players of the recipes at one node, a thread for each, until SIGTERM.

usage: recipes.py PLAN NUMBER    the same plan as client.py's; the number is the node's
"""

import dataclasses
import os
import sys
import threading
import traceback

import recipe_locks
import recipe_meetings
from client import load_plan, until_terminated


@dataclasses.dataclass(frozen=True)
class Recipe:
    player: type
    title: str
    command: str  # what a service must know to be asked for it
    per_node: int = 1


TABLE = {
    "semaphore": Recipe(recipe_locks.Semaphore, "one of three permits, or all of them", "LOCK", 2),
    "reentrant": Recipe(recipe_locks.Reentrant, "a lock that is taken again", "LOCK"),
    "lock-all": Recipe(recipe_locks.LockAll, "several names at once", "LOCKALL"),
    "upgrade": Recipe(recipe_locks.Upgrade, "sharers that become the only holder, and sharers again", "UPGRADE"),
    "sequence": Recipe(recipe_meetings.Sequence, "unique rising numbers", "SEQUENCE"),
    "latch": Recipe(recipe_meetings.Latch, "latches that are set, counted down and awaited", "LATCH"),
    "once": Recipe(recipe_meetings.Once, "work that is done once in a period", "ONCE"),
    "barrier": Recipe(recipe_meetings.Barrier, "meetings of three", "BARRIER", 2),
    "double-barrier": Recipe(recipe_meetings.DoubleBarrier, "meetings of three that end together", "BARRIER", 2),
    "members": Recipe(recipe_meetings.Members, "clients that join and leave", "MEMBERS"),
    "watch": Recipe(None, "observers that watch locks: observer.py", "WATCH", 0),
}


def perform(player):
    """One thread. The campaign must learn of one that fails."""
    try:
        player.run()
    except BaseException:  # pylint: disable=broad-exception-caught
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


def main(plan, node):
    stopping = until_terminated()
    players = [recipe.player(plan, f"{name}-{node}{'abc'[number]}", node - 1, stopping)
               for name, recipe in TABLE.items() if name in plan["recipes"] for number in range(recipe.per_node)]
    threads = [threading.Thread(target=perform, args=(player,)) for player in players]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(0.2)  # signals come in between


if __name__ == "__main__":
    main(load_plan(sys.argv[1]), int(sys.argv[2]))
