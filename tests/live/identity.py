# SPDX-License-Identifier: MIT
"""A group has an identity: lost, restored, swapped and foreign directories are noticed, and no fence falls."""

import os
import random
import shutil
import signal
import sys
import time

from harness import PATIENCE, Gone, Refused, free_port, main
from membership import Room, lock_everywhere


class House(Room):
    """A group whose members' directories can be lost, saved and put back."""

    def lose(self, node):
        shutil.rmtree(self.directory / str(node))

    def save(self, node):
        shutil.rmtree(self.directory / f"{node}.saved", ignore_errors=True)
        shutil.copytree(self.directory / str(node), self.directory / f"{node}.saved")

    def restore(self, node):
        self.lose(node)
        shutil.copytree(self.directory / f"{node}.saved", self.directory / str(node))

    def log(self, node):
        return (self.directory / f"{node}.log").read_text(encoding="utf-8")

    def await_log(self, node, text):
        end = time.monotonic() + PATIENCE
        while text not in self.log(node):
            assert time.monotonic() < end, (node, text, self.log(node))
            time.sleep(0.02)

    def refused(self, node, *words):
        """The node ends by itself, with exit code 3 and one line that says why and what to do."""
        code = self.processes[node].wait(PATIENCE)  # one that does not is ended with the others
        del self.processes[node]
        assert code == 3, (code, self.log(node))
        last = self.log(node).splitlines()[-1]
        for word in words:
            assert word in last, (word, last)

    def fence(self, node):
        client = self.client(node)
        try:
            fence = client.ask("LOCK", "own", "WAIT", 10000)
            assert client.ask("UNLOCK", "own", fence) == 1
            return fence
        finally:
            client.close()

    def grants(self, node):
        """Does it grant anything now?"""
        try:
            client = self.client(node, timeout=3)
            fence = client.ask("LOCK", "other", "WAIT", 500)
            client.close()
            return fence is not None
        except (Refused, Gone, OSError):
            return False

    def replace(self, node, by):
        result = self.run(by, "replace", str(node))
        assert result.returncode == 0 and f"node {node} is replaced" in result.stdout, result


def lost_disk():
    """Node 3 is down and misses views; 2 loses its directory, 1 stops: 2 and 3 are no group, and fences do not fall."""
    with House(3) as group:
        group.kill(3)
        group.await_view([1, 2])
        for _ in range(3):  # views that 3 knows nothing of
            group.kill(2)
            group.start(2)
            group.await_view([1, 2])
        last = group.fence(1)
        group.kill(2)
        group.lose(2)
        group.kill(1)
        group.start(2, 3)
        group.await_log(2, "conclave replace 2")
        time.sleep(1.5)
        assert not group.grants(2) and not group.grants(3), (group.view(2), group.view(3))
        group.start(1)
        group.await_view([1, 3])
        fence = group.fence(3)
        assert fence > last, (fence, last)
        group.replace(2, by=1)
        group.await_view([1, 2, 3])
        group.await_votes([1, 2, 3])
        assert group.log(2).count("conclave replace 2") == 1, group.log(2)
        group.members = [1, 2, 3]
        assert lock_everywhere(group, fence) > fence


def lost_journal():
    """The same if only the journal is gone."""
    with House(3) as group:
        last = group.fence(1)
        group.kill(2)
        (group.directory / "2" / "journal").unlink()
        group.start(2)
        group.await_log(2, "conclave replace 2")
        group.await_view([1, 3])
        time.sleep(1)
        assert not group.grants(2)
        result = group.run(1, "doctor")
        assert result.returncode == 1 and "conclave replace" in result.stdout, result.stdout
        group.replace(2, by=3)
        group.await_view([1, 2, 3])
        assert group.fence(2) > last
        result = group.run(1, "doctor")
        assert "conclave replace" not in result.stdout, result.stdout


def restored():
    """A directory that is put back from a copy has forgotten promises: it is refused by all, and ends."""
    with House(3) as group:
        group.save(2)  # while it runs, as backups are made
        last = lock_everywhere(group)
        for _ in range(2):
            group.kill(3)
            group.await_view([1, 2])
            group.start(3)
            group.await_view([1, 2, 3])
        group.kill(2)
        group.await_view([1, 3])
        group.restore(2)
        group.start(2)
        group.refused(2, "old copy", "conclave replace 2")
        group.await_view([1, 3])
        last = max(last, group.fence(1))
        group.lose(2)
        path = group.directory / "2.conf"
        path.write_text(path.read_text(encoding="utf-8").replace("join = no", "join = yes"), encoding="utf-8")
        group.start(2)
        group.await_log(2, "conclave replace 2")
        group.replace(2, by=1)
        group.await_view([1, 2, 3])
        assert group.fence(2) > last


