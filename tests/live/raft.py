# SPDX-License-Identifier: MIT
"""`group raft` between real processes: views agreed by a majority, leases, and the loss of nodes."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

from group import Group
from harness import CONCLAVE, PATIENCE, Gone, Refused, main, stretch

LEASE = 0.3  # seconds, by default
SLACK = 1.0  # seconds that a busy machine may add


def lease():
    """The lease of the groups in this attempt."""
    return LEASE * stretch()


def lock_once(group, node, name="x", patience=10):
    """Locks and unlocks; (fence, seconds it took)."""
    begun = time.monotonic()
    while True:
        client = group.client(node)
        try:
            fence = client.ask("LOCK", name, "WAIT", patience * 1000)
            took = time.monotonic() - begun
            assert fence is not None, f"not granted in {patience} s"
            assert client.ask("UNLOCK", name, fence) == 1
            return fence, took
        except Refused as error:
            assert str(error).startswith("NOQUORUM") and time.monotonic() < begun + patience, error
            time.sleep(0.02)
        finally:
            client.close()


def others(group, *gone):
    return [node for node in group.members if node not in gone]


def move(group, coordinator):
    """Makes that node the coordinator."""
    client = group.client(coordinator)
    assert client.ask("STEPDOWN", coordinator) == "OK"
    client.close()
    end = time.monotonic() + 10
    while group.await_view()["coordinator"] != coordinator:
        assert time.monotonic() < end, "it does not step down"
        time.sleep(0.01)


def roles(group, same):
    """Coordinator and leader of the log, the same node or two different ones."""
    leader = group.await_view()["raft_leader"]
    move(group, leader if same else others(group, leader)[0])
    view = group.await_view()
    assert (view["coordinator"] == view["raft_leader"]) == same, view
    return view["coordinator"], view["raft_leader"]


def lose_one(which, victim_of, same):
    """A node dies or hangs; a client of another node keeps its lock, and one that waits gets the lock."""
    with Group(3) as group:
        victim = victim_of(*roles(group, same))
        holder_node, waiting_node = others(group, victim)
        holder, waiting, doomed = group.client(holder_node), group.client(waiting_node), group.client(victim)
        kept = holder.ask("LOCK", "kept")
        old = doomed.ask("LOCK", "x")
        left = doomed.ask("RENEW", "x", old) / 1000
        sure_until = time.monotonic() + left
        waiting.say("LOCK", "x")
        before = group.view(holder_node)["epoch"]
        time.sleep(0.05)
        group.kill(victim, which=which)
        new = waiting.hear()
        assert time.monotonic() > sure_until, "granted again while the first was sure to hold it"
        assert new > old and new >> 23 > before, (new, old, before)
        group.await_view([holder_node, waiting_node])
        assert 0 < holder.ask("RENEW", "kept", kept) <= 1000 * lease()
        assert holder.ask("UNLOCK", "kept", kept) == 1, "a holder that survives keeps its lock"
        assert waiting.ask("UNLOCK", "x", new) == 1
        if which == signal.SIGSTOP:
            group.kill(victim, which=signal.SIGCONT)
            assert doomed.push() == ["lost", "x", old], "told before anything else"
            try:
                assert doomed.ask("UNLOCK", "x", old) == 0
            except Refused as refused:
                assert str(refused).startswith("NOQUORUM")
        else:
            group.start(victim)
        group.await_view()
        assert lock_once(group, victim)[0] > new
        for client in (holder, waiting, doomed):
            client.close()


def coordinator_killed():
    lose_one(signal.SIGKILL, lambda coordinator, leader: coordinator, same=False)


def log_leader_killed():
    lose_one(signal.SIGKILL, lambda coordinator, leader: leader, same=False)


def both_killed():
    lose_one(signal.SIGKILL, lambda coordinator, leader: leader, same=True)


def coordinator_stopped():
    lose_one(signal.SIGSTOP, lambda coordinator, leader: coordinator, same=False)


def log_leader_stopped():
    lose_one(signal.SIGSTOP, lambda coordinator, leader: leader, same=False)


def both_stopped():
    lose_one(signal.SIGSTOP, lambda coordinator, leader: leader, same=True)


STUBBORN = ["python3", "-c", """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(str(time.monotonic()))
    time.sleep(0.002)
