# SPDX-License-Identifier: MIT
"""
A group that has lost its majority for good goes on with a survivor, on the operator's order. Fences rise, and no member of the
old group is mistaken for one of the new group.
"""

import ctypes
import struct
import subprocess
import sys
import time

from harness import CONCLAVE, PATIENCE, Refused, main
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
        floor = (1 << 50) + 77
        group.kill(1, 2, 3)
        result = recover(group, 2, "--the-others-are-lost", "--fence-floor", str(floor))
        assert result.returncode == 0, result
        group.start(2)
        group.await_view([2])
        fence = group.fence(2)
        assert floor < fence < floor + (100 << 23), (fence, floor)
        group.kill(2)
        group.start(2)
        group.await_view([2])
        assert group.fence(2) > fence


def from_before():
    """A journal of the version whose fences rose by 2^40 with each view is refused; recovered, it goes on above them."""
    hash_of = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
    hash_of.restype, hash_of.argtypes = ctypes.c_uint64, (ctypes.c_char_p, ctypes.c_size_t)
    with House(1) as group:
        group.fence(1)
        epoch = group.view(1)["epoch"]
        group.kill(1)
        journal = group.directory / "1" / "journal"
        content = journal.read_bytes()
        header = struct.pack("<Q", 2) + content[32:40]
        journal.write_bytes(content[:16] + struct.pack("<Q", hash_of(header, 16)) + header + content[40:])
        group.start(1)
        assert group.processes.pop(1).wait(PATIENCE) == 2, group.log(1)
        assert "journal: is of an earlier version" in group.log(1) and "conclave recover" in group.log(1), group.log(1)
        result = recover(group, 1, "--the-others-are-lost")
        assert result.returncode == 0, result
        group.start(1)
        group.await_view([1])
        assert epoch << 40 < group.fence(1) < 1 << 53


def run_out():
    """The last fences below 2^53 are given. Then nobody is let in: a line in the log, an error for clients, no wrong fence."""
    with House(1) as group:
        group.fence(1)
        group.kill(1)
        result = recover(group, 1, "--the-others-are-lost", "--fence-floor", str((1 << 53) - (17 << 23)))
        assert result.returncode == 0, result
        fences = [0]
        for _ in range(20):
            group.start(1)
            group.await_view([1])
            client = group.client(1)
            try:
                fences.append(client.ask("LOCK", "own"))
                assert client.ask("UNLOCK", "own", fences[-1]) == 1
            except Refused as refusal:
                assert str(refusal).startswith("NOFENCE") and len(fences) > 3, (refusal, fences)
                break
            finally:
                client.close()
                group.kill(1)
        else:
            raise AssertionError(f"there are always more fences: {fences}")
        assert fences == sorted(set(fences)) and fences[-1] < 1 << 53, fences
        assert group.log(1).count("event=fences") == 1, group.log(1)


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
    sys.exit(main([survived, above_the_floor, from_before, run_out, refused]))
