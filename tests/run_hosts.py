#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""conclave run --hosts: one experiment on several machines. The hosts are network namespaces with clocks of their own where
this user may make them, otherwise just other processes. The reports are those of one machine, no receipt comes before its
send, strangers are not heard, and whoever dies, nothing is left behind.
"""

import contextlib
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

from support.experiments import CONCLAVE, ENVIRONMENT, PATIENCE, SOURCE, expect, ours, verdict, wait_until
from support.namespaces import Namespaces

# ---- hosts ----


class Hosts:
    """Two hosts. Their names are words for the program that stands in for ssh."""

    def __init__(self, directory):
        self.directory = directory
        self.namespaces = Namespaces("run", 2, "10.213.7")
        self.spaces = bool(self.namespaces.names)
        self.names = self.namespaces.names or [f"x{i}" for i in (1, 2)]
        self.addresses = self.namespaces.addresses or ["127.0.0.1"] * 2
        # The clock of the second host is a thousand seconds ahead, if the kernel allows it.
        ahead = ["unshare", "-T", "--monotonic", "1000"]
        self.skewed = subprocess.run([*ahead, "true"], capture_output=True, check=False).returncode == 0
        self.ssh = directory / "ssh"
        enter = "ip netns exec $1" if self.spaces else ""
        skew = " ".join(ahead) if self.skewed else ""
        self.ssh.write_text(f"""#!/bin/sh
