# SPDX-License-Identifier: MIT
"""Two nodes and the file that breaks their tie, between real processes."""

import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from group import Group
from harness import CONCLAVE, Gone, Refused, main
from raft import SLACK, STUBBORN, command, lease, lock_once


class Pair(Group):
    """Nodes 1 and 2, and a file that can be taken away."""

    def __init__(self, **settings):
        self.shelf = pathlib.Path(tempfile.mkdtemp(prefix="conclave-test-"))
        self.file = self.shelf / "tie"
        self.file.touch()
        super().__init__(2, tie_breaker=self.file, **settings)

    def take_away(self):
        self.file.rename(self.shelf / "away")

    def bring_back(self):
        (self.shelf / "away").rename(self.file)

    def cut(self):
        self.split([1], [2])

    def serves(self, node):
        """Does it grant a free lock at once?"""
        client = self.client(node)
        try:
            fence = client.ask("LOCK", "trial", "WAIT", 0)
            return fence is not None and client.ask("UNLOCK", "trial", fence) == 1
        except Refused:
            return False
        finally:
            client.close()

    def is_alone(self, node):
        view = self.view(node)
        return view["coordinator"] == node and sum(member["member"] for member in view["members"]) == 1

    def await_serving(self, node, wanted=True, patience=10):
        end = time.monotonic() + patience
        while self.serves(node) != wanted:
            assert time.monotonic() < end, f"node {node} {'does not serve' if wanted else 'still serves'}"
            time.sleep(0.02)

    def __exit__(self, *problem):
        super().__exit__(*problem)
        for path in self.shelf.iterdir():
            path.unlink()
        self.shelf.rmdir()


def lose_one(which, victim):
    """The other node goes on after the victim's lease, and its clients keep their locks."""
    survivor = 3 - victim
    with Pair() as pair:
        holder, doomed, waiting = pair.client(survivor), pair.client(victim), pair.client(survivor)
        kept, old = holder.ask("LOCK", "kept"), doomed.ask("LOCK", "x")
        sure_until = time.monotonic() + doomed.ask("RENEW", "x", old) / 1000
        waiting.say("LOCK", "x")
        time.sleep(0.05)
        begun = time.monotonic()
        pair.kill(victim, which=which)
        new = waiting.hear()
        took = time.monotonic() - begun
        assert time.monotonic() > sure_until and new > old, "granted again while the first was sure to hold it"
        assert took < 2 * lease() + SLACK, took
        assert 0 < holder.ask("RENEW", "kept", kept) <= 1000 * lease()
        assert not holder.pushes and holder.ask("UNLOCK", "kept", kept) == 1, "who survives keeps its lock"
        assert waiting.ask("UNLOCK", "x", new) == 1
        time.sleep(2 * lease())
        assert lock_once(pair, survivor)[1] < SLACK, "alone it goes on, lease after lease"
        if which == signal.SIGSTOP:
            pair.kill(victim, which=signal.SIGCONT)
            assert doomed.push() == ["lost", "x", old], "told before anything else"
        else:
            pair.start(victim)
        pair.await_view()
        assert lock_once(pair, victim)[0] > new
        for client in (holder, waiting, doomed):
            client.close()


def first_killed():
    lose_one(signal.SIGKILL, 1)


def second_killed():
    lose_one(signal.SIGKILL, 2)


def first_stopped():
    lose_one(signal.SIGSTOP, 1)


def second_stopped():
    lose_one(signal.SIGSTOP, 2)


def stamp(path):
    return float(path.read_text(encoding="utf-8") or "0") if path.exists() else 0.0


