# SPDX-License-Identifier: MIT
"""Algorithms of one's own in live nodes: hosted like ours, from files that can be trusted, the same at all members."""

import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile

import forge
from harness import CONCLAVE, PATIENCE, Cluster, Gone, Refused, in_parallel, main
from hostile import disguise, hang_up, info, log, peer_address, until
from identity import House

SOURCE = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
NEXT = ("return theirs->number > 0;", "return theirs->number != 0;")  # the next version, which does the same
MUTEX, ELECTION = (SOURCE / "examples" / name for name in ("suzuki_kasami.c", "roll_call.c"))


class Files:
    """A directory for plugins that only its owner can write to."""

    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="conclave-test-"))
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def build(self, name, source=MUTEX, *changes):
        """Compiles an example, with some of its text changed."""
        text = source.read_text(encoding="utf-8")
        for before, after in changes:
            assert text.count(before) == 1, (before, text.count(before))
            text = text.replace(before, after)
        code, target = self.path / f"{name}.c", self.path / f"{name}.so"
        code.write_text(text, encoding="utf-8")
        subprocess.run(["cc", "-w", "-shared", "-fPIC", "-I", str(SOURCE / "include"), "-o", str(target), str(code)], check=True)
        target.chmod(0o755)
        return target


def enter(cluster, node, name, times):
    client = cluster.client(node)
    for _ in range(times):
        fence = client.ask("LOCK", name)
        assert client.ask("UNLOCK", name, fence) == 1
    client.close()


# ---- hosted like ours ----


def hosted():
    """Suzuki and Kasami's token, and roll call as both elections: contended, with a crash of the node whose client holds."""
    with Files() as files:
        mutex, election = files.build("sk"), files.build("roll", ELECTION)
        cluster = Cluster(3, "--algorithm", str(mutex), "--election", str(election), "--set", f"election *.algorithm={election}")
        with cluster:
            cluster.await_view([1, 2, 3], coordinator=3)
            in_parallel(*[lambda node=node: enter(cluster, node, "x", 10) for node in (1, 2, 3)])
            candidates = {node: cluster.client(node) for node in (1, 2, 3)}
            for node, client in candidates.items():
                client.say("CAMPAIGN", "boss", "PRIORITY", node)
            holder = cluster.client(3)
            first = holder.ask("LOCK", "x")
            cluster.kill(3)
            cluster.await_view([1, 2], coordinator=2)
            waiter = cluster.client(1)
            second = waiter.ask("LOCK", "x")
            assert second > first, (first, second)
            leader = cluster.client(2).ask("LEADER", "boss")
            assert leader, leader
            in_parallel(*[lambda node=node: enter(cluster, node, "y", 5) for node in (1, 2)])
        report = cluster.judge("--with", str(mutex), "--with", str(election))
        run, clients = [name for name in report["names"] if name["name"] == "x"]
        assert run["algorithm"] == "suzuki-kasami" and clients["entries"] == 32, (run, clients)
        group, = [name for name in report["names"] if name["subject"] == "group"]
        assert group["algorithm"] == "roll-call" and group["messages"]["total"] > 0, group
        refused = subprocess.run([CONCLAVE, "judge", *map(str, (cluster.directory / "record").glob("*.jsonl"))], capture_output=True,
                                 text=True, check=False)
        assert refused.returncode == 2 and "--with" in refused.stderr and refused.stderr.count("\n") == 1, refused
        cluster.remove()


def counted():
    """n messages an entry without contention, none if the token is here: as the paper has it."""
    with Files() as files:
        mutex = files.build("sk")
        with Cluster(4, "--group", "static", "--set", "group.timeout=20000", "--algorithm", str(mutex)) as cluster:
            for node in (1, 4, 4, 2):
                enter(cluster, node, "x", 3)
        cluster.check()
        report = cluster.judge("--with", str(mutex))
        run, = [name for name in report["names"] if name["name"] == "x" and name["of"] == "nodes"]
        assert run["entries"] == 12 and run["messages"]["total"] == 2 * 4, run
        cluster.remove()


