#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`conclave lock`: every clause of its contract (exit codes, signals, environment, ends of processes), against a fake
server; and the failures that users of etcd's and Consul's `lock` have reported do not happen here."""

import concurrent.futures
import contextlib
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import starvation  # pylint: disable=wrong-import-position
from fake import Fake  # pylint: disable=wrong-import-position
from starvation import PATIENCE  # pylint: disable=wrong-import-position

CONCLAVE = os.environ.get("CONCLAVE", str(HERE.parent.parent / "build" / "conclave"))

failures = []


def expect(what, found, expected):
    if found != expected:
        failures.append(what)
        print(f"FAILED: {what}: {found!r} instead of {expected!r}")


def within(what, found, low, high):
    if not low <= found <= high:
        failures.append(what)
        print(f"FAILED: {what}: {found!r} is not in {low!r}..{high!r}")


def until(condition, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.002)
    return bool(condition())


def alive(pid):
    """Is it running? A zombie is not."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def lock(server, *arguments, **options):
    """Starts `conclave lock a ...`; the caller waits for it."""
    environment = {**os.environ, "CONCLAVE_SERVER": server if isinstance(server, str) else server.address}
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    return subprocess.Popen([CONCLAVE, "lock", "a", *arguments], env=environment, **options)


def finish(process, text=None, timeout=PATIENCE):
    """Exit code and what it printed."""
    out, err = process.communicate(text, timeout=timeout)
    return process.returncode, out, err


class Family:
    """A command with a child, a child of that child that left the process group, and one that left even the session.
    Each writes its process id to a file first; `trap` is shell code for all but the last. They end by themselves after
    half a minute."""

    def __init__(self, directory, trap=""):
        self.directory = pathlib.Path(directory)
        self.script = self.directory / "family.sh"
        self.names = ("parent", "child", "apart", "away")
        live = "i=0; while [ $((i += 1)) -lt 1500 ]; do sleep 0.02; done"
        self.script.write_text(f"""
            {trap}
            cd '{directory}'
            (sh -c 'echo $PPID' > child.new; mv child.new child; {live}) &
            setsid sh -c 'echo $$ > away.new; mv away.new away; {live}' &
            python3 -c 'import os, time
os.setpgid(0, 0)
open("apart.new", "w").write(str(os.getpid()))
os.rename("apart.new", "apart")
time.sleep(30)' &
            echo $$ > parent.new; mv parent.new parent
            {live}
        """, encoding="utf-8")
        self.command = ["--", "sh", str(self.script)]

    def pids(self):
        """Waits until all have begun."""
        until(lambda: all((self.directory / name).exists() for name in self.names))
        return {name: int((self.directory / name).read_text(encoding="utf-8")) for name in self.names}


def survivors(pids, seconds=PATIENCE):
    until(lambda: not any(map(alive, pids.values())), seconds)
    return [name for name, pid in pids.items() if alive(pid)]


def guard_of(process):
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="utf-8").split()
    return int(children[0])


# ---- exit codes ----


def check_exit_codes(server):
    for code in (0, 1, 7, 121, 255):  # etcd#12829, consul#947: the child's exit code is dropped
        expect(f"exit {code}", finish(lock(server, "--", "sh", "-c", f"exit {code}"))[0], code)
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGSEGV):
        expect(f"death by {number.name}", finish(lock(server, "--", "sh", "-c", f"kill -{number.value} $$"))[0],
               128 + number)
    code, _, err = finish(lock(server, "--", "./no-such-command"))
    expect("not found", (code, err), (127, "conclave: ./no-such-command: No such file or directory\n"))
    code, _, err = finish(lock(server, "--", "/"))
    expect("cannot be run", (code, err), (126, "conclave: /: Permission denied\n"))
    expect("nothing is held any more", until(lambda: not server.holders("a")), True)
    code, _, err = finish(lock("127.0.0.1:1", "--", "echo", "hello"))
    expect("no server", (code, err.count("\n"), "refused" in err), (123, 1, True))
    server.no_quorum = True
    code, out, err = finish(lock(server, "--", "echo", "hello"))
    expect("no majority", (code, out, "NOQUORUM" in err), (123, "", True))
    server.no_quorum = False