def cut_apart():
    """Both reach the file: one goes on, and the other's holders are ended before other clients get their locks."""
    for _ in range(3):
        with Pair() as pair:
            paths = {node: pair.shelf / f"stamp{node}" for node in pair.members}
            holding = {node: command(pair, node, f"of-{node}", *STUBBORN, str(paths[node])) for node in pair.members}
            while not all(stamp(path) for path in paths.values()):
                ended = [process.returncode for process in holding.values() if process.poll() is not None]
                assert not ended, f"conclave lock ended with {ended} before its command began"
                time.sleep(0.01)
            begun = time.monotonic()
            pair.cut()
            while not (alone := [node for node in pair.members if pair.is_alone(node)]):
                assert time.monotonic() < begun + 4 * lease() + SLACK, "nobody goes on"
                time.sleep(0.005)
            winner, loser = alone[0], 3 - alone[0]
            assert holding[loser].wait(lease() + SLACK) == 122
            lock_once(pair, winner, f"of-{loser}")
            assert time.monotonic() > stamp(paths[loser]), "its command ran on"
            kept = holding[winner].poll() is None  # a slow file may cost it the lease it had from the other
            assert not pair.serves(loser) and pair.serves(winner)
            pair.heal()
            pair.await_view()
            pair.await_serving(loser)
            assert (holding[winner].poll() is None) == kept, "a holder that survives keeps its lock"
            holding[winner].kill()
            holding[winner].wait()


def heard_in_one_direction():
    for low, high in ((1, 2), (2, 1)):
        with Pair() as pair:
            pair.links[1, 2].cut((low, high))
            end = time.monotonic() + 3
            while sum(pair.serves(node) for node in pair.members) != 1:
                assert time.monotonic() < end
                time.sleep(0.02)
            pair.heal()
            pair.await_view()


def file_gone_together():
    """Two nodes that hear each other do not need the file; one alone does."""
    with Pair() as pair:
        holder = pair.client(1)
        held = holder.ask("LOCK", "x")
        epoch = pair.await_view()["epoch"]
        pair.take_away()
        time.sleep(3 * lease())
        assert pair.serves(1) and pair.serves(2) and pair.view(1)["epoch"] == epoch
        info = pair.client(1).ask("INFO", "raft")
        assert "tie_breaker_state:No such file" in info, info
        pair.kill(2)
        assert holder.push() == ["lost", "x", held]
        time.sleep(lease())
        assert not pair.serves(1)
        pair.bring_back()
        pair.await_serving(1)
        pair.start(2)
        pair.await_view()
        holder.close()


def file_gone_alone():
    with Pair() as pair:
        pair.kill(1)
        fence, _ = lock_once(pair, 2)
        holder = pair.client(2)
        held = holder.ask("LOCK", "x")
        assert held > fence
        begun = time.monotonic()
        pair.take_away()
        assert holder.push() == ["lost", "x", held]
        assert time.monotonic() < begun + lease() + SLACK
        assert not pair.serves(2)
        pair.start(1)
        pair.await_answers(1)
        time.sleep(3 * lease())
        assert not pair.serves(1), "nobody may say who is in the view"
        pair.bring_back()
        pair.await_view()
        assert lock_once(pair, 1)[0] > held
        holder.close()


def all_restarted():
    with Pair() as pair:
        last = 0
        for turn in range(3):
            for node in pair.members:
                fence, _ = lock_once(pair, node)
                assert fence > last
                last = fence
            pair.kill(*pair.members, which=signal.SIGTERM if turn == 1 else signal.SIGKILL)
            pair.start()
            pair.await_view()


def one_after_the_other():
    """A node that is started alone takes over from one that died alone; the stale one joins it later."""
    with Pair() as pair:
        fence, _ = lock_once(pair, 1)
        pair.kill(1)
        fence, last = lock_once(pair, 2)[0], fence
        assert fence > last
        pair.kill(2)
        pair.start(1)
        pair.await_view([1])
        fence, last = lock_once(pair, 1)[0], fence
        assert fence > last, "it was left out, and nobody else is there"
        pair.start(2)
        pair.await_view()
        assert lock_once(pair, 2)[0] > fence


TTL = 20000
SECRET = "a secret of the grant"


