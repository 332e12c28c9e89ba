#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""guards/redis.lua with a real Redis: a lower fence writes nothing."""

import pathlib
import random
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/live"), str(ROOT / "tests/support")]
from harness import PATIENCE, Client, Refused, main  # pylint: disable=wrong-import-position
import private_redis  # pylint: disable=wrong-import-position

GUARD = (ROOT / "guards/redis.lua").read_text(encoding="utf-8")


class Guarded:
    def __init__(self, path):
        self.client = Client(path)

    def write(self, fence, *words, keys=("key",)):
        try:
            return self.client.ask("EVAL", GUARD, 1 + len(keys), "fence", *keys, fence, *words)
        except Refused as error:
            return str(error)


def commands(it):
    assert it.write(5, "SET", "five") == "OK" and it.write(5, "GET") == "five", "the same holder"
    assert it.write(4, "SET", "four") == "STALE fence 4: 5 has been seen, the lock is another's"
    assert it.write(4, "DEL").startswith("STALE") and it.client.ask("GET", "key") == "five"
    assert it.write(6, "HSET", "field", "value", keys=("hash",)) == 1 and it.write(6, "DEL", keys=("key", "hash")) == 2
    assert it.write(10, "INCRBY", 7, keys=("count",)) == 7, "digits are compared as a number"
    assert it.write(9, "INCRBY", 7, keys=("count",)).startswith("STALE")
    assert it.write(2 ** 53, "SET", "a") == "OK" and it.write(2 ** 53 + 1, "SET", "b") == "OK", "beyond what a double keeps apart"
    assert it.write(2 ** 53, "SET", "a").startswith("STALE") and it.client.ask("GET", "key") == "b"
    assert "WRONGTYPE" in it.write(2 ** 62, "LPUSH", "x") and it.write(2 ** 53 + 1, "GET") == "b", "a failure does not count"
    for fence in (0, -1, "", "x", "07", "1.5", "1e3", 10 ** 19):
        assert it.write(fence, "SET", "x").startswith("ERR expected"), fence
    assert it.write(2 ** 62).startswith("ERR expected") and it.write(2 ** 62, "SET", "x", keys=()).startswith("ERR expected")


def order(it):
    """In whichever order fences come, each write that counts is not lower than the one before."""
    chance = random.Random(1)
    it.client.ask("FLUSHALL")
    highest = 0
    for _ in range(500):
        fence = chance.randint(1, 1500)
        answer = it.write(fence, "SET", fence)
        assert (answer == "OK") == (fence >= highest), (fence, highest, answer)
        highest = max(highest, fence)
        assert it.client.ask("GET", "key") == it.client.ask("GET", "fence") == str(highest)


def guard_redis():
    if not private_redis.find():
        print("Redis (redis-tools) is not installed: left out")
        return
    with private_redis.Redis(PATIENCE) as path:
        commands(Guarded(path))
        order(Guarded(path))


if __name__ == "__main__":
    sys.exit(main([guard_redis]))
