#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`conclave lock` and `conclave elect` with real nodes: no update is lost, whichever process is killed; the next holder begins only
when all of the last one's processes have ended; observers see every leader in order."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "live")]
from harness import CONCLAVE, PATIENCE, Cluster, Node, main  # pylint: disable=wrong-import-position
from lock import Family, finish, guard_of, survivors, until  # pylint: disable=wrong-import-position


started = []


def start(command, servers, *arguments, **options):
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    servers = servers if isinstance(servers, str) else ",".join(servers)
    process = subprocess.Popen([CONCLAVE, command, *arguments], env={**os.environ, "CONCLAVE_SERVER": servers}, **options)
    started.append(process)
    return process


def lock(servers, *arguments, **options):
    return start("lock", servers, "a", *arguments, **options)


def the_contract_holds_with_a_real_node():
    with Node() as node:
        code, out, _ = finish(lock(node.address(), "--", "sh", "-c", "echo $CONCLAVE_LOCK $CONCLAVE_FENCE; exit 7"))
        assert code == 7 and out.split()[0] == "a", (code, out)
        _, later, _ = finish(lock(node.address(), "--", "sh", "-c", "echo $CONCLAVE_LOCK $CONCLAVE_FENCE"))
        assert int(later.split()[1]) > int(out.split()[1]), (out, later)
        holder = lock(node.address(), "--", "cat", stdin=subprocess.PIPE)
        watcher = node.client()
        assert until(lambda: any(it["holder"] for it in watcher.ask("LOCKS")))
        began = time.monotonic()
        assert finish(lock(node.address(), "--wait", "0", "--", "true"))[0] == 124
        assert time.monotonic() - began < 5
        assert finish(lock(node.address(), "--wait", "0.2", "--", "true"))[0] == 124
        assert time.monotonic() - began > 0.2
        waiter = lock(node.address(), "--", "echo", "now")
        time.sleep(0.1)
        assert finish(holder, "")[0] == 0
        ended = time.monotonic()
        assert finish(waiter)[:2] == (0, "now\n")
        assert time.monotonic() - ended < 2, "consul#1006: gaps of 5 s between holders"
        readers = [lock(node.address(), "--shared", "--", "cat", stdin=subprocess.PIPE) for _ in range(3)]
        assert until(lambda: any(it["shared"] == 3 for it in watcher.ask("LOCKS"))), watcher.ask("LOCKS")
        assert [finish(reader, "")[0] for reader in readers] == [0, 0, 0]
        assert finish(lock(node.address(), "--ttl", "1.5", "--", "sleep", "3"))[0] == 0


def no_update_is_lost():
    """Read, wait, write: without the lock nearly every update would be."""
    with Cluster(3, record=False) as cluster, tempfile.TemporaryDirectory() as directory:
        count = pathlib.Path(directory) / "count"
        count.write_text("0", encoding="utf-8")
        script = f"n=$(cat {count}); sleep 0.002; echo $((n + 1)) > {count}"
        running = [lock(cluster.address(1 + i % 3), "--", "sh", "-c", script) for i in range(30)]
        ended = [finish(each) for each in running]
        assert [code for code, _, _ in ended] == [0] * 30, "".join(err for _, _, err in ended)
        assert int(count.read_text(encoding="utf-8")) == 30, count.read_text(encoding="utf-8")
    cluster.check()


def the_next_begins_when_all_of_the_last_have_ended():
    """conclave, or its guard, is killed: the next holder's first act finds none of the last one's processes."""
    with Cluster(3, record=False) as cluster:
        for whom in ("conclave", "guard", "job"):
            with tempfile.TemporaryDirectory() as directory:
                family = Family(directory, trap="trap '' TERM INT HUP")
                holder = lock(cluster.address(1), *family.command, start_new_session=True)
                pids = family.pids()
                alive = " ".join(f"$(test -e /proc/{pid} && grep -q '^State:.[^ZX]' /proc/{pid}/status && echo {name})"
                                 for name, pid in pids.items())
                waiter = lock(cluster.address(2), "--", "sh", "-c", f"echo found: {alive}")
                time.sleep(0.1)
                if whom == "job":
                    os.killpg(holder.pid, signal.SIGKILL)
                else:
                    os.kill(holder.pid if whom == "conclave" else guard_of(holder), signal.SIGKILL)
                killed = time.monotonic()
                code, out, _ = finish(waiter)
                assert time.monotonic() - killed < 3, "etcd#8365: a wait of 60 s after a crash"
                assert (code, out.strip()) == (0, "found:"), (whom, code, out)
                holder.wait(PATIENCE)
                holder.communicate()
    cluster.check()