def started_since():
    """The same if the node was only started once more since the copy."""
    with House(3) as group:
        group.kill(2)
        group.await_view([1, 3])
        group.save(2)
        group.start(2)
        group.await_view([1, 2, 3])
        group.kill(2)
        group.await_view([1, 3])
        group.restore(2)
        group.start(2)
        group.refused(2, "old copy", "conclave replace 2")


def two_wiped():
    """Two of three lose their directories: they found no group beside the one that lives."""
    with House(3) as group:
        last = group.fence(1)
        group.kill(1, 2, 3)
        group.lose(2)
        group.lose(3)
        group.start(2, 3)
        group.await_log(2, "missing: 1")
        time.sleep(1)
        assert not group.grants(2) and not group.grants(3)
        group.start(1)
        group.await_log(2, "conclave replace 2")
        group.await_log(3, "conclave replace 3")
        assert not any(group.grants(node) for node in (1, 2, 3)) and last


def swapped():
    """Two nodes with each other's directories name the owners, and end."""
    with House(3) as group:
        group.kill(2, 3)
        (group.directory / "2").rename(group.directory / "x")
        (group.directory / "3").rename(group.directory / "2")
        (group.directory / "x").rename(group.directory / "3")
        group.start(2, 3)
        for node, other in ((2, 3), (3, 2)):
            code = group.processes.pop(node).wait(PATIENCE)
            assert code == 2, code
            assert f"is that of node {other}, and not of node {node}" in group.log(node), group.log(node)


def founded_by_all():
    """A group is founded when all are there; until then a node that waits says for which members."""
    group = House(3)
    try:
        group.start(1, 3)
        group.await_log(1, "missing: 2")
        time.sleep(1)
        assert not group.grants(1)
        group.start(2)
        group.await_view([1, 2, 3])
        lock_everywhere(group)
    finally:
        group.__exit__()


def founded_by_a_majority():
    """`found = yes` founds it without the missing members; they join when they come."""
    group = House(3)
    try:
        path = group.directory / "3.conf"
        path.write_text(path.read_text(encoding="utf-8").replace("join = no", "found = yes"), encoding="utf-8")
        group.start(3)
        group.await_answers(3)
        time.sleep(1)
        assert not group.grants(3)  # alone it is no majority
        group.start(2)
        group.await_view([2, 3])
        last = group.fence(2)
        group.start(1)
        group.await_view([1, 2, 3])
        group.await_votes([1, 2, 3])
        assert lock_everywhere(group, last) > last
        group.kill(3)
        group.await_view([1, 2])
    finally:
        group.__exit__()


def founded_with_crashes():
    """Nodes are killed while the group is being founded, and started again: it is founded all the same."""
    dice = random.Random(int(os.environ.get("CONCLAVE_TEST_SEED", "1")))
    for _ in range(8):
        group = House(3)
        try:
            group.start()
            for _ in range(2):
                time.sleep(dice.random() * 0.25)
                victim = dice.choice([1, 2, 3])
                group.kill(victim)
                group.start(victim)
            group.await_view([1, 2, 3])
            lock_everywhere(group)
        finally:
            group.__exit__()


def different_lists():
    """Nodes that do not list the same members found nothing together."""
    group = House(3)
    try:
        path = group.directory / "3.conf"
        path.write_text(path.read_text(encoding="utf-8").replace("[group]", f"4 = 127.0.0.1:{free_port()}\n[group]"),
                        encoding="utf-8")
        group.start()
        group.await_log(1, "it lists other [members]")
        assert not group.grants(1)
    finally:
        group.__exit__()