# ---- files that cannot be trusted, and tables that cannot be used ----


def refuse(section, path, *words):
    """The node does not start, and says why in one line that names the file."""
    with tempfile.TemporaryDirectory(prefix="conclave-test-") as directory:
        told = subprocess.run([CONCLAVE, "node", "--listen", f"{directory}/s", "--set", f"{section}.algorithm={path}"],
                              capture_output=True, text=True, check=False, timeout=60)
    assert told.returncode == 2 and told.stderr.count("\n") == 1 and told.stdout == "", told
    for word in (f"[{section}] algorithm = ", pathlib.Path(path).name, *words):
        assert word in told.stderr, (word, told.stderr)


def untrusted_files():
    with Files() as files:
        good = files.build("sk")
        for mode in (0o775, 0o757, 0o722):
            good.chmod(mode)
            refuse("lock *", good, f"mode {mode:04o}", "expected")
        good.chmod(0o755)
        for mode in (0o775, 0o757):
            files.path.chmod(mode)
            refuse("lock *", good, f"{files.path} has mode {mode:04o}")
        files.path.chmod(0o1777)  # as /tmp: nobody can replace what belongs to others
        with Cluster(1, "--algorithm", str(good), record=False) as cluster:
            enter(cluster, 1, "x", 1)
        files.path.chmod(0o755)
        if os.geteuid() == 0:
            os.chown(good, 12345, 12345)
            refuse("lock *", good, "belongs to user 12345; expected root")
            os.chown(good, 0, 0)
            os.chown(files.path, 12345, 12345)
            refuse("lock *", good, f"{files.path} belongs to user 12345")
            os.chown(files.path, 0, 0)
        (files.path / "open").mkdir()
        (files.path / "open").chmod(0o777)
        shutil.copy(good, files.path / "open" / "sk.so")
        (files.path / "link.so").symlink_to("open/sk.so")
        refuse("lock *", files.path / "link.so", "open has mode 0777")
        (files.path / "open").chmod(0o755)
        with Cluster(1, "--algorithm", str(files.path / "link.so"), record=False) as cluster:
            enter(cluster, 1, "x", 1)
        if os.geteuid() == 0:
            os.lchown(files.path / "link.so", 12345, 12345)
            refuse("lock *", files.path / "link.so", "belongs to user 12345; expected root")
        (files.path / "loop.so").symlink_to("loop.so")
        refuse("lock *", files.path / "loop.so", "Too many levels")
        os.mkfifo(files.path / "fifo.so")
        refuse("lock *", files.path / "fifo.so", "a FIFO")
        refuse("lock *", files.path / "open", "a directory")
        refuse("lock *", files.path / "nothing.so", "No such file")
        refuse("lock *", str(good) + "/x", "Not a directory")
        (files.path / "empty.so").touch()
        refuse("lock *", files.path / "empty.so", "0 bytes")
        (files.path / "text.so").write_text("no object\n" * 10)
        refuse("lock *", files.path / "text.so", "expected a shared object")
        (files.path / "sk.c").write_text(MUTEX.read_text(encoding="utf-8"), encoding="utf-8")
        refuse("lock *", files.path / "sk.c", "expected a shared object", "cc -shared")
        for bytes_left in (20, 70, 1000, 5000):
            (files.path / "half.so").write_bytes(good.read_bytes()[:bytes_left])
            refuse("lock *", files.path / "half.so", "expected")