"""]


def command(group, node, name, *words):
    environment = dict(os.environ, CONCLAVE_SERVER=group.address(node))
    return subprocess.Popen([CONCLAVE, "lock", name, "--ttl", "0", "--", *words], env=environment, stderr=subprocess.DEVNULL)


def cut_off(cut, node):
    """The command of a holder that is cut off has ended before another client gets the lock, even if it ignores signals."""
    with Group(3) as group, tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "stamp")
        holding = command(group, node, "x", *STUBBORN, path)
        while not os.path.exists(path):
            assert holding.poll() is None, f"conclave lock ended with {holding.returncode} before its command began"
            time.sleep(0.01)
        time.sleep(0.2)
        waiting = group.client(others(group, node)[0])
        waiting.say("LOCK", "x")
        begun = time.monotonic()
        cut(group, node)
        granted = {}

        def wait():
            granted["fence"] = waiting.hear()
            granted["at"] = time.monotonic()

        thread = threading.Thread(target=wait)
        thread.start()
        assert holding.wait(10) == 122
        assert time.monotonic() < begun + lease() + SLACK, "within the lease"
        thread.join(10)
        with open(path, encoding="utf-8") as file:
            last = float(file.read() or "0")
        assert granted["at"] > last, f"the command ran on for {last - granted['at']} s"
        try:
            assert waiting.ask("UNLOCK", "x", granted["fence"]) == 1
        finally:
            waiting.close()
        tried = time.monotonic()
        assert command(group, node, "y", "true").wait(10) == 123
        assert time.monotonic() < tried + 2 * lease() + SLACK
        client = group.client(node)
        try:
            client.ask("LOCK", "y", "WAIT", 0)
            raise AssertionError("the minority grants")
        except Refused as error:
            assert str(error).startswith("NOQUORUM"), error
        client.close()
        group.heal()
        group.await_view()
        assert command(group, node, "y", "true").wait(10) == 0, "it serves again, without a restart"


def member_cut_off():
    cut_off(lambda group, node: group.split([node], others(group, node)), 1)


def coordinator_cut_off():
    cut_off(lambda group, node: group.split([node], others(group, node)), 3)


def member_unheard():
    cut_off(lambda group, node: group.mute(node), 1)


def coordinator_unheard():
    cut_off(lambda group, node: group.mute(node), 3)


def ended_in_order():
    """The others need not wait for the lease of a node that ends in order, unless a client holds a lock there."""
    with Group(3) as group, tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "stamp")
        holding = command(group, 3, "x", *STUBBORN, path)
        while not os.path.exists(path):
            assert holding.poll() is None, f"conclave lock ended with {holding.returncode} before its command began"
            time.sleep(0.01)
        waiting = group.client(1)
        waiting.say("LOCK", "x")
        time.sleep(0.1)
        group.kill(3, which=signal.SIGTERM)
        fence = waiting.hear()
        granted = time.monotonic()
        assert holding.wait(10) == 122
        with open(path, encoding="utf-8") as file:
            assert granted > float(file.read() or "0"), "the command ran on"
        group.await_view([1, 2])
        assert waiting.ask("UNLOCK", "x", fence) == 1
        group.start(3)
        group.await_view()
        took = []
        for node in (3, 2, 1):
            group.kill(node, which=signal.SIGTERM)
            _, seconds = lock_once(group, others(group, node)[0])
            group.await_view(others(group, node))
            took.append(seconds)
            group.start(node)
            group.await_view()
        assert min(took) < lease() / 2, took
        waiting.close()


def promise_is_kept():
    """A client that has asked how long its lock lasts may rely on that, even if its connection breaks; others wait."""
    with Group(3) as group:
        for asks in (False, True):
            holder, other = group.client(1), group.client(2)
            fence = holder.ask("LOCK", "x")
            sure_until = time.monotonic() + (holder.ask("RENEW", "x", fence) / 1000 if asks else 0)
            holder.close()
            assert other.ask("LOCK", "x") > fence
            assert time.monotonic() > sure_until
            other.close()


def standbys():
    """Members without a vote come and go, and do not count."""
    with Group(4, standbys=[4]) as group:
        assert lock_once(group, 4)[0] > 0
        group.kill(4)
        group.await_view([1, 2, 3])
        group.start(4)
        group.await_view()
        group.kill(3)
        group.await_view([1, 2, 4])
        assert lock_once(group, 4)[0] > 0
        group.kill(2)
        client = group.client(4)
        end = time.monotonic() + 10
        while True:
            try:
                client.ask("LOCK", "y", "WAIT", 0)
                assert time.monotonic() < end, "granted without a majority of the voters"
                client.ask("UNLOCK", "y", client.ask("LOCK", "y"))
            except Refused as error:
                if "HELD" not in str(error):
                    break
        client.close()
        group.start(2, 3)
        group.await_view()


def other_members():
    """A group that is started again with other members goes on with higher fences, and counts the new majority."""
    with Group(3) as group:
        fence, _ = lock_once(group, 1)
        group.kill(1, 2, 3, which=signal.SIGTERM)
        group.reconfigure([1, 2, 3, 7, 9], joining=[7, 9])
        group.start()
        group.await_view()
        for node in (9, 1):
            higher, _ = lock_once(group, node)
            assert higher > fence
            fence = higher
        time.sleep(1)  # for a vote each
        group.kill(1, 2)
        group.await_view([3, 7, 9])
        higher, _ = lock_once(group, 7)
        assert higher > fence
        for gone in (1, 2):  # a file without them would not take them out
            client = group.client(3)
            assert client.ask("LEAVE", gone) == "OK"
            client.close()
            end = time.monotonic() + PATIENCE
            while gone in {member["id"] for member in group.view(3)["members"]}:
                assert time.monotonic() < end, group.view(3)
                time.sleep(0.02)
        group.kill(3, 7, 9)
        group.reconfigure([3, 7, 9])
        group.start()
        group.await_view()
        time.sleep(1)
        group.kill(9)
        group.await_view([3, 7])
        assert lock_once(group, 3)[0] > higher


def majority_of_five():
    """Two of five may go; with three gone nothing is granted, until one of them is back."""
    with Group(5) as group:
        fence, _ = lock_once(group, 1)
        group.kill(5, 4)
        group.await_view([1, 2, 3])
        higher, _ = lock_once(group, 1)
        assert higher > fence
        client = group.client(1)
        client.say("LOCK", "y", "WAIT", 5000)
        assert client.hear() > 0
        group.kill(3)
        assert client.push()[:2] == ["lost", "y"]
        try:
            client.ask("LOCK", "z", "WAIT", 2000)
            raise AssertionError("two of five grant")
        except Refused as error:
            assert str(error).startswith("NOQUORUM"), error
        client.close()
        group.start(4)
        group.await_view([1, 2, 4])
        assert lock_once(group, 1)[0] > higher
        group.start(3, 5)
        group.await_view()


def grants_nothing(group, node):
    client = group.client(node, timeout=30)
    try:
        client.ask("LOCK", "other", "WAIT", 5000)
        raise AssertionError(f"node {node} grants without a majority")
    except Refused as error:
        assert str(error).startswith("NOQUORUM"), error
    finally:
        client.close()


def halves_of_four():
    """Neither of two equal halves is a majority; reunited they go on by themselves."""
    with Group(4) as group:
        holders = [group.client(node) for node in (1, 4)]
        fences = [holder.ask("LOCK", f"held-{i}") for i, holder in enumerate(holders)]
        group.split([1, 2], [3, 4])
        for i, holder in enumerate(holders):
            assert holder.push() == ["lost", f"held-{i}", fences[i]]
        for node in group.members:
            grants_nothing(group, node)
        group.heal()
        group.await_view()
        assert lock_once(group, 1, "held-0")[0] > fences[0]


def one_of_two_is_gone():
    """Without a tie-breaker neither of two goes on alone."""
    with Group(2) as group:
        holder = group.client(1)
        fence = holder.ask("LOCK", "held")
        group.kill(2)
        assert holder.push() == ["lost", "held", fence]
        grants_nothing(group, 1)
        group.start(2)
        group.await_view()
        assert lock_once(group, 1, "held")[0] > fence


def stopped_briefly():
    """A node hangs for less than its lease and the others' patience: no client loses a lock, and no view begins."""
    with Group(3, lease=4000, timeout=3000) as group:
        holder = group.client(1)
        fence = holder.ask("LOCK", "held")
        before = group.view(2)["epoch"]
        group.kill(1, which=signal.SIGSTOP)
        time.sleep(0.5)
        group.kill(1, which=signal.SIGCONT)
        assert holder.ask("RENEW", "held", fence) > 0 and not holder.pushes
        assert group.await_view()["epoch"] == before


