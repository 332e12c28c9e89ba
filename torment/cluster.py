# SPDX-License-Identifier: MIT
"""The nodes of a run as processes that can be killed, stopped, started again, given other clocks and no disk."""

import glob
import os
import pathlib
import shutil
import signal
import subprocess
import time

from history import now_us
from isolation import die_with_parent
from resp import Gone
from session import SECOND, Session, Silent

DISK_BYTES = 64 << 20
FAKETIME = next(iter(sorted(glob.glob("/usr/lib/*/faketime/libfaketime.so.1"))), None)
REPLACING_S = 20  # the most that the others need to make a view and to agree
ENDING_S = 5  # a node that does not end by SIGTERM within that is killed, which is noted


class Clocks:
    """The nodes' clocks. `drift` keeps the bound that nodes rely on, `wild` does not, `wall` changes only the time of day."""

    def __init__(self, mode, random, directory, drift=1):
        """`drift`: how wrong clocks may go by the nodes' configuration, in percent."""
        self.mode, self.random, self.directory = mode, random, directory
        self.most = 0.8 * drift / 100

    def environment(self, node):
        if not self.mode:
            return {}
        result = {"LD_PRELOAD": FAKETIME, "FAKETIME_CACHE_DURATION": "1"}
        if self.mode == "wall":
            self.jump(node, 0)
            return result | {"FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_TIMESTAMP_FILE": self.file(node)}
        rate = (self.random.uniform(1 - self.most, 1 + self.most) if self.mode == "drift" else
                self.random.choice([0.5, 0.8, 1, 1.25, 2]))
        return result | {"FAKETIME": f"+{self.random.randint(0, 100000)} x{rate:.4f}"}

    def file(self, node):
        return str(self.directory / f"clock{node}")

    def jump(self, node, seconds):
        pathlib.Path(self.file(node)).write_text(f"{seconds:+d}\n", encoding="ascii")