def unusable_tables():
    with Files() as files:
        build = files.build
        refuse("lock *", build("old", MUTEX, (".abi = CV_ABI", ".abi = CV_ABI + 1")), "version")
        refuse("lock *", build("nameless", MUTEX, ("conclave_algorithm = {", "another_name = {")), "conclave_algorithm")
        refuse("lock *", build("deaf", MUTEX, ("    .adopt = adopt,\n", "")), "adopt")
        refuse("lock *", build("roll", ELECTION), "roll-call is an election algorithm; expected a mutual exclusion algorithm")
        refuse("election *", build("sk"), "suzuki-kasami is a mutual exclusion algorithm; expected an election algorithm")
        refuse("lock *", build("set", SOURCE / "examples" / "independent_set.c"), "independent-set is a synchronous algorithm")
        refuse("election *", build("idle", ELECTION, ("    .start = speak,\n", "")), "start")
        refuse("lock *", build("spoken", MUTEX, ('.name = "suzuki-kasami"', '.name = "two\\nlines"')), "letters, digits")
        refuse("lock *", build("large", MUTEX, ("return sizeof(struct state) +", "return ((size_t)1 << 40) + sizeof(struct state) +")),
               "a state of", "expected at most")
        refuse("lock *", build("unlinked", MUTEX, ("static void enter(struct cv_self *me)\n{", "void nowhere(void);\n"
                                                   "static void enter(struct cv_self *me)\n{\n    nowhere();")), "nowhere")


def commands():
    """What --algorithm, --election and --with refuse before they start anything."""
    with Files() as files:
        mutex, election = files.build("sk"), files.build("roll", ELECTION)
        twin = files.build("twin", MUTEX, ('.name = "suzuki-kasami"', '.name = "central"'))
        for words, told in ((["cluster", "3", "--algorithm", election], "--algorithm"), (["cluster", "3", "--election", mutex], "--election"),
                            (["cluster", "3", "--algorithm", f"x*={files.path}/no.so"], "No such file"),
                            (["demo", "--with", election], "a mutual exclusion"), (["demo", "--with", "sk.so"], "a slash"),
                            (["demo", "--with", twin], "central is there already"), (["demo", "--with", mutex, "--with", mutex], "already")):
            done = subprocess.run([CONCLAVE, *map(str, words)], capture_output=True, text=True, check=False, timeout=60)
            assert done.returncode == 2 and done.stderr.count("\n") == 1 and told in done.stderr and not done.stdout, done
        odd = files.path / "a=b c"
        odd.mkdir()
        shutil.copy(mutex, odd / "sk.so")
        with Cluster(1, "--algorithm", "./sk.so", "--set", "election *.algorithm=../roll.so", record=False, cwd=odd) as cluster:
            enter(cluster, 1, "x", 1)


# ---- all members have the same file ----


class Hall(House):
    """A group whose nodes host a plugin, each from a file of its own beside its configuration."""

    def __init__(self, count, plugin, **settings):
        self.plugin = plugin
        super().__init__(count, **settings)

    def configure(self, node, ports, joins):
        super().configure(node, ports, joins)
        (self.directory / f"plugin{node}").mkdir(exist_ok=True)
        self.give(node, self.plugin)
        with open(self.directory / f"{node}.conf", "a", encoding="utf-8") as conf:
            conf.write(f"[lock *]\nalgorithm = ./plugin{node}/mine.so\n")  # relative to this file

    def give(self, node, plugin):
        """As an upgrade does it: another file takes the name."""
        target = self.directory / f"plugin{node}" / "mine.so"
        shutil.copy(plugin, target.with_suffix(".new"))
        target.with_suffix(".new").rename(target)

    def restart(self, node):
        self.kill(node, which=signal.SIGTERM)
        self.start(node)


def another_file():
    """A member with another file stays out, and both sides say so once; the doctor names it; with the right file it is back."""
    with Files() as files:
        one, other = files.build("one"), files.build("other", MUTEX, NEXT)
        with Hall(3, one) as group:
            fence = group.fence(1)
            assert re.search(r"^sha256_of_lock_\*:[0-9a-f]{64}\r?$", group.client(1).ask("INFO"), re.MULTILINE)
            group.give(3, other)
            group.restart(3)
            group.await_log(3, "its rules for locks and elections are not those of this node")
            group.await_view([1, 2])
            fence2 = group.fence(2)
            assert fence2 > fence
            assert not group.grants(3)
            told = subprocess.run([CONCLAVE, "doctor", *[word for node in (1, 2, 3) for word in ("--connect", group.address(node))]],
                                  capture_output=True, text=True, check=False, timeout=60)
            assert told.returncode == 1 and "node 3" in told.stdout and "rules for locks and elections" in told.stdout, told.stdout
            assert "trouble:its rules for locks and elections are not" in group.client(3).ask("INFO"), group.client(3).ask("INFO")
            assert "INFO configuration" in told.stdout and "sha256sum" in told.stdout, told.stdout
            logs = {node: group.log(node).count("its rules for locks and elections are not those of this node, ") for node in (1, 2, 3)}
            assert logs == {1: 1, 2: 1, 3: 2}, logs
            group.give(3, one)
            group.restart(3)
            group.await_view([1, 2, 3])
            assert group.fence(3) > fence2