def all_restarted():
    """Fences rise, whichever node dies, however often."""
    with Group(3) as group:
        last = 0
        for turn in range(4):
            for node in group.members:
                fence, _ = lock_once(group, node)
                assert fence > last, (fence, last)
                last = fence
            group.kill(*group.members) if turn % 2 else [group.kill(node) for node in (2, 3, 1)]
            group.start()
            group.await_view()


def one_alone():
    """A single node with a directory never gives a fence twice; without one it need not be that careful."""
    with Group(1) as group:
        last = 0
        for _ in range(6):
            fence, _ = lock_once(group, 1)
            assert fence > last
            last = fence
            group.kill(1)
            group.start(1)
            view = group.await_view()
            assert view["mode"] == "raft" and view["raft_leader"] == 1, view


def returning_node_waits():
    """A better coordinator that comes and goes does not take over each time."""
    with Group(3, hold_off=1500) as group:
        assert group.await_view()["coordinator"] == 3
        for _ in range(2):
            group.kill(3)
            assert group.await_view([1, 2])["coordinator"] == 2
            group.start(3)
            assert group.await_view()["coordinator"] == 2, "it has only just come back"
        end = time.monotonic() + 10
        while group.await_view()["coordinator"] != 3:
            assert time.monotonic() < end
            time.sleep(0.05)


