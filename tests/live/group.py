# SPDX-License-Identifier: MIT
"""Nodes started one by one, each with a directory of its own, whose peers speak through proxies that can be cut."""

import os
import pathlib
import queue
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

from harness import CONCLAVE, PATIENCE, Broken, Client, Gone, Refused, await_catching, free_port, no_crash, stretch


class Link:
    """A proxy between two members. A cut loses only bytes that TCP would repeat."""

    def __init__(self, low, high, target, delay=0.0):
        self.low, self.high, self.target, self.delay = low, high, target, delay
        self.open = {(low, high): threading.Event(), (high, low): threading.Event()}
        self.ended = False
        self.join()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def cut(self, *directions):
        for direction in directions or self.open:
            self.open[direction].clear()

    def join(self):
        for event in self.open.values():
            event.set()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.connect, args=(near,), daemon=True).start()

    def connect(self, near):
        for event in self.open.values():
            event.wait()
        try:
            far = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # refused is refused
            near.close()
            return
        for source, sink, direction in ((near, far, (self.low, self.high)), (far, near, (self.high, self.low))):
            sink.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.pump, args=(source, sink, self.open[direction]), daemon=True).start()

    def late(self, source):
        """The bytes of one side, each piece later by the link's delay; then b""."""
        pieces = queue.Queue()

        def listen():
            data = b"-"
            while data:
                try:
                    data = source.recv(65536)
                except OSError:
                    data = b""
                pieces.put((time.monotonic() + self.delay, data))

        threading.Thread(target=listen, daemon=True).start()
        while True:
            due, data = pieces.get()
            time.sleep(max(0, due - time.monotonic()))
            yield data

    def pump(self, source, sink, event):
        pieces = self.late(source) if self.delay else iter(lambda: source.recv(65536), None)
        try:
            while data := next(pieces):
                event.wait()
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.join()
        self.listener.close()


class Group:
    """`conclave node` for each member, in `group raft` unless told otherwise."""

    def __init__(self, count, standbys=(), delay=0.0, **settings):
        """`delay`: seconds that everything between members takes, one way."""
        self.delay = delay
        self.members = list(range(1, count + 1))
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="conclave-test-"))
        self.settings = settings
        self.standbys = standbys
        self.processes = {}
        self.stopped = set()
        self.links = {}
        self.reconfigure(self.members)

    def reconfigure(self, members, joining=()):
        """Before they are started."""
        self.members = list(members)
        ports = {node: free_port() for node in self.members}
        for link in self.links.values():
            link.close()
        self.links = {(a, b): Link(a, b, ports[b], self.delay) for a in self.members for b in self.members if a < b}
        for node in self.members:
            self.configure(node, ports, node in joining)

    def configure(self, node, ports, joins):
        lines = ["[node]", f"id = {node}", f"listen = {self.address(node)}", f"peers = 127.0.0.1:{ports[node]}",
                 f"directory = {self.directory}/{node}", f"join = {'yes' if joins else 'no'}", "[members]"]
        for other in self.members:
            pair = (node, other)
            port = self.links[pair].port if pair in self.links else ports[other]
            lines.append(f"{other} = 127.0.0.1:{port}{' standby' if other in self.standbys else ''}")
        lines.append("[group]")
        patient = {key: 300 * stretch() for key in ("lease", "timeout") if stretch() > 1}
        lines += [f"{key.replace('_', '-')} = {value}" for key, value in {**patient, **self.settings}.items()]
        (self.directory / f"{node}.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def start(self, *nodes):
        for node in nodes or self.members:
            with open(self.directory / f"{node}.log", "a", encoding="utf-8") as log:
                self.processes[node] = subprocess.Popen(
                    [CONCLAVE, "node", "--config", str(self.directory / f"{node}.conf")], stdout=log, stderr=log)

    def kill(self, *nodes, which=signal.SIGKILL):
        for node in nodes:
            process = self.processes[node]
            os.kill(process.pid, which)
            if which in (signal.SIGKILL, signal.SIGTERM):
                code = process.wait()
                assert code == (0 if which == signal.SIGTERM else -which), code
                del self.processes[node]
                self.stopped.discard(node)
            elif which == signal.SIGSTOP:
                self.stopped.add(node)
            elif which == signal.SIGCONT:
                self.stopped.discard(node)

    def split(self, *sides):
        """Only those on the same side hear each other."""
        for (a, b), link in self.links.items():
            if any(a in side and b in side for side in sides):
                link.join()
            else:
                link.cut()

    def mute(self, node):
        """No member hears the node, but it hears all."""
        for (a, b), link in self.links.items():
            if node in (a, b):
                link.cut((node, b if node == a else a))

    def heal(self):
        for link in self.links.values():
            link.join()

    def address(self, node):
        return f"{self.directory}/{node}.sock"

    def client(self, node, **options):
        return Client(self.address(node), **options)

    def view(self, node):
        client = self.client(node, timeout=2)
        try:
            return client.ask("VIEW")
        finally:
            client.close()

    def await_view(self, members=None, patience=PATIENCE):
        """Waits until exactly these serve in one view; returns the view as the first of them reports it."""
        members = sorted(members or self.processes)
        end = time.monotonic() + patience
        views = {}
        while time.monotonic() < end:
            try:
                views = {node: self.view(node) for node in members}
            except (OSError, Gone, Refused):
                continue
            inside = [sorted(m["id"] for m in view["members"] if m["member"]) for view in views.values()]
            agreed = {(view["epoch"], view["coordinator"]) for view in views.values()}
            if len(agreed) == 1 and all(one == members for one in inside) and next(iter(agreed))[1] in members:
                return views[members[0]]
            time.sleep(0.01)
        ended = {node: process.poll() for node, process in self.processes.items() if process.poll() is not None}
        raise AssertionError(f"no common view of {members}: {views}; ended: {ended}, {self.last_words()}")

    def await_answers(self, node, patience=PATIENCE):
        """Until a node that was started answers clients, whatever it says."""
        end = time.monotonic() + patience
        while True:
            try:
                self.view(node)
                return
            except Refused:
                return
            except (OSError, Gone):
                assert time.monotonic() < end, f"node {node} does not answer: {self.last_words()}"
                time.sleep(0.02)

    def last_words(self):
        """The end of each node's log, to look at after a failure."""
        logs = sorted(self.directory.glob("*.log"))
        return {log.stem: log.read_text(encoding="utf-8", errors="replace").splitlines()[-1:] for log in logs}

    def __enter__(self):
        self.start()
        try:
            self.await_view()
        except BaseException:
            self.end_all()
            raise
        return self

    def end_all(self):
        """Ends every node, whatever its state; returns their exit codes."""
        self.heal()
        for node in list(self.stopped):
            self.kill(node, which=signal.SIGCONT)
        for process in self.processes.values():
            await_catching(process, signal.SIGTERM)
            process.terminate()
        codes = {node: process.wait(PATIENCE) for node, process in self.processes.items()}
        for link in self.links.values():
            link.close()
        return codes

    def __exit__(self, *_):
        codes = self.end_all()
        logs = "".join(path.read_text() for path in sorted(self.directory.glob("*.log")))
        shutil.rmtree(self.directory, ignore_errors=True)
        no_crash(logs, "peer-cut-off")
        if any(codes.values()):
            raise Broken((codes, logs))
