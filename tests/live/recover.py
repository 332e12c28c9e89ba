# SPDX-License-Identifier: MIT
"""
A group that has lost its majority for good goes on with a survivor, on the operator's order. Fences rise, and no member of the
old group is mistaken for one of the new group.
"""

import subprocess
import sys
import time

from harness import CONCLAVE, PATIENCE, main
from identity import House
from membership import lock_everywhere


def recover(group, node, *words):
    return subprocess.run([CONCLAVE, "recover", *words, str(group.directory / str(node))], capture_output=True, text=True,
                          check=False, timeout=PATIENCE)


def survived():
    """Two of three are lost. The third goes on with higher fences; the others are replaced, and vote again."""
    with House(3) as group:
        group.kill(1)
        group.await_view([2, 3])
        for _ in range(3):  # views that 1 knows nothing of
            group.kill(3)
            group.start(3)
            group.await_view([2, 3])
        last = group.fence(2)
        group.kill(2, 3)
        result = recover(group, 1, "--the-others-are-lost")
        assert result.returncode == 0 and "conclave replace 2, 3" in result.stdout, result
        group.start(1)
        group.await_view([1])
        fence = group.fence(1)
        assert fence > last, (fence, last)
        group.start(2)  # with its old directory, and without the rest of the old group
        group.refused(2, "recovered without it", "conclave replace 2")
        for node in (2, 3):
            group.lose(node)
        group.start(2, 3)
        group.await_log(2, "conclave replace 2")
        for node in (2, 3):
            group.replace(node, by=1)
        group.await_view([1, 2, 3])
        group.await_votes([1, 2, 3])
        group.members = [1, 2, 3]
        fence = lock_everywhere(group, fence)
        time.sleep(1)  # for seats in the log
        group.kill(1)
        group.await_view([2, 3])
        assert group.fence(2) > fence


def above_the_floor():
    """A fence that the operator has seen is the floor of all new ones."""
    with House(3) as group:
        group.fence(1)
        floor = (1234 << 40) + 77
        group.kill(1, 2, 3)
        result = recover(group, 2, "--the-others-are-lost", "--fence-floor", str(floor))
        assert result.returncode == 0, result
        group.start(2)
        group.await_view([2])
        fence = group.fence(2)
        assert floor < fence < (1300 << 40), (fence, floor)
        group.kill(2)
        group.start(2)
        group.await_view([2])
        assert group.fence(2) > fence


def refused():
    """Without a confirmation, for a running node, or for no node, nothing happens."""
    with House(3) as group:
        group.kill(3)
        before = (group.directory / "3" / "journal").read_bytes()
        for node, words, told in ((3, [], "--the-others-are-lost"), (1, ["--the-others-are-lost"], "another process"),
                                  (9, ["--the-others-are-lost"], "expected the directory"),
                                  (3, ["--fence-floor", "x"], "--fence-floor x"), (3, ["--nonsense"], "--nonsense"),
                                  (3, ["--the-others-are-lost", "--fence-floor", str((1 << 53) - 1)], "--fence-floor")):
            result = recover(group, node, *words)
            assert result.returncode == 2 and result.stderr.count("\n") == 1 and told in result.stderr, (words, result)
        assert (group.directory / "3" / "journal").read_bytes() == before
        group.start(3)
        group.await_view([1, 2, 3])


if __name__ == "__main__":
    sys.exit(main([survived, above_the_floor, refused]))