def renew(pair, node, fence, name="job"):
    """Renews by the secret; asks again while the node has no view and says NOQUORUM."""
    client, end = pair.client(node), time.monotonic() + 30
    try:
        while True:
            try:
                return client.ask("RENEW", name, fence, "SECRET", SECRET, "TTL", TTL)
            except Refused as refused:
                assert time.monotonic() < end, refused
                time.sleep(0.02)
    finally:
        client.close()


def is_held(pair, node, name="job"):
    client = pair.client(node)
    try:
        return client.ask("LOCK", name, "WAIT", 300) is None
    finally:
        client.close()


def ttl_outlives_either():
    """A hold with a time to live goes on with the other node, whichever dies or hangs, and with a node that comes back."""
    with Pair() as pair:
        for victim, which in ((1, signal.SIGKILL), (2, signal.SIGKILL), (1, signal.SIGSTOP), (2, signal.SIGTERM)):
            survivor, holder = 3 - victim, pair.client(victim)
            fence = holder.ask("LOCK", "job", "TTL", TTL, "SECRET", SECRET)
            pair.kill(victim, which=which)
            assert renew(pair, survivor, fence) == TTL and is_held(pair, survivor)
            if which == signal.SIGSTOP:
                pair.kill(victim, which=signal.SIGCONT)
            else:
                pair.start(victim)
            pair.await_view()
            assert renew(pair, victim, fence) == TTL and is_held(pair, victim) and is_held(pair, survivor)
            pair.kill(survivor)
            assert renew(pair, victim, fence) == TTL, "whoever came back knows it, too"
            pair.start(survivor)
            pair.await_view()
            client = pair.client(survivor)
            assert client.ask("UNLOCK", "job", fence, "SECRET", SECRET) == 1
            client.close()


def ttl_outlives_both():
    """Both are killed: nothing new is granted in the time of grace, and clients claim what they held."""
    with Pair() as pair:
        holder = pair.client(1)
        fence = holder.ask("LOCK", "job", "TTL", TTL, "SECRET", SECRET)
        pair.kill(1, 2)
        pair.start()
        pair.await_view()
        assert pair.view(2)["grace_ms"] > 0 and is_held(pair, 1, "another")
        assert renew(pair, 2, fence) == TTL and is_held(pair, 1)


def ttl_granted_alone():
    """A node that was gone does not know the other's grants, and the other one dies: it must not go on without them."""
    with Pair() as pair:
        pair.kill(2)
        holder = pair.client(1)
        fence = holder.ask("LOCK", "job", "TTL", TTL, "SECRET", SECRET)
        pair.kill(1)
        pair.start(2)
        pair.await_view([2])
        assert pair.view(2)["grace_ms"] > 0 and is_held(pair, 2, "another")
        assert renew(pair, 2, fence) == TTL and is_held(pair, 2)


def another_file():
    """A node that has a file of its own never goes on alone."""
    with Pair() as pair:
        pair.kill(2)
        path = pair.directory / "2.conf"
        other = pair.shelf / "other"
        other.touch()
        path.write_text(path.read_text(encoding="utf-8").replace(str(pair.file), str(other)), encoding="utf-8")
        pair.start(2)
        pair.await_view()
        time.sleep(2 * lease())
        assert "it is not the one" in pair.client(2).ask("INFO", "raft")
        pair.kill(1)
        time.sleep(4 * lease())
        assert not pair.serves(2)
        pair.start(1)
        pair.await_view()


def ended_in_order():
    with Pair() as pair:
        for node in pair.members:
            begun = time.monotonic()
            pair.kill(node, which=signal.SIGTERM)
            assert lock_once(pair, 3 - node)[1] < lease() + SLACK, "the lease of one that goes in order is not waited for"
            assert time.monotonic() - begun < lease() + SLACK
            pair.start(node)
            pair.await_view()


def shows_itself():
    with Pair() as pair:
        view = pair.await_view()
        assert view["mode"] == "tie" and 0 < view["lease_ms"] <= 1000 * lease(), view
        result = subprocess.run([CONCLAVE, "status", "--server", pair.address(1)], capture_output=True, text=True,
                                check=False)
        assert result.returncode == 0 and "tie-breaker" in result.stdout, result