def check_usage(server):
    for arguments, words in (
            ([], ["lock a", "COMMAND"]), (["--"], ["lock a", "COMMAND"]), (["--wait", "x", "--", "true"], ["--wait x", "time"]),
            (["--wait", "-1", "--", "true"], ["--wait -1"]), (["--wait", "1d", "--", "true"], ["--wait 1d"]),
            (["--wait", "", "--", "true"], ["--wait"]), (["--wait", "nan", "--", "true"], ["--wait nan"]),
            (["--wait", "1e99", "--", "true"], ["--wait 1e99"]), (["--wait", "0x1", "--", "true"], ["--wait 0x1"]),
            (["--wait", "1.2.3", "--", "true"], ["--wait 1.2.3"]), (["--wait", ".", "--", "true"], ["--wait ."]),
            (["--wait", "9999999999h", "--", "true"], ["--wait 9999999999h"]), (["--wait", "5 s", "--", "true"], ["--wait 5 s"]),
            (["--ttl", "0.4ms", "--", "true"], ["--ttl 0.4ms", "at least a millisecond"]), (["--ttl", "0.0004", "--", "true"], ["--ttl 0.0004"]),
            (["--wait", "0.1ms", "--", "true"], ["--wait 0.1ms"]), (["--ttl", f"0.{'0' * 400}1", "--", "true"], ["--ttl"]), (["--ttl", "-1", "--", "true"], ["--ttl -1", "time"]),
            (["--nonsense", "--", "true"], ["--nonsense"]), (["--ttl"], ["--ttl"]),
            (["--server", "", "--", "true"], ["list of servers is empty"])):
        code, out, err = finish(lock(server, *arguments))
        expect(f"{arguments}: {err}", (code, out, err.count("\n"), [word for word in words if word not in err]),
               (125, "", 1, []))
    done = subprocess.run([CONCLAVE, "lock"], capture_output=True, text=True, check=False)
    expect("no name", (done.returncode, "NAME" in done.stderr), (125, True))
    for name in ("", "x" * 513, "a\nb"):
        done = subprocess.run([CONCLAVE, "lock", name, "--server", server.address, "--", "true"], capture_output=True,
                              text=True, check=False)
        expect("a name that is none", (done.returncode, done.stderr.count("\n")), (125, 1))
    done = subprocess.run([CONCLAVE, "lock", "--help"], capture_output=True, text=True, check=False)
    expect("help", (done.returncode, "122" in done.stdout, done.stderr), (0, True, ""))
    for command in ("lock", "lock-all", "elect", "leader", "watch", "sequence", "guard", "once", "barrier", "latch", "members"):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([CONCLAVE, command, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        expect(f"{command}'s help, and a full disk", (done.returncode, done.stderr.count("\n")), (125, 1))
    expect("0 is 0", [finish(lock(server, "--wait", text, "--ttl", text, "--", "true"))[0] for text in ("0", "0.000", "0.0ms")], [0] * 3)
    expect("the command's options are its own", finish(lock(server, "echo", "-n", "--wait"))[:2], (0, "--wait"))


def check_waiting(server):
    holder = lock(server, "--", "cat", stdin=subprocess.PIPE)
    until(lambda: server.holders("a"))
    for wait, low, high in (("0", 0, 0.3), ("0.2", 0.2, 0.6), ("200ms", 0.2, 0.6)):
        began = time.monotonic()
        code, _, err = finish(lock(server, "--wait", wait, "--", "true"))
        expect(f"--wait {wait}", (code, err), (124, "conclave: lock a: waited too long\n"))
        within(f"--wait {wait}", time.monotonic() - began, low, high * starvation.stretch())
    waiter = lock(server, "--", "echo", "now")
    until(lambda: server.waiting("a") == 1)
    expect("the holder ends", finish(holder, "")[0], 0)
    expect("then the waiter runs", finish(waiter), (0, "now\n", ""))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        until(lambda: not server.holders("a"))
        holder = lock(server, "--", "cat", stdin=subprocess.PIPE)
        until(lambda: server.holders("a"))
        waiter = lock(server, "--", "echo", "never")
        until(lambda: server.waiting("a") == 1)
        waiter.send_signal(number)
        expect(f"{number.name} while waiting", finish(waiter)[:2], (128 + number, ""))
        expect("the wait is given up", until(lambda: server.waiting("a") == 0), True)
        finish(holder, "")


def check_connecting(_):
    """Ctrl-C while a server neither accepts nor refuses the connection."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as deaf, contextlib.ExitStack() as callers:
        for _ in range(3):
            caller = callers.enter_context(socket.socket())
            caller.setblocking(False)
            caller.connect_ex(deaf.getsockname())
        process = lock(f"127.0.0.1:{deaf.getsockname()[1]}", "--", "true")
        time.sleep(0.5)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        expect("SIGINT while connecting", finish(process), (130, "", ""))
        within("SIGINT while connecting", time.monotonic() - began, 0, 1 * starvation.stretch())


def check_starting(server):
    """A signal that comes while `conclave lock` starts ends it as well: before it listens to signals by itself, and after."""
    holder = lock(server, "--", "cat", stdin=subprocess.PIPE)
    until(lambda: server.holders("a"))
    dice = random.Random(5)
    for _ in range(60):
        waiter = lock(server, "--", "echo", "never")
        time.sleep(dice.random() * 0.006)
        waiter.send_signal(signal.SIGTERM)
        code, out, _ = finish(waiter)
        expect("SIGTERM at the start", (code in (-signal.SIGTERM, 128 + signal.SIGTERM), out), (True, ""))
    finish(holder, "")


# ---- what the command gets ----


def check_environment(server):
    before = time.time() * 1000
    code, out, _ = finish(lock(server, "--ttl", "7", "--", "sh", "-c",
                               "echo $CONCLAVE_LOCK; echo $CONCLAVE_FENCE; echo $CONCLAVE_DEADLINE"))
    name, fence, deadline = out.split()
    expect("the name and the fence", (code, name, int(fence)), (0, "a", server.locks["a"].fence))
    within("the deadline", int(deadline), before + 6500, time.time() * 1000 + 7000)
    _, out, _ = finish(lock(server, "--ttl", "0", "--", "sh", "-c", "echo $CONCLAVE_DEADLINE"))
    expect("no deadline is the largest number", int(out), 2**63 - 1)
    expect("stdin is passed", finish(lock(server, "--", "cat", stdin=subprocess.PIPE), "words\n"), (0, "words\n", ""))
    signals = ["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]
    plain = subprocess.run(signals, capture_output=True, text=True, check=False).stdout
    expect("signals are blocked and ignored as before", finish(lock(server, "--", *signals))[1], plain)
    out = finish(lock(server, "--", "ls", "/proc/self/fd"))[1].split()
    expect("no descriptor is left open", out, ["0", "1", "2", "3"])  # 3 is the directory itself
    expect("UNLOCK with the fence", server.asked("UNLOCK")[-1][2][:4], ["UNLOCK", "a", str(server.locks["a"].fence), "SECRET"])


def check_shared(server):
    readers = [lock(server, "--shared", "--", "cat", stdin=subprocess.PIPE) for _ in range(3)]
    expect("three readers", until(lambda: len(server.holders("a")) == 3), True)
    expect("no writer", finish(lock(server, "--wait", "0", "--", "true"))[0], 124)
    for reader in readers:
        expect("a reader ends", finish(reader, "")[0], 0)


# ---- signals ----

HANDLER = """
import os, signal, sys
directory, number = sys.argv[1], int(sys.argv[2])
def handle(*_):
    who = "parent" if child else "child"
    open(f"{directory}/{who}", "w").close()
    if child:
        os.waitpid(child, 0)
    os._exit(9 if child else 4)
signal.signal(number, handle)
reader, writer = os.pipe()
child = os.fork()
if child:
    os.write(writer, b"x")  # both know now who they are
else:
    os.read(reader, 1)
    open(f"{directory}/ready", "w").close()
while True:
    signal.pause()
"""


def check_signals(server):
    """INT, TERM, HUP and QUIT reach the whole group (consul#797, #3754, #2489, #1210, #2022)."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        with tempfile.TemporaryDirectory() as directory:
            family = Family(directory)
            process = lock(server, *family.command)
            pids = family.pids()
            process.send_signal(number)
            expect(f"{number.name}: the code", finish(process)[0], 128 + number)
            expect(f"{number.name}: nobody is left", survivors(pids, 0), [])
        with tempfile.TemporaryDirectory() as directory:
            # Parent and child say that they got it, and end with codes of their own.
            process = lock(server, "--", sys.executable, "-c", HANDLER, directory, str(number.value))
            until(lambda: os.path.exists(f"{directory}/ready"))
            process.send_signal(number)
            expect(f"{number.name} is handled by the command: its code", finish(process)[0], 9)
            for who in ("parent", "child"):
                expect(f"{number.name} reached the {who}", os.path.exists(f"{directory}/{who}"), True)
    # A command that takes its time to end keeps the lock meanwhile, renewed (its lease is 1.2 s).
    with Fake(lease=1200) as leased:
        process = lock(leased, "--", "sh", "-c", "trap 'sleep 2; exit 3' TERM; echo ready; i=0; while [ $((i += 1)) -lt 1500 ]; do sleep 0.01; done")
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        time.sleep(1.6)
        expect("held until the command has ended", len(leased.holders("a")), 1)
        expect("and then its code", finish(process)[0], 3)
        ended = time.monotonic()
        time.sleep(0.5)
        expect("no renewing after that (etcd#10117)", [entry for entry in leased.commands if entry[0] > ended], [])
        expect("given back", leased.holders("a"), [])


def check_ignored(server):
    """A signal that was ignored before stays ignored, as nohup wants it."""
    process = lock(server, "--", "sh", "-c", "echo ready; cat", stdin=subprocess.PIPE,
                   preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    process.stdout.readline()
    process.send_signal(signal.SIGHUP)
    expect("HUP under nohup", finish(process, "on\n"), (0, "on\n", ""))


def check_any_moment(server):
    """TERM at whatever moment: before, while or after the lock is granted or the command begins. Nothing stays locked."""
    for attempt in range(80):
        process = lock(server, *(["--ttl", "100"] if attempt % 2 else []), "--", "true")
        time.sleep(random.uniform(0.0005, 0.015))
        process.send_signal(signal.SIGTERM)
        code, _, err = finish(process)
        if code not in (0, 128 + signal.SIGTERM, -signal.SIGTERM):  # the last: it had hardly begun
            expect(f"TERM at some moment: {err}", code, 0)
        expect("TERM at some moment: nothing stays locked", until(lambda: not server.holders("a"), 2), True)


# ---- the ends of processes ----


def check_killed(server):
    """kill -9 of conclave ends the command and all it started; only then is the lock free."""
    with tempfile.TemporaryDirectory() as directory:
        family = Family(directory)
        process = lock(server, "--ttl", "0", *family.command)  # nothing else ends it
        pids = family.pids()
        process.kill()
        finish(process)
        expect("nobody outlives a killed conclave", survivors(pids), [])
    with tempfile.TemporaryDirectory() as directory:
        family = Family(directory)
        process = lock(server, *family.command)
        pids = family.pids()
        os.kill(guard_of(process), signal.SIGKILL)
        code, _, err = finish(process)
        expect("a killed guard", (code, "guard" in err), (125, True))
        expect("nobody outlives it", survivors(pids, 0), [])
        expect("and the lock is free", until(lambda: not server.holders("a")), True)
    with tempfile.TemporaryDirectory() as directory:
        family = Family(directory)
        process = lock(server, *family.command)
        pids = family.pids()
        both = (guard_of(process), process.pid)
        for number in (signal.SIGSTOP, signal.SIGKILL):  # as good as at once
            for pid in both:
                os.kill(pid, number)
        process.wait(PATIENCE)
        expect("the command itself outlives not even both", survivors({"parent": pids["parent"]}), [])
        for name in ("child", "apart", "away"):  # as the manual says
            os.kill(pids[name], signal.SIGKILL)
        process.communicate()
    with tempfile.TemporaryDirectory() as directory:
        family = Family(directory)
        process = lock(server, *family.command, start_new_session=True)
        pids = family.pids()
        os.killpg(process.pid, signal.SIGKILL)  # as `kill -9 %1` does
        finish(process)
        expect("nobody outlives a killed job", survivors(pids), [])


def check_leftovers(server):
    """Processes that a command leaves running end before the lock is free."""
    with tempfile.TemporaryDirectory() as directory:
        family = Family(directory)
        script = f"sh {family.script} & while ! test -e {directory}/apart || ! test -e {directory}/away || " \
                 f"! test -e {directory}/child || ! test -e {directory}/parent; do sleep 0.01; done; exit 5"
        process = lock(server, "--", "sh", "-c", script)
        code = process.wait(PATIENCE)
        expect("nobody is left behind", survivors(family.pids(), 0), [])
        expect("the command's own code", code, 5)
        process.communicate()


def check_stubborn_leftovers(server):
    """A leftover that ignores TERM is killed two seconds later, however often the lock is renewed meanwhile."""
    with Fake(lease=600) as leased, tempfile.TemporaryDirectory() as directory:
        script = "trap '' TERM; echo $$ > pid.new; mv pid.new pid; i=0; while [ $((i += 1)) -lt 1500 ]; do sleep 0.02; done"
        process = lock(leased, "--ttl", "1", "--", "sh", "-c", f"cd {directory}; (sh -c \"{script}\") & while ! test -e pid; do sleep 0.01; done; exit 6",
                       stdout=subprocess.DEVNULL)
        begun = time.monotonic()
        expect("it ends", until(lambda: process.poll() is not None, 12), True)
        process.kill()
        expect("its own code", process.wait(), 6)
        within("TERM, and KILL two seconds later", time.monotonic() - begun, 1.5, 8)
        process.communicate()
    del server


def check_nested(server):
    """One lock inside another: codes come through, and the end of the outer one is the end of all."""
    inner = [CONCLAVE, "lock", "b", "--"]
    expect("codes", finish(lock(server, "--", *inner, "sh", "-c", "exit 5"))[0], 5)
    expect("no server inside", finish(lock(server, "--", CONCLAVE, "lock", "b", "--server", "127.0.0.1:1", "--", "true"))[0], 123)
    for number in (signal.SIGTERM, signal.SIGKILL):
        with tempfile.TemporaryDirectory() as directory:
            family = Family(directory)
            process = lock(server, "--", *inner, *family.command[1:])
            pids = family.pids()
            process.send_signal(number)
            finish(process)
            expect(f"{number.name}: nobody is left", survivors(pids), [])
        expect("both are free", until(lambda: not server.holders("a") and not server.holders("b")), True)


def check_closed(server):
    """Descriptors 0, 1 and 2 may be closed; nothing that is meant for them goes elsewhere."""
    def close_all():
        for descriptor in (0, 1, 2):
            os.close(descriptor)
    before = len(server.commands)
    process = lock(server, "--", "sh", "-c", "exit 8", stdin=None, stdout=None, stderr=None, preexec_fn=close_all)
    expect("its code", process.wait(PATIENCE), 8)
    process = lock(server, "--", "./no-such-command", stdin=None, stdout=None, stderr=None, preexec_fn=close_all)
    expect("not found", process.wait(PATIENCE), 127)
    expect("the server was asked this", [words[0] for _, _, words in server.commands[before:]],
           ["HELLO", "LOCK", "UNLOCK"] * 2)


def check_lost(server):
    """The lock is lost: all of the command ends, code 122 (etcd#7983: no way to stop the command)."""
    for how in ("push", "connection", "renewal"):
        with tempfile.TemporaryDirectory() as directory:
            family = Family(directory, trap="trap '' TERM INT")
            process = lock(server, *{"renewal": ["--ttl", "1.2"], "connection": ["--ttl", "0"], "push": []}[how], *family.command)
            pids = family.pids()
            if how == "push":
                server.lose("a")
            elif how == "connection":
                server.drop()
            else:
                server.refuse_renewal = True
            code, _, err = finish(process)
            server.refuse_renewal = False
            expect(f"lost by {how}", (code, err), (122, "conclave: lock a: lost, so the command was ended\n"))
            expect(f"lost by {how}: nobody is left", survivors(pids, 0), [])
        until(lambda: not server.holders("a"))


BEAT = "trap '' TERM; i=0; while [ $((i += 1)) -lt 3000 ]; do date +%s%N; sleep 0.005; done"
LEASE = 2.0


def run_out(how):
    """Nothing is renewed any more. When did the command last do something?"""
    with Fake(lease=int(LEASE * 1000)) as server, tempfile.NamedTemporaryFile() as beats:
        ttl = ["--ttl", str(LEASE) if how != "server hangs" else "0"]
        process = lock(server, *ttl, "--", "sh", "-c", BEAT, stdout=beats)
        time.sleep(LEASE * 1.25)
        expect(f"{how}: held", len(server.holders("a")), 1)
        fence, = server.holders("a")
        if how == "server hangs":
            server.hung = True
        elif how == "conclave is stopped":
            process.send_signal(signal.SIGSTOP)
        time.sleep(0.05)
        ends = server.locks["a"].holders[fence][2]  # when it runs out by the server's clock
        if how == "server vanishes":
            server.stop()
        wall = time.time() + ends - time.monotonic()
        if how == "conclave is stopped":
            time.sleep(max(0.0, ends + 0.2 - time.monotonic()))
            process.send_signal(signal.SIGCONT)
        code = process.wait(PATIENCE)
        process.communicate()
        server.hung = False
        last = int(beats.seek(0) or beats.read().split()[-1]) / 1e9
        expect(f"{how}: code", code, 122)
        within(f"{how}: the last sign of life before the end", wall - last, 0, LEASE)


def check_in_time(_):
    """consul#9788: whatever happens to servers or to conclave itself, the command is gone before the lock runs out."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(run_out, ("server hangs", "server vanishes", "conclave is stopped")))


def check_graceful(_):
    """With a lease there is time: TERM first, and a command that ends at once may tidy up."""
    with Fake(lease=2000) as server, tempfile.TemporaryDirectory() as directory:
        process = lock(server, "--ttl", "0", "--", "sh", "-c", f"trap 'touch {directory}/tidied; exit 0' TERM; echo ready; "
                       "i=0; while [ $((i += 1)) -lt 1500 ]; do sleep 0.01; done")
        process.stdout.readline()
        began = time.monotonic()
        server.drop()
        expect("lost", finish(process)[0], 122)
        within("at once", time.monotonic() - began, 0, 0.7 * starvation.stretch())
        expect("tidied up", os.path.exists(f"{directory}/tidied"), True)


def check_ttl(_):
    """A lock with a time to live survives a lost connection, and is renewed."""
    with Fake() as server:
        process = lock(server, "--ttl", "1.2", "--", "sh", "-c", "sleep 2.5; echo done")
        time.sleep(1)
        server.drop()
        expect("the command ran on", finish(process), (0, "done\n", ""))
        within("renewed", len(server.asked("RENEW")), 3, 30)
        expect("given back", server.holders("a"), [])
        # The server forgets it just before the end: success would be a lie.
        before = len(server.asked("RENEW"))
        process = lock(server, "--ttl", "5", "--", "cat", stdin=subprocess.PIPE)
        until(lambda: len(server.asked("RENEW")) > before)
        with server.mutex:
            server.locks["a"].holders.clear()
        code, _, err = finish(process, "")
        expect("lost before the end", (code, "had been lost" in err), (122, True))


def with_server(check):
    with Fake() as server:
        check(server)


def main(wanted):
    for check in (check_exit_codes, check_usage, check_waiting, check_connecting, check_starting, check_environment, check_shared, check_signals,
                  check_any_moment, check_ignored, check_killed, check_leftovers, check_stubborn_leftovers, check_nested, check_closed, check_lost, check_in_time,
                  check_graceful, check_ttl):
        if not wanted or check.__name__ in wanted:
            starvation.run(with_server, check, name=check.__name__, failures=failures)
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