def stepped_down():
    with Group(3) as group:
        environment = dict(os.environ, CONCLAVE_SERVER=group.address(1))

        def step_down(*words):
            return subprocess.run([CONCLAVE, "step-down", *words], env=environment, capture_output=True, text=True,
                                  check=False)

        holder = group.client(3)
        held = holder.ask("LOCK", "x")
        result = step_down("--to", "1")
        assert result.returncode == 0 and "node 1 coordinates" in result.stdout, result
        assert group.await_view()["coordinator"] == 1
        result = step_down()
        assert result.returncode == 0 and group.await_view()["coordinator"] == 3, result
        time.sleep(0.2)
        assert holder.ask("UNLOCK", "x", held) == 1, "nobody lost anything"
        holder.close()
        result = step_down("--to", "9")
        assert result.returncode == 2 and "9" in result.stderr and result.stderr.count("\n") == 1, result


def waits_through_views():
    """A client that waits goes on waiting, whatever happens to the other nodes."""
    with Group(3) as group:
        holder, waiting = group.client(1), group.client(1)
        held = holder.ask("LOCK", "x")
        waiting.say("LOCK", "x")
        for victim in (3, 2):
            group.kill(victim)
            group.await_view(others(group, victim))
            group.start(victim)
            group.await_view()
        assert holder.ask("UNLOCK", "x", held) == 1
        assert waiting.hear() > held
        for client in (holder, waiting):
            client.close()


def two_apart():
    """Two members cannot hear each other, and the leader of the log hears both: afterwards nothing hangs."""
    with Group(3) as group:
        for node in group.members:
            path = group.directory / f"{node}.conf"
            path.write_text(path.read_text() + "[lock *]\nalgorithm = ricart-agrawala\n", encoding="utf-8")
        group.kill(*group.members)
        group.start()
        leader = group.await_view()["raft_leader"]
        pair = tuple(others(group, leader))
        for _ in range(3):
            waiting = [group.client(node) for node in pair]
            group.links[pair].cut()
            for client in waiting:
                client.say("LOCK", "x", "WAIT", 100)
            time.sleep(1)  # they suspect each other, and their messages are lost
            group.heal()
            for client in waiting:
                client.close()
            for node in group.members:
                lock_once(group, node)
            group.await_view()


def each_algorithm_goes_on():
    for algorithm in ("central", "central-deny", "ricart-agrawala", "lamport", "maekawa", "token-ring", "voting"):
        with Group(3) as group:
            for node in group.members:
                path = group.directory / f"{node}.conf"
                path.write_text(path.read_text() + f"[lock *]\nalgorithm = {algorithm}\n", encoding="utf-8")
            group.kill(*group.members)
            group.start()
            group.await_view()
            last = 0
            for gone in (3, 1):
                for node in group.members:
                    fence, _ = lock_once(group, node)
                    assert fence > last, (algorithm, fence, last)
                    last = fence
                group.kill(gone)
                for node in others(group, gone):
                    fence, _ = lock_once(group, node)
                    assert fence > last, (algorithm, fence, last)
                    last = fence
                group.start(gone)
                group.await_view()


def shows_itself():
    with Group(3) as group:
        view = group.await_view()
        assert view["mode"] == "raft" and 0 < view["lease_ms"] <= 1000 * lease() and view["raft_term"] > 0, view
        client = group.client(1)
        info = dict(line.split(":", 1) for line in client.ask("INFO", "raft").splitlines() if ":" in line)
        assert int(info["raft_leader"]) == view["raft_leader"] and int(info["lapses"]) >= 0, info
        assert client.ask("HELLO")["mode"] == "raft"
        client.close()
        result = subprocess.run([CONCLAVE, "status", "--server", group.address(1)], capture_output=True, text=True,
                                check=False)
        assert result.returncode == 0 and "group raft" in result.stdout, result


if __name__ == "__main__":
    try:
        sys.exit(main([coordinator_killed, log_leader_killed, both_killed, coordinator_stopped, log_leader_stopped,
                       both_stopped, member_cut_off, coordinator_cut_off, member_unheard, coordinator_unheard,
                       ended_in_order, promise_is_kept, standbys, other_members, majority_of_five, halves_of_four, one_of_two_is_gone, stopped_briefly, all_restarted, one_alone, returning_node_waits, stepped_down,
                       waits_through_views, two_apart, each_algorithm_goes_on, shows_itself]))
    except Gone:
        sys.exit("a node ended")