class Cluster:
    def __init__(self, network, settings, history, clocks):
        """`settings`: program, directory, nodes, group, algorithms, isolated, configuration, extra (SECTION.KEY=VALUE)."""
        self.network, self.settings, self.history, self.clocks = network, settings, history, clocks
        self.processes = {}
        self.disks = settings["disks"]  # disks whose syncs can be delayed, or None
        self.paused, self.filled = set(), set()
        self.met_full_disk = set()  # nodes whose present process may have met a full disk
        self.misled = set()  # nodes with a file or a directory that is not theirs: they may refuse to run
        self.forgotten = set()  # nodes that have lost their directory: an operator has to replace them
        self.other = {}  # node: the lines of [group] that only its file has
        self.listed = {}  # node: the members that its [members] lists, if not all
        self.mounted = []
        if settings["configuration"].tied:
            self.tie_breaker().write_bytes(b"")  # the nodes do not make it
        for node in self.nodes():
            self.make_directory(node)
            self.write_config(node)

    def nodes(self):
        return range(1, self.settings["nodes"] + 1)

    # ---- files ----

    def directory(self, node):
        return pathlib.Path(self.settings["directory"]) / f"node{node}"

    def make_directory(self, node):
        """A disk of its own, where it can be had: small enough to fill."""
        self.directory(node).mkdir()
        if self.settings["isolated"]:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "torment", str(self.directory(node))],
                           check=True)
            self.mounted.append(node)

    def write_config(self, node):
        configuration = self.settings["configuration"]
        lines = ["[node]", f"id = {node}", f"listen = {self.socket(node)}",
                 "listen = {}:{}".format(*self.network.client_address(node))]
        if self.settings["group"] != "static":
            lines += [f"directory = {self.state_directory(node)}"]
        lines += ["[security]", "plaintext = yes"]  # the network has no other users
        group = configuration.group | self.other.get(node, {})
        lines += ["[group]", f"mode = {self.settings['group']}", *(f"{key} = {value}" for key, value in group.items())]
        if configuration.tied:
            lines += [f"tie-breaker = {self.tie_breaker()}"]
        lines += ["[members]", *map(self.member_line, self.listed.get(node, self.nodes()))]
        for algorithm in sorted(self.settings["algorithms"], key=len, reverse=True):  # central-deny before central*
            lines += [f"[lock {algorithm}*]", f"algorithm = {algorithm}"]
            if configuration.delay_ms:
                lines += [f"delay = {configuration.delay_ms}"]
        self.config(node).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def member_line(self, node):
        addresses = " ".join(f"{host}:{port}" for host, port in self.network.peer_addresses(node))
        attribute = self.settings["configuration"].attributes.get(node)
        return f"{node} = {addresses}" + (f" attribute {attribute}" if attribute is not None else "")

    def state_directory(self, node):
        """The directory that the node must not lose."""
        return self.directory(node) / "state"

    def tie_breaker(self):
        return pathlib.Path(self.settings["directory"]) / "tie-breaker"

    def config(self, node):
        return pathlib.Path(self.settings["directory"]) / f"node{node}.conf"

    def socket(self, node):
        """Outside of the node's small disk, and reachable whatever is cut."""
        return str(pathlib.Path(self.settings["directory"]) / f"node{node}.sock")

    def log(self, node):
        return pathlib.Path(self.settings["directory"]) / f"node{node}.log"

    def last_word(self, node):
        lines = self.log(node).read_text(encoding="utf-8", errors="replace").splitlines()
        return lines[-1] if lines else ""

    # ---- processes ----

    def state(self, node, state):
        self.history.note("node", node=node, state=state)

    def start(self, node):
        if self.alive(node):
            return
        self.reap(node)
        self.met_full_disk -= {node} - self.filled
        command = [*self.network.prefix(node), self.settings["program"], "node", "--config", str(self.config(node))]
        for setting in self.settings["extra"]:
            command += ["--set", setting]
        disk = self.disks.environment(node) if self.disks else {}
        with open(self.log(node), "ab") as log:
            self.processes[node] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                preexec_fn=die_with_parent, env=os.environ | self.clocks.environment(node) | disk)
        self.state(node, "up")

    def alive(self, node):
        return node in self.processes and self.processes[node].poll() is None

    def reap(self, node, killed=False):
        """A node that ended though the campaign did not kill it is a finding for the judge."""
        process = self.processes.pop(node, None)
        if process and not killed:
            self.history.note("died", node=node, status=process.wait(), full=node in self.met_full_disk,
                              misled=node in self.misled | self.forgotten, said=self.last_word(node))
        elif process:
            process.wait()

    def kill(self, node):
        if not self.alive(node):
            return
        self.state(node, "down")
        self.processes[node].kill()
        self.paused.discard(node)
        self.reap(node, killed=True)

    def end(self, node):
        """Ends the node in order, as an operator does."""
        if self.alive(node) and node not in self.paused:
            self.state(node, "down")
            self.processes[node].terminate()
            try:
                self.processes[node].wait(ENDING_S)
            except subprocess.TimeoutExpired:
                self.history.note("died", node=node, status="no end by SIGTERM", full=False)
            self.kill(node)
            self.reap(node, killed=True)

    def read_again(self, node):
        """HUP: it reads its file."""
        if self.alive(node):
            self.processes[node].send_signal(signal.SIGHUP)

    def pause(self, node):
        if self.alive(node) and node not in self.paused:
            self.state(node, "paused")
            self.processes[node].send_signal(signal.SIGSTOP)
            self.paused.add(node)

    def go_on(self, node):
        if node in self.paused:
            self.paused.discard(node)
            self.processes[node].send_signal(signal.SIGCONT)
            self.state(node, "up")

    def fill(self, node):
        """Fills the disk to the last byte."""
        self.state(node, "full")
        self.filled.add(node)
        self.met_full_disk.add(node)
        with open(self.directory(node) / "filler", "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(1 << 16))
            except OSError:
                pass

    def empty(self, node):
        (self.directory(node) / "filler").unlink(missing_ok=True)
        self.filled.discard(node)
        self.state(node, "up")

    def repair(self):
        """Makes all nodes run again, whatever was done to them."""
        self.network.lose_networks(set())
        for node in self.nodes():
            self.go_on(node)
            if node in self.filled:
                self.empty(node)
            if node not in self.forgotten:
                self.start(node)
        for node in sorted(self.forgotten):
            self.replace(node)

    # ---- the operator ----

    def operate(self, *words, server=None, seconds=15):
        """Runs a command of the program's against a node, from where the clients are; its exit status and output."""
        command = [self.settings["program"], *map(str, words)]
        servers = ",".join(self.socket(node) for node in ([server] if server else self.nodes()))
        try:
            result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                                    timeout=seconds, env=os.environ | {"CONCLAVE_SERVER": servers})
        except subprocess.TimeoutExpired:
            self.history.note("operator", words=list(map(str, words)), status="no end", said="")
            return None, ""
        said = (result.stdout + result.stderr).strip()
        self.history.note("operator", words=list(map(str, words)), status=result.returncode, said=said[-500:])
        return result.returncode, said

    def replace(self, node):
        """The node gets an empty directory, and the operator tells the others that it is a new member under the old id."""
        self.kill(node)
        self.reap(node)
        shutil.rmtree(self.state_directory(node), ignore_errors=True)
        server = next(other for other in self.nodes() if other not in self.forgotten)
        end_us = now_us() + REPLACING_S * SECOND
        while self.operate("replace", node, server=server)[0] != 0 and now_us() < end_us:
            time.sleep(0.2)
        self.forgotten.discard(node)
        self.start(node)

    # ---- questions ----

    def view(self, node):
        """The node's view of the group; {} if it does not answer."""
        if not self.alive(node) or node in self.paused:
            return {}
        try:
            session = Session(self.history, node, self.socket(node))
        except (Gone, Silent):
            return {}
        try:
            answer = session.ask("VIEW").answer
        except (Gone, Silent):
            answer = None
        session.close()
        return answer if isinstance(answer, dict) else {}

    def coordinator(self):
        """The coordinator of the latest view; 0 if there is none."""
        views = [view for view in map(self.view, self.nodes()) if view.get("coordinator")]
        return max(views, key=lambda view: view["epoch"])["coordinator"] if views else 0

    def await_view(self, seconds):
        """Waits until all of them are in one view. False if that takes too long."""
        end_us = now_us() + int(seconds * SECOND)
        while now_us() < end_us:
            views = [self.view(node) for node in self.nodes()]
            if all(view.get("coordinator") for view in views) and len({view["epoch"] for view in views}) == 1:
                return True
            if not all(self.alive(node) for node in self.nodes()):
                return False
            time.sleep(0.05)
        return False

    # ---- the end ----

    def stop(self):
        for node in list(self.processes):
            self.go_on(node)
            if self.alive(node):
                self.processes[node].terminate()
        for node in list(self.processes):
            try:
                status = self.processes[node].wait(ENDING_S)
            except subprocess.TimeoutExpired:
                self.history.note("died", node=node, status="no end by SIGTERM", full=False)
                self.kill(node)
                continue
            if status:
                self.history.note("died", node=node, status=status, full=False, said=self.last_word(node))
            del self.processes[node]

    def close(self):
        """Kills the processes that are left."""
        for node in list(self.processes):
            self.kill(node)
        for node in self.mounted:
            subprocess.run(["umount", "-l", str(self.directory(node))], check=False, capture_output=True)
        self.mounted = []