def doctor(pair):
    return subprocess.run([CONCLAVE, "doctor", "--server", f"{pair.address(1)},{pair.address(2)}"],
                          capture_output=True, text=True, check=False)


def seen_by_a_doctor():
    with Pair() as pair:
        pair.await_view()
        result = doctor(pair)
        assert result.returncode == 0 and "tie-breaker: all that answer can use it" in result.stdout, result
        pair.take_away()
        time.sleep(3 * lease())
        result = doctor(pair)
        assert result.returncode == 1 and f"node 2 cannot use {pair.file}: " in result.stdout, result
        pair.cut()
        pair.await_serving(1, False)
        result = doctor(pair)
        assert result.returncode == 1 and "the tie-breaker is of no use: " in result.stdout, result


def members_are_fixed():
    """No member can join or leave, and a configuration with other members changes nothing and ends no node."""
    with Pair() as pair:
        fence, _ = lock_once(pair, 1)
        for words in (["join", "3=127.0.0.1:1"], ["leave", "2"], ["leave"]):
            result = subprocess.run([CONCLAVE, *words, "--server", pair.address(1)], capture_output=True, text=True,
                                    check=False)
            assert result.returncode == 2 and "those of its configuration" in result.stderr, result
        path = pair.directory / "1.conf"
        before = path.read_text(encoding="utf-8")
        for old, new in (("[group]", "3 = 127.0.0.1:1\n[group]"), (f"tie-breaker = {pair.file}", ""),
                         ("\n[group]", " attribute 9\n[group]")):
            path.write_text(before.replace(old, new), encoding="utf-8")
            pair.kill(1, which=signal.SIGHUP)
            time.sleep(0.1)
        log = (pair.directory / "1.log").read_text(encoding="utf-8")
        assert log.count("HUP: ") == 3 and log.count("changes only while both nodes are down") == 2, log
        assert lock_once(pair, 2)[0] > fence and len(pair.await_view()["members"]) == 2
        pair.kill(2)
        pair.reconfigure(pair.members)  # the second is found elsewhere from now on
        pair.kill(1, which=signal.SIGHUP)
        pair.start(2)
        pair.await_view()
        assert lock_once(pair, 2)[0] > fence


def wrong_settings():
    members = {1: "1 = :7801\n", 2: "1 = :7801\n2 = :7802\n", 3: "1 = :7801\n2 = :7802\n3 = :7803\n"}
    cases = [(members[3], "tie-breaker = /x\n", "expected two [members], not 3"),
             (members[1], "tie-breaker = /x\n", "expected two [members], not 1"),
             (members[2], "tie-breaker =\n", "expected the path"),
             (members[2], "mode = static\ntie-breaker = /x\n", "expected mode = raft, not static"),
             ("1 = :7801\n2 = :7802 standby\n", "tie-breaker = /x\n", "no standbys"),
             (members[2], "tie-breaker = /x\n[node]\njoin = yes\n", "expected no join = yes")]
    for who, group, expected in cases:
        with tempfile.NamedTemporaryFile("w", suffix=".conf", encoding="utf-8") as file:
            file.write(f"[node]\nid = 1\ndirectory = /nowhere\n[members]\n{who}[group]\n{group}")
            file.flush()
            result = subprocess.run([CONCLAVE, "node", "--config", file.name], capture_output=True, text=True,
                                    timeout=10, check=False)
        assert result.returncode == 2 and expected in result.stderr and result.stderr.count("\n") == 1, result


if __name__ == "__main__":
    try:
        sys.exit(main([first_killed, second_killed, first_stopped, second_stopped, cut_apart, heard_in_one_direction,
                       file_gone_together, file_gone_alone, all_restarted, one_after_the_other, ttl_outlives_either, ttl_outlives_both, ttl_granted_alone, another_file,
                       ended_in_order, shows_itself, seen_by_a_doctor, members_are_fixed, wrong_settings]))
    except Gone:
        sys.exit("a node ended")