def two_groups():
    """Members of two groups do not mix, though their ids and addresses fit."""
    with House(3) as group:
        group.kill(2)
        group.lose(2)
        # A directory of another group: node 2 alone has founded one.
        conf = group.directory / "2.conf"
        text = conf.read_text(encoding="utf-8")
        conf.write_text("\n".join(line for line in text.splitlines() if line[:4] not in ("1 = ", "3 = ")) + "\n",
                        encoding="utf-8")
        group.start(2)
        end = time.monotonic() + PATIENCE
        while not group.grants(2):
            assert time.monotonic() < end, group.log(2)
        group.kill(2)
        conf.write_text(text, encoding="utf-8")
        group.start(2)
        group.await_log(1, "it belongs to another group")
        time.sleep(1)
        group.await_view([1, 3])


def duplicate():
    """A second process with a member's id is named, in one line, by those it speaks with and by the doctor."""
    with House(3) as group:
        group.await_votes([1, 2, 3])
        fence = group.fence(1)
        before = group.view(1)["epoch"]
        text = (group.directory / "3.conf").read_text(encoding="utf-8")
        port = free_port()
        text = text.replace(f"{group.directory}/3\n", f"{group.directory}/twin\n").replace(
            f"{group.directory}/3.sock", f"{group.directory}/twin.sock")
        text = text.replace(f"peers = 127.0.0.1:{group.ports[3]}", f"peers = 127.0.0.1:{port}")
        (group.directory / "9.conf").write_text(text, encoding="utf-8")
        group.start(9)
        group.await_log(9, "conclave replace 3")
        time.sleep(2)
        connect = [word for node in (1, 2, 3) for word in ("--connect", group.address(node))]
        result = group.run(1, "doctor", *connect)
        assert result.returncode == 1 and "refuses node 3" in result.stdout, result.stdout
        assert any("peer=3" in line and "conclave replace" in line
                   for node in (1, 2) for line in group.log(node).splitlines()), (group.log(1), group.log(2))
        view = group.await_view([1, 2, 3])
        assert view["epoch"] <= before + 2, (before, view)
        assert group.fence(2) > fence
        group.kill(9, which=signal.SIGTERM)


def twin_of(group, node, saved=False):
    """The file 9.conf: the same id at other addresses, with an empty directory or a copy of the node's own."""
    text = (group.directory / f"{node}.conf").read_text(encoding="utf-8")
    text = text.replace(f"{group.directory}/{node}.sock", f"{group.directory}/9.sock").replace(
        f"{group.directory}/{node}\n", f"{group.directory}/9\n").replace(
        f"peers = 127.0.0.1:{group.ports[node]}", f"peers = 127.0.0.1:{free_port()}")
    (group.directory / "9.conf").write_text(text, encoding="utf-8")
    if saved:
        shutil.copytree(group.directory / str(node), group.directory / "9")


def copied():
    """A second process with a copy of a member's directory ends, with a line; the first one goes on, and so do its clients."""
    for node in (1, 3):  # one that connects to the others, and one that they connect to
        with House(3) as group:
            group.await_votes([1, 2, 3])
            holder = group.client(node)
            fence = holder.ask("LOCK", "held")
            before = group.view(2)["epoch"]
            twin_of(group, node, saved=True)
            group.start(9)
            group.refused(9, f"another process runs with the id {node}")
            assert group.view(2)["epoch"] == before and holder.ask("RENEW", "held", fence) and not holder.pushes
            group.await_log(2, "two processes have this id")


def duplicate_of_static():
    """Without directories: of two processes with one id the second ends, with a line, and the first one notices nothing."""
    for node in (1, 3):
        group = House(3, mode="static")
        try:
            group.start()
            end = time.monotonic() + PATIENCE
            while not all(group.grants(member) for member in (1, 2, 3)):
                assert time.monotonic() < end, [group.log(member) for member in (1, 2, 3)]
                time.sleep(0.05)
            holder = group.client(node)
            fence = holder.ask("LOCK", "held")
            before = group.view(2)["epoch"]
            twin_of(group, node)
            group.start(9)
            group.refused(9, f"another process runs with the id {node}")
            group.await_log(2, "two processes have this id")
            assert group.view(2)["epoch"] == before and holder.ask("RENEW", "held", fence) and not holder.pushes
            group.kill(node)  # its successor is let in
            group.start(node)
            group.await_view([1, 2, 3])
        finally:
            group.__exit__()


if __name__ == "__main__":
    sys.exit(main([lost_disk, lost_journal, restored, started_since, two_wiped, swapped, founded_by_all,
                   founded_by_a_majority, founded_with_crashes, different_lists, two_groups, duplicate, copied, duplicate_of_static]))