def a_killed_node_ends_the_command_and_frees_the_lock():
    with Cluster(3, record=False) as cluster, tempfile.TemporaryDirectory() as directory:
        cluster.await_view([1, 2, 3])
        family = Family(directory)
        holder = lock(cluster.address(1), *family.command)
        pids = family.pids()
        waiter = lock(cluster.address(2), "--", "echo", "now")
        time.sleep(0.2)
        cluster.kill(1)
        code, _, err = finish(holder)
        assert code == 122 and "lost" in err, (code, err)
        assert survivors(pids, 0) == []
        assert finish(waiter)[:2] == (0, "now\n")
    cluster.check()


def a_new_coordinator_drops_no_lock():
    """consul#1162: an election among the servers costs all locks."""
    with Cluster(3, record=False) as cluster:
        _, coordinator = cluster.await_view([1, 2, 3])
        others = [node for node in (1, 2, 3) if node != coordinator]
        holder = lock(cluster.address(others[0]), "--", "sh", "-c", "echo begun; cat; echo $CONCLAVE_FENCE",
                      stdin=subprocess.PIPE)
        assert holder.stdout.readline() == "begun\n"
        waiter = lock(cluster.address(others[1]), "--", "sh", "-c", "echo $CONCLAVE_FENCE", stdin=subprocess.PIPE)
        time.sleep(0.3)
        cluster.kill(coordinator)
        cluster.await_view(others)
        time.sleep(0.3)
        assert holder.poll() is None and waiter.poll() is None, "both go on"
        code, first, err = finish(holder, "")
        assert code == 0, (code, err)
        code, second, err = finish(waiter, "")
        assert code == 0 and int(second) > int(first), (code, first, second, err)
    cluster.check()


def who_waits_at_a_killed_node_waits_on_at_another():
    with Cluster(3, record=False) as cluster:
        cluster.await_view([1, 2, 3])
        holder = lock(cluster.address(2), "--", "cat", stdin=subprocess.PIPE)
        time.sleep(0.2)
        waiter = lock([cluster.address(1), cluster.address(3)], "--", "echo", "now")
        time.sleep(0.2)
        cluster.kill(1)
        time.sleep(0.5)
        assert waiter.poll() is None, finish(waiter)
        assert finish(holder, "")[0] == 0
        code, out, err = finish(waiter)
        assert (code, out) == (0, "now\n"), (code, out, err)
    cluster.check()


def leaders_follow_one_another():
    with Cluster(3, record=False) as cluster:
        observer = start("elect", cluster.address(2), "--observe", "boss")
        assert observer.stdout.readline() == "nobody leads\n"
        fences = []
        for turn in range(4):
            leader = start("elect", cluster.address(1 + turn % 3), "boss", "--", "sh", "-c", "echo $CONCLAVE_FENCE; cat",
                           stdin=subprocess.PIPE)
            fence = int(leader.stdout.readline())
            line = observer.stdout.readline()
            assert line.endswith(f" leads (fence {fence})\n") and line.startswith(f"{1 + turn % 3}/"), (line, fence)
            if turn == 2:
                leader.kill()
            assert finish(leader, "")[0] == (-9 if turn == 2 else 0)
            assert observer.stdout.readline() == "nobody leads\n"
            fences.append(fence)
        assert fences == sorted(set(fences)), fences
        observer.terminate()
        observer.communicate()
    cluster.check()


if __name__ == "__main__":
    failed = main([the_contract_holds_with_a_real_node, no_update_is_lost, the_next_begins_when_all_of_the_last_have_ended,
                   a_killed_node_ends_the_command_and_frees_the_lock, a_new_coordinator_drops_no_lock,
                   who_waits_at_a_killed_node_waits_on_at_another, leaders_follow_one_another])
    for each in started:
        if each.poll() is None:
            each.kill()
    sys.exit(failed)
