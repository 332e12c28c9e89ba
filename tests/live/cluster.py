# SPDX-License-Identifier: MIT
"""The commands that start, show and try out clusters, and their answers to wrong input."""

import ctypes
import json
import os
import pathlib
import re
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time

from harness import CONCLAVE, PATIENCE, Client, Cluster, Node, free_port, free_ports, main

PIDFD_GETFD = 438  # the number of the system call


def run(*words, **options):
    return subprocess.run([CONCLAVE, *words], capture_output=True, text=True, check=False, timeout=60, **options)


def gone(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().split(") ")[1][0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def await_gone(pids):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and not all(gone(pid) for pid in pids):
        time.sleep(0.01)
    assert all(gone(pid) for pid in pids), pids


def ends_with_its_supervisor():
    """INT and TERM end everything in order; even a supervisor that is killed leaves no node running."""
    for how in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        cluster = Cluster(3, record=False)
        cluster.__enter__()
        pids = list(cluster.pids.values())
        assert len(pids) == 3
        cluster.process.send_signal(how)
        code = cluster.process.wait(PATIENCE)
        await_gone(pids)
        cluster.process.stdout.close()
        assert code == (0 if how != signal.SIGKILL else -9), code
        cluster.remove()


def a_port_for_each():
    port = free_ports(2)
    with tempfile.TemporaryDirectory() as directory:
        process = subprocess.Popen([CONCLAVE, "cluster", "2", "--port", str(port), "--dir", directory],
                                   stdout=subprocess.PIPE, text=True)
        assert "ready" in process.stdout.readline()
        for address in (f"127.0.0.1:{port}", f"127.0.0.1:{port + 1}", f"{directory}/node2.sock"):
            client = Client(address)
            assert client.ask("PING") == "PONG"
            client.close()
        status = run("status", "--server", f"127.0.0.1:1,127.0.0.1:{port}", "--json")
        report = json.loads(status.stdout)
        assert [member["id"] for member in report["members"]] == [1, 2] and report["coordinator"] == 2
        assert all(member["answers"] for member in report["members"])
        process.terminate()
        assert process.wait(PATIENCE) == 0
        process.stdout.close()


def status_shows():
    with Cluster(3, record=False) as cluster:
        holder, waiting = cluster.client(1), cluster.client(2)
        fence = holder.ask("LOCK", "shown")
        waiting.say("LOCK", "shown")
        time.sleep(0.1)
        server = {"CONCLAVE_SERVER": cluster.address(3)}
        text = run("status", env={**os.environ, **server}).stdout
        assert "node 3 coordinates" in text and "shown" in text and str(fence) in text
        report = json.loads(run("status", "--json", "--server", cluster.address(2)).stdout)
        lock, = report["locks"]
        assert lock["holder"].startswith("1/") and lock["fence"] == fence and lock["waiters"] == 1
        assert sum(count for kind, count in report["messages"].items() if "request" in kind) == 2
        cluster.kill(3)
        cluster.await_view([1, 2])
        report = json.loads(run("status", "--json", "--server", cluster.address(2)).stdout)
        assert {m["id"]: m["state"] for m in report["members"]} == {1: "alive", 2: "self", 3: "suspected"}
        watching = subprocess.Popen([CONCLAVE, "status", "--watch", "--server", cluster.address(1)],
                                    stdout=subprocess.PIPE, text=True)
        assert "coordinates" in watching.stdout.readline()
        watching.send_signal(signal.SIGINT)
        assert watching.wait(PATIENCE) == 0
        watching.stdout.close()
        holder.close()
        waiting.close()


def the_demo():
    begun = time.monotonic()
    result = run("demo")
    assert result.returncode == 0, result
    assert time.monotonic() - begun < 60
    costs = result.stdout.count(" messages; the text:") + result.stdout.count(" messages; derived:")
    assert "Node 5 is started again: it leads" in result.stdout and costs == 7, result.stdout
    assert "higher than the one before: held" in result.stdout


def wrong_words():
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory)
        files = {
            "section": "[nodes]\nid = 1\n", "key": "[node]\nidd = 1\n", "id": "[node]\nid = x\n",
            "members": "[node]\nid = 4\n[members]\n1 = 127.0.0.1:1\n", "twice": "[members]\n1 = a:1\n1 = b:1\n",
            "noid": "[members]\n1 = a:1\n", "algorithm": "[lock *]\nalgorithm = bully\n",
            "election": "[group]\nelection = central\n", "parameter": "[lock x]\nalgorithm = voting\nvotos = 3\n",
            "value": "[lock x]\nalgorithm = voting\nvotes = many\n", "none": "[lock x]\nvotes = 3\n",
            "text": "what is this\n", "timeout": "[group]\nheartbeat = 100\ntimeout = 150\n",
            "address": "[node]\nlisten = nowhere\n", "member": "[members]\n1 = a:1 atribute 3\n",
            "mode": "[group]\nmode = raft\n",
        }
        commands = [["node", "--config", str(path / "absent")], ["node", "--config"], ["node", "extra"],
                    ["node", "--frob"], ["node", "--set", "x"], ["node", "--listen", "127.0.0.1:99999"],
                    ["node", "--record", "/nonexistent/x"], ["cluster"], ["cluster", "0"], ["cluster", "65"],
                    ["cluster", "x"], ["cluster", "3", "--algorithm", "bully"], ["cluster", "3", "--election", "x"],
                    ["cluster", "3", "--port", "99999"], ["cluster", "3", "--dir", "/nonexistent/x"],
                    ["cluster", "3", "--set", "x"], ["status", "x"], ["status", "--server", "127.0.0.1:1"],
                    ["demo", "x"], ["judge"], ["judge", "/nonexistent"], ["judge", "--svg", "x", "y"],
                    ["judge", "/dev/null"]]
        for name, text in files.items():
            (path / name).write_text(text)
            commands.append(["node", "--config", str(path / name)])
        for command in commands:
            result = run(*command)
            lines = result.stderr.splitlines()
            assert result.returncode == 2 and len(lines) == 1 and lines[0].startswith("conclave: "), (command, result)


def the_configuration_of_the_guide():
    """The commands of docs/live.md make a group of three."""
    page = (pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).parents[2])) / "docs" / "live.md")
    example = re.search(r"```ini\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)[1]
    ports = {address: f"127.0.0.1:{free_port()}" for address in sorted(set(re.findall(r"10\.0\.0\.\d:\d+", example)))}
    for address, here in ports.items():
        example = example.replace(address, here)
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([CONCLAVE, "keygen", f"{directory}/cluster.key"], check=True, capture_output=True)
        example = example.replace("/etc/conclave/cluster.key", f"{directory}/cluster.key")
        nodes = []
        for node in (1, 2, 3):
            text = example.replace("id = 1 ", f"id = {node} ").replace("/run/conclave/node.sock", f"{directory}/{node}.sock")
            text = text.replace("/var/lib/conclave", f"{directory}/{node}")
            text = text.replace(f"listen = {ports['10.0.0.1:7700']}", f"listen = {ports[f'10.0.0.{node}:7700']}")
            (pathlib.Path(directory) / f"{node}.conf").write_text(text, encoding="utf-8")
            nodes.append(subprocess.Popen([CONCLAVE, "node", "--config", f"{directory}/{node}.conf"],
                                          stdout=subprocess.PIPE, text=True))
        try:
            assert all("ready" in node.stdout.readline() for node in nodes)
            client = Client(f"{directory}/2.sock")
            assert client.ask("LOCK", "account-7") > 0 and client.ask("CAMPAIGN", "primary-1") > 0
            algorithms = {lock["name"]: lock["algorithm"] for lock in client.ask("LOCKS")}
            assert algorithms == {"account-7": "ricart-agrawala", "primary-1": "chang-roberts"}, algorithms
            view = client.ask("VIEW")
            assert view["coordinator"] == 3 and [m["address"] for m in view["members"]] == [
                ports[f"10.0.0.{node}:7700"] for node in (1, 2, 3)]
            client.close()
        finally:
            for node in nodes:
                node.terminate()
                assert node.wait(PATIENCE) == 0
                node.stdout.close()


def a_taken_port():
    port = free_port()
    with Node("--listen", f"127.0.0.1:{port}"):
        result = run("cluster", "1", "--port", str(port))
        assert result.returncode == 2 and f"listen 127.0.0.1:{port}: address already in use" in result.stderr, result
    with Node() as node:
        result = run("node", "--listen", node.address())
        assert result.returncode == 2 and "address already in use" in result.stderr, result
        client = node.client()
        assert client.ask("PING") == "PONG"
        client.close()


def held_ports(pid):
    """The ports to which a process has sockets bound, listening or not. No file of /proc tells those that do not listen."""
    table, held = os.pidfd_open(pid), set()
    for number in os.listdir(f"/proc/{pid}/fd"):
        copy = ctypes.CDLL(None).syscall(PIDFD_GETFD, table, int(number), 0)
        if copy >= 0 and stat.S_ISSOCK(os.fstat(copy).st_mode):
            with socket.socket(fileno=copy) as bound:
                held |= {bound.getsockname()[1]} if bound.family == socket.AF_INET else set()
        elif copy >= 0:
            os.close(copy)
    os.close(table)
    return held


def ports_stay_theirs():
    """A dead member's port is nobody else's, so that it can come back: its supervisor holds it."""
    with Cluster(3, record=False) as cluster:
        configuration = (cluster.directory / "node1.conf").read_text()
        ports = {int(port) for port in re.findall(r"= 127.0.0.1:(\d+) client", configuration)}
        assert len(ports) == 3, configuration
        cluster.kill(2)
        assert held_ports(cluster.process.pid) >= ports, (ports, held_ports(cluster.process.pid))


if __name__ == "__main__":
    sys.exit(main([ends_with_its_supervisor, a_port_for_each, status_shows, the_demo, wrong_words,
                   the_configuration_of_the_guide, a_taken_port, ports_stay_theirs]))