name=$1
case $name in
*x1|user@*) run="{enter}" ;;
*x2) run="{enter} {skew}" ;;
silent) echo "ssh: connect to host silent port 22: Connection refused" >&2; exit 255 ;;
noisy) echo "Welcome to noisy"; exit 0 ;;
esac
shift
exec $(echo $run | sed "s/[$]1/$name/") "$@"
""", encoding="utf-8")
        self.ssh.chmod(0o755)
        print(f"hosts: {'network namespaces' if self.spaces else 'processes'}, {'clocks of their own' if self.skewed else 'one clock'}")

    def file(self, *lines):
        path = self.directory / "hosts"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return str(path)

    def usual(self):
        return self.file("# two machines", f"{self.names[0]} address={self.addresses[0]} conclave={CONCLAVE}",
                         f"{self.names[1]} slots=2 address={self.addresses[1]} conclave={CONCLAVE}")

    def words(self, file=None):
        return ["--hosts", file or self.usual(), "--ssh", str(self.ssh)]


def start(hosts, *words, file=None):
    return subprocess.Popen([CONCLAVE, "run", *words, *hosts.words(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=ENVIRONMENT)


def run(hosts, *words, file=None):
    process = start(hosts, *words, "--json", file=file)
    out, err = process.communicate(timeout=PATIENCE * 4)
    return process.returncode, json.loads(out) if out else err


def held(hosts, what, *words):
    code, told = run(hosts, *words)
    expect(f"{what}: held", code == 0 and told["verdict"] == "held", f"{words}: {told}")
    return told if code == 0 else None


# ---- reports ----


def check_reports(hosts):
    told = held(hosts, "a ring", "chang-roberts", "-n", "7")
    local = json.loads(subprocess.run([CONCLAVE, "run", "chang-roberts", "-n", "7", "--json"], capture_output=True, text=True, check=True).stdout)
    for key in local:
        if key not in ("time", "decided", "command"):
            expect(f"a ring: {key} as on one machine", told and told[key] == local[key], (told, local))
    expect("a ring: the keys of one machine", told and set(told) == set(local), (told, local))
    told = held(hosts, "mutual exclusion", "ricart-agrawala", "-n", "5", "--entries", "2", "--names", "2", "--delay", "1..3")
    expect("2 (n - 1) messages for each entry", told and told["messages"]["total"] == 2 * 4 * 20 and len(told["entries"]) == 20, told)
    graph = hosts.directory / "graph"
    graph.write_text("1 2\n2 3\n3 4\n4 1\n2 5\n", encoding="utf-8")
    told = held(hosts, "a synchronizer on a graph of a file", "alpha", "--app", "bfs-tree", "--graph", str(graph))
    expect("hops", told and told["distances"] == {"1": 0, "2": 1, "3": 2, "4": 1, "5": 2}, told)
    source, plugin = SOURCE / "examples" / "roll_call.c", hosts.directory / "roll_call.so"
    subprocess.run([os.environ.get("CC", "cc"), "-std=c17", "-shared", "-fPIC", "-I", str(SOURCE / "include"), "-o", str(plugin), str(source)],
                   check=True)
    for file in (plugin, source):
        told = held(hosts, f"a plugin, {file.name}", str(file), "-n", "6", "--start", "all")
        expect(f"{file.name}: n(n - 1) messages", told and told["messages"]["total"] == 30 and told["leader"] == 6, told)
    held(hosts, "a run that ends with the last exit", "token-ring", "-n", "5", "--entries", "2")


def check_faults(hosts):
    told = held(hosts, "a crash and a return", "bully", "-n", "4", "--crash", "4@150", "--recover", "4@700", "--detect", "20", "--set", "bound=100")
    expect("the best leads again", told and told["leader"] == 4, told)
    told = held(hosts, "a death in a step", "bully", "-n", "4", "--crash", "4@before:coordinator", "--detect", "20", "--set", "bound=100")
    expect("the next best leads", told and told["leader"] == 3, told)
    told = held(hosts, "views", "central", "-n", "5", "--entries", "3", "--hold", "10", "--crash", "5@60", "--recover", "5@300", "--detect", "20")
    inside = sorted((it for it in told["entries"] if it["entered"] is not None), key=lambda it: it["entered"]) if told else []
    for one, other in zip(inside, inside[1:]):
        expect("views: one at a time", one["left"] <= other["entered"] and one["fence"] < other["fence"], (one, other))
    expect("views: in a later view", inside and inside[-1]["fence"] > inside[0]["fence"] + 1000, told)
    told = held(hosts, "a pause", "chang-roberts", "-n", "4", "--pause", "3@0..300")
    expect("all wait for it", told and told["time"] >= 300, told)


def check_order(hosts):
    """No receipt comes before its send, though the clocks differ."""
    trace = hosts.directory / "trace.jsonl"
    code, told = run(hosts, "maekawa", "-n", "6", "--entries", "2", "--crash", "2@30", "--detect", "10", "--trace", str(trace))
    expect("a trace", code == 0, told)
    sent, latest = {}, 0
    for line in trace.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if "time" in event and "event" in event:
            expect("time goes on", event["time"] >= latest, event)
            latest = event["time"]
        if event.get("event") == "send":
            for number in event["message"] if isinstance(event["message"], list) else [event["message"]]:
                sent[number] = event
        if event.get("event") == "receive":
            before = sent.get(event["message"])
            expect("no receipt before its send", before and before["time"] <= event["time"] and
                   all(event["vector"].get(node, 0) >= count for node, count in before["vector"].items()), (before, event))
    expect("many messages, within a minute", len(sent) > 20 and latest < 60000, (len(sent), latest))


# ---- what makes no sense ----


def check_refusals(hosts):
    good = f"{hosts.names[0]} address={hosts.addresses[0]} conclave={CONCLAVE}"
    for lines, *expected in (
            (["silent"], "host silent", "Connection refused"),
            ([good, "silent"], "host silent", "Connection refused"),
            (["noisy"], "host noisy", "Welcome to noisy", "greeting"),
            ([f"{hosts.names[0]} conclave=/nowhere/conclave"], f"host {hosts.names[0]}", "does not answer", "/nowhere/conclave"),
            ([f"{hosts.names[0]} conclave=/bin/false"], f"host {hosts.names[0]}", "does not answer"),
            ([f"{hosts.names[0]} conclave={CONCLAVE}"], f"host {hosts.names[0]}", "address=IP"),
            ([good + " slots=0"], ":1: slots=0", "slots=N"),
            ([good, "host what"], ":2: what", "slots=N"),
            (["slots=3"], ":1: slots=3", "HOST first"),
            (["-oProxyCommand=x"], ":1: -oProxyCommand=x", "HOST first"),
            (["host conclave=a;b"], ":1: conclave=a;b", "conclave=PATH"),
            ([], "a line for each host")):
        file = hosts.file(*lines)
        code, told = run(hosts, "chang-roberts", "-n", "3", file=file)
        expect(f"refuse {lines}", code == 2 and isinstance(told, str) and len(told.splitlines()) == 1 and all(part in told for part in expected), told)
    for words, *expected in (("run bully --hosts /nowhere", "--hosts", "/nowhere"), ("run bully --ssh x", "--ssh", "--hosts"),
                             ("run --place bully", "--place", "alone"), ("run bully --place", "--place", "alone")):
        done = subprocess.run([CONCLAVE, *words.split()], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        expect(words, done.returncode == 2 and not done.stdout and len(done.stderr.splitlines()) == 1 and all(part in done.stderr for part in expected), done)
    other = hosts.directory / "other"
    hello = struct.pack("<IHHIIQ", 0x434C5631, 0, 0, 0, 0, 136) + b"9.9.9".ljust(32, b"\0") + b"x86_64".ljust(32, b"\0") + bytes(64) + bytes(8)
    (hosts.directory / "hello").write_bytes(hello)
    other.write_text(f"#!/bin/sh\ncat {hosts.directory}/hello; sleep 5\n", encoding="utf-8")
    other.chmod(0o755)
    code, told = run(hosts, "chang-roberts", file=hosts.file(f"{hosts.names[0]} address={hosts.addresses[0]} conclave={other}"))
    expect("another version there", code == 2 and "conclave 9.9.9 is there" in told and len(told.splitlines()) == 1, told)
    wait_until("nothing is left of what was refused", lambda: not ours(), ours)


# ---- endings ----


def places():
    return [pid for pid, words in ours() if "run --place" in words]


def start_idle(hosts):
    """A run in which nothing happens for long: two places with five nodes."""
    idle = start(hosts, "central", "-n", "5", "--request", "2@500000", "--until", "600000")
    wait_until("seven processes", lambda: len(places()) >= 7 or idle.poll() is not None, ours)
    time.sleep(0.3)
    return idle


def check_endings(hosts):
    for sent in (signal.SIGTERM, signal.SIGINT):
        idle = start_idle(hosts)
        idle.send_signal(sent)
        out, err = idle.communicate(timeout=PATIENCE)
        expect(f"{sent.name}: told what is known", idle.returncode == 2 and "interrupted at time" in out and not err, (out, err))
        wait_until(f"{sent.name}: nothing is left", lambda: not ours(), ours)
    idle = start_idle(hosts)
    idle.kill()
    idle.communicate(timeout=PATIENCE)
    wait_until("nothing outlives the experiment", lambda: not ours(), ours)
    idle = start_idle(hosts)
    parents = {pid for pid in places() if any(f"PPid:\t{pid}\n" in pathlib.Path(f"/proc/{other}/status").read_text() for other in places() if other != pid)}
    expect("two places", len(parents) == 2, (parents, ours()))
    os.kill(max(parents), signal.SIGKILL)
    out, err = idle.communicate(timeout=PATIENCE)
    expect("a host goes away", idle.returncode == 2 and not out and len(err.splitlines()) == 1 and f"host {hosts.names[0][:-1]}" in err, (out, err))
    wait_until("nothing outlives a host", lambda: not ours(), ours)
    idle = start_idle(hosts)
    children = [pid for pid in places() if not any(f"PPid:\t{pid}\n" in pathlib.Path(f"/proc/{other}/status").read_text() for other in places())]
    os.kill(children[0], signal.SIGUSR1)
    out, err = idle.communicate(timeout=PATIENCE)
    expect("a death unasked", idle.returncode == 2 and not out and len(err.splitlines()) == 1 and "node" in err and "signal 10" in err and "host " in err, (out, err))
    wait_until("nothing is left", lambda: not ours(), ours)


def check_silence(hosts):
    """A place that hears nothing for long ends: its experiment may be cut off."""
    idle = start_idle(hosts)
    os.kill(idle.pid, signal.SIGSTOP)
    wait_until("places end in a long silence", lambda: not places(), ours)
    os.kill(idle.pid, signal.SIGCONT)
    out, err = idle.communicate(timeout=PATIENCE)
    expect("told", idle.returncode == 2 and len(err.splitlines()) == 1 and "host " in err, (out, err))


# ---- strangers ----


def listening(pid):
    """The ports at which a process listens, in its network."""
    inodes = set()
    for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            inodes.add(os.readlink(link).removeprefix("socket:[").removesuffix("]"))
    rows = [row.split() for row in pathlib.Path(f"/proc/{pid}/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
    return [int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and row[9] in inodes]


def disturb(ports, address):
    """Strangers who are silent, talk, or try to greet as another process."""
    kept = []
    for port in ports:
        for said in (b"", b"GET / HTTP/1.0\r\n\r\n" * 20, struct.pack("<QII", 0x31766E6F632D6572, 0, 1) + bytes(32), bytes(1000)):
            for _ in range(20):
                stranger = socket.create_connection((address, port), timeout=PATIENCE)
                kept.append(stranger)
                with contextlib.suppress(OSError):
                    stranger.sendall(said)
    return kept


def check_strangers(hosts):
    # Messages begin after two seconds, so that strangers have connected before.
    running = start(hosts, "ricart-agrawala", "--request", "1@2000,2@2000,3@2000,4@2000", "-n", "4", "--json")
    wait_until("processes", lambda: len(places()) >= 6 or running.poll() is not None, ours)
    ports = {}
    for pid in places():
        for port in listening(pid):
            ports[port] = pid
    expect("all listen", len(ports) >= 4, ports)
    script = f"import sys; sys.path.insert(0, {str(SOURCE / 'tests')!r}); import run_hosts, time; kept = run_hosts.disturb({sorted(ports)}, sys.argv[1]); time.sleep(4)"
    if hosts.spaces:
        strangers = [subprocess.Popen(["ip", "netns", "exec", name, sys.executable, "-c", script.replace(str(sorted(ports)), str(own)), address])
                     for name, address, own in ((name, address, sorted({port for port, pid in ports.items() if in_namespace(pid, name)}))
                                                for name, address in zip(hosts.names, hosts.addresses))]
    else:
        strangers = [subprocess.Popen([sys.executable, "-c", script, "127.0.0.1"])]
    out, err = running.communicate(timeout=PATIENCE * 4)
    told = json.loads(out) if out else err
    expect("strangers change nothing", running.returncode == 0 and told["verdict"] == "held" and told["messages"]["total"] == 24, told)
    for each in strangers:
        expect("strangers connected", each.wait(PATIENCE) == 0)


def in_namespace(pid, name):
    with contextlib.suppress(OSError):
        return os.stat(f"/proc/{pid}/ns/net").st_ino == os.stat(f"/run/netns/{name}").st_ino
    return False


def main():
    with tempfile.TemporaryDirectory() as name:
        hosts = Hosts(pathlib.Path(name))
        try:
            check_refusals(hosts)
            check_reports(hosts)
            check_faults(hosts)
            check_order(hosts)
            check_endings(hosts)
            check_strangers(hosts)
            check_silence(hosts)
        finally:
            hosts.namespaces.remove()
            for pid, _ in ours():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
    return verdict()


if __name__ == "__main__":
    sys.exit(main())