def upgraded():
    """The file is overwritten while nodes run, and HUP changes nothing; then node after node restarts, and the group moves over."""
    with Files() as files:
        one, other = files.build("one"), files.build("other", MUTEX, NEXT)
        with Hall(3, one) as group:
            holder = group.client(1)
            held = holder.ask("LOCK", "kept", "TTL", 5000)
            for node in (1, 2, 3):
                (group.directory / f"plugin{node}" / "mine.so").write_bytes(b"no algorithm any more" * 2000)  # the same inode
                os.kill(group.processes[node].pid, signal.SIGHUP)
            fence = group.fence(2)
            assert held and group.fence(3) > fence
            for node in (1, 2, 3):
                group.give(node, other)
            holder.close()
            group.restart(3)
            group.await_log(3, "its rules for locks and elections are not")
            group.await_view([1, 2])
            group.restart(2)
            group.await_view([2, 3])
            group.restart(1)
            group.await_view([1, 2, 3])
            assert "not-reloaded" not in group.log(1), group.log(1)
            assert group.client(2).ask("LOCK", "kept", "WAIT", 60000) > held
            assert group.fence(1) > fence


def static_groups():
    """A node of `group static` that meets nobody with its file ends, since it would grant alone; the others go on."""
    with Files() as files:
        one, other = files.build("one"), files.build("other", MUTEX, NEXT)
        for node in (1, 3):
            with Hall(3, one, mode="static") as group:
                group.give(node, other)
                group.restart(node)
                group.refused(node, "have other rules", "sha256")
                rest = [it for it in (1, 2, 3) if it != node]
                group.await_view(rest)
                assert group.fence(rest[0])


# ---- plugins that fail ----


def failing():
    """A handler that crashes: its node says which plugin, handler and name, and ends; the others go on."""
    with Files() as files:
        crash = files.build("crash", MUTEX, ("    if (theirs->number > requested(me)[message->from])\n",
                                             "    if (me->node == 2)\n        __builtin_trap();\n"
                                             "    if (theirs->number > requested(me)[message->from])\n"))
        wrong = files.build("wrong", MUTEX, ("    if (my->holds)\n        enter(me);\n    else",
                                             "    if (me->node == 2)\n        cv_send_bytes(me, 0, REQUEST, me, 8);\n"
                                             "    if (my->holds)\n        enter(me);\n    else"))
        eager = files.build("eager", MUTEX, ("static void release(struct cv_self *me)\n{\n    struct state *my = me->state;\n",
                                             "static void release(struct cv_self *me)\n{\n    struct state *my = me->state;\n"
                                             "    if (me->node == 2)\n        enter(me);\n"))
        endless = files.build("endless", MUTEX, ("    if (theirs->number > requested(me)[message->from])\n",
                                                 "    while (me->node == 2)\n        __asm__ volatile(\"\");\n"
                                                 "    if (theirs->number > requested(me)[message->from])\n"))
        for plugin, caller, words in ((crash, 1, ["handler=receive", "detail=request", "SIGILL"]),
                                      (endless, 1, ["handler=receive", "it has not returned after a second"]),
                                      (wrong, 3, ["handler=request", "detail=none", "length is not that of its kind"]),
                                      (eager, 3, ["handler=release", "it enters without a request"])):
            with Cluster(3, "--algorithm", f"x*={plugin}", record=False) as cluster:
                cluster.await_view([1, 2, 3])
                if caller == 1:  # node 1 has the token, so node 2 has to ask for it first; then node 3 hears the next request
                    enter(cluster, 2, "x 1", 1)
                    client = cluster.client(1)
                else:
                    client = cluster.client(caller)
                client.say("LOCK", "x 1")
                try:
                    fence = client.hear()
                    client.ask("UNLOCK", "x 1", fence)
                except (Gone, Refused):
                    pass
                until(lambda: "plugin-failed" in log(cluster, 3), "node 3 says what failed")
                line, = [line for line in log(cluster, 3).splitlines() if "plugin-failed" in line]
                for word in (f"plugin={plugin}", "algorithm=suzuki-kasami", "subject=lock", 'name="x 1"', "level=error", *words):
                    assert word in line, (word, line)
                del cluster.pids[3]
                cluster.await_view([1, 2])
                enter(cluster, 1, "other", 1)
                enter(cluster, 2, "other", 1)


def large_state():
    """A million bytes of state for each name: it works, and the node keeps fewer names."""
    with Files() as files:
        large = files.build("large", MUTEX, ("return sizeof(struct state) +", "return 1000000 + sizeof(struct state) +"))
        with Cluster(3, "--algorithm", str(large), record=False) as cluster:
            for node in (1, 2, 3):
                for name in range(4):
                    enter(cluster, node, f"x{name}", 1)
            until(lambda: "event=limited" in log(cluster, 1) and "names" in log(cluster, 1), "it says so")


# ---- forged messages ----


def forged():
    """An attacker in a member's place, and a plugin without `valid`: no kind and no length but its own reaches a handler."""
    with Files() as files:
        trusting = files.build("trusting", MUTEX, ("    .valid = valid,\n", ""),
                               ("static void on_request(struct cv_self *me, const struct cv_message *message)\n{\n",
                                "static void on_request(struct cv_self *me, const struct cv_message *message)\n{\n"
                                "    if (message->words != 1)\n        __builtin_trap();\n"))
        cluster = Cluster(3, "--algorithm", str(trusting), record=False)
        with cluster:
            cluster.hostile = True
            cluster.await_view([1, 2, 3])
            address = peer_address(cluster, 3)
            cluster.kill(3)
            cluster.await_view([1, 2])
            with socket.create_server(address) as server:  # the place of node 3: node 1 calls, and greets
                server.settimeout(PATIENCE)
                connection, _ = server.accept()
                connection.settimeout(PATIENCE)
                kind, greeting = forge.read_frame(connection)
                connection.close()
            assert kind == forge.HELLO and len(greeting) == 84 + 8, (kind, len(greeting))
            rules = greeting[-8:]
            group, mode = forge.learn(peer_address(cluster, 2), 1, 2)
            told = cluster.client(1).ask("INFO", "configuration")
            fingerprint = int(re.search(r"^lock_of_\*:suzuki-kasami/([0-9a-f]{8})", told, re.MULTILINE)[1], 16)
            # Without the rules, and with others, the greeting is refused.
            for end in (b"", struct.pack("<Q", 7)):
                with socket.create_connection(peer_address(cluster, 2), 5) as connection:
                    connection.sendall(forge.hello(group=group, mode=mode, rules=end, **disguise(cluster, 1, 2)))
                    answer = forge.read_hello(connection)
                    assert answer and answer["refusal"], answer
            for message, body in ((0, bytes(60000)), (200, bytes(4))):
                epoch = cluster.await_view([1, 2], patience=120)[0]
                before = info(cluster, 2, "cut_off")
                with socket.create_connection(peer_address(cluster, 2), 5) as connection:
                    connection.sendall(forge.hello(group=group, mode=mode, rules=rules, **disguise(cluster, 1, 2)) +
                                       forge.numbered(forge.LETTER, 1, forge.LOCK, message, b"forged", epoch, 5, fingerprint, body))
                    hang_up(connection)
                until(lambda before=before: info(cluster, 2, "cut_off") > before, f"cut off for {message}, {len(body)}")
        assert "plugin-failed" not in cluster.problems, cluster.problems


if __name__ == "__main__":
    sys.exit(main([hosted, counted, untrusted_files, unusable_tables, commands, another_file, upgraded, static_groups, failing, large_state,
                   forged]))
