# SPDX-License-Identifier: MIT
"""Connections between nodes break in the middle of a frame, or carry nothing for a while: each pair has a proxy."""

import collections
import json
import pathlib
import random
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from harness import CONCLAVE, PATIENCE, Client, Gone, Refused, free_port, in_parallel, main
from starvation import Broken

LONGER = 'if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("pexpire",KEYS[1],ARGV[2]) else return 0 end'


class Proxy:
    """Carries bytes between two nodes; breaks connections, drops and delays bytes when the test says so."""

    def __init__(self, target):
        self.target = target
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = self.listener.getsockname()
        self.pairs = []
        self.delay = 0.0  # seconds that bytes are under way
        self.under_way = collections.deque()  # (when they arrive, pair, sink, bytes)
        self.silent = False
        self.broken = 0
        self.stopping = False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def meet(self):
        incoming, _ = self.listener.accept()
        try:
            outgoing = socket.create_connection(self.target, 1)
        except OSError:
            incoming.close()
            return
        self.pairs.append((incoming, outgoing))

    def drop(self, pair):
        self.pairs.remove(pair)
        for end in pair:
            end.close()

    def deliver(self):
        """What has been under way for long enough."""
        while self.under_way and not self.silent and self.under_way[0][0] <= time.monotonic():
            _, pair, sink, data = self.under_way.popleft()
            try:
                if pair in self.pairs:
                    sink.sendall(data)
            except OSError:
                self.drop(pair)

    def run(self):
        while not self.stopping:
            self.deliver()
            ends = [end for pair in self.pairs for end in pair]
            ready, _, _ = select.select([self.listener, *([] if self.silent else ends)], [], [], 0.01)
            if self.listener in ready and not self.silent:
                self.meet()
            for pair in list(self.pairs):
                for source, sink in (pair, pair[::-1]):
                    if source in ready and pair in self.pairs:
                        self.carry(pair, source, sink)
            if self.broken:
                self.broken = 0
                for pair in list(self.pairs):
                    self.drop(pair)

    def carry(self, pair, source, sink):
        try:
            data = source.recv(65536)
            if data and (self.delay or self.under_way):
                self.under_way.append((time.monotonic() + self.delay, pair, sink, data))
                return
            # When a connection breaks, some of the bytes under way have arrived: maybe half a message.
            sink.sendall(data[:len(data) // 2] if self.broken else data)
        except OSError:
            data = b""
        if not data:
            self.drop(pair)

    def stop(self):
        self.stopping = True
        self.thread.join()
        for pair in list(self.pairs):
            self.drop(pair)
        self.listener.close()


class Network:
    """Nodes 1..count, every pair with a proxy of its own between them."""

    def __init__(self, count, algorithm="central", mode="static", heartbeat=50, timeout=300, late=(), more=""):
        self.count = count
        self.more = more  # lines of [group]
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="conclave-test-"))
        self.settings = (algorithm, mode, heartbeat, timeout)
        self.late = late  # pairs that hear nothing of each other until told otherwise
        self.proxies = {}
        self.processes = []

    def __enter__(self):
        algorithm, mode, heartbeat, timeout = self.settings
        numbers = range(1, self.count + 1)
        ports = {node: free_port() for node in numbers}
        for low in numbers:
            for high in range(low + 1, self.count + 1):
                self.proxies[low, high] = Proxy(("127.0.0.1", ports[high]))
                self.proxies[low, high].silent = (low, high) in self.late
        for node in numbers:
            members = "".join(f"{other} = 127.0.0.1:"
                              f"{self.proxies[node, other].address[1] if node < other else ports[other]}\n"
                              for other in numbers)
            path = self.directory / f"node{node}.conf"
            path.write_text(f"[node]\nid = {node}\nlisten = {self.address(node)}\npeers = 127.0.0.1:{ports[node]}\n"
                            f"directory = {self.directory}/node{node}\n"
                            f"[members]\n{members}[group]\nmode = {mode}\nheartbeat = {heartbeat}\ntimeout = {timeout}\n"
                            f"{self.more}[lock *]\nalgorithm = {algorithm}\n")
            with open(self.directory / f"node{node}.log", "w", encoding="utf-8") as log:
                self.processes.append(subprocess.Popen(
                    [CONCLAVE, "node", "--config", str(path), "--record", str(self.directory / f"node{node}.jsonl")],
                    stdout=log, stderr=subprocess.STDOUT))
        self.await_views({node: set(numbers) for node in numbers})
        return self

    def address(self, node):
        return f"{self.directory}/node{node}.sock"

    def client(self, node):
        return Client(self.address(node))

    def epoch(self, node):
        client = self.client(node)
        epoch = client.ask("VIEW")["epoch"]
        client.close()
        return epoch

    def information(self, node, field):
        """A number that INFO tells."""
        client = self.client(node)
        text = client.ask("INFO")
        client.close()
        return int(re.search(rf"^{field}:(-?\d+)", text, re.MULTILINE).group(1))

    def pause(self, node, seconds):
        process = self.processes[node - 1]
        process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        process.send_signal(signal.SIGCONT)

    def await_views(self, expected):
        """Waits until each node is in a view with exactly these members: {node: members}. Returns {node: epoch}."""
        end = time.monotonic() + PATIENCE
        seen = {}
        while time.monotonic() < end:
            try:
                for node in expected:
                    client = self.client(node)
                    view = client.ask("VIEW")
                    client.close()
                    alive = {member["id"] for member in view["members"] if member["state"] != "suspected"}
                    seen[node] = (view["coordinator"], alive, view["epoch"])
                if all(seen[node][:2] == (max(members), members) for node, members in expected.items()):
                    return {node: seen[node][2] for node in expected}
            except (OSError, Gone):
                pass
            time.sleep(0.02)
        raise AssertionError(f"expected {expected}, saw {seen}")

    def __exit__(self, *_):
        for process in self.processes:
            process.terminate()
        codes = [process.wait(PATIENCE) for process in self.processes]
        for proxy in self.proxies.values():
            proxy.stop()
        logs = "".join(path.read_text() for path in self.directory.glob("*.log"))
        assert codes == [0] * self.count, (codes, logs)

    def judge(self):
        files = sorted(str(path) for path in self.directory.glob("*.jsonl"))
        result = subprocess.run([CONCLAVE, "judge", "--json", *files], capture_output=True, text=True, check=False)
        report = json.loads(result.stdout)
        shutil.rmtree(self.directory, ignore_errors=True)
        return {(name["name"], name["of"]): name for name in report["names"]}, report["views"]


def connections_break():
    """Every message arrives once and in order: the counts are exactly the texts', as if nothing had happened."""
    for algorithm in ("ricart-agrawala", "lamport", "central"):
        # Patient enough that no broken connection is taken for a dead node.
        with Network(3, algorithm, heartbeat=500, timeout=5000) as network:
            stop = threading.Event()
            breaks = 0

            def disturb(network=network, stop=stop):
                nonlocal breaks
                dice = random.Random(3)
                while not stop.is_set():
                    time.sleep(dice.random() * 0.02)
                    dice.choice(list(network.proxies.values())).broken = 1
                    breaks += 1

            def enter(node, network=network):
                client = network.client(node)
                for _ in range(50):
                    fence = client.ask("LOCK", "x")
                    assert client.ask("UNLOCK", "x", fence) == 1
                client.close()

            thread = threading.Thread(target=disturb)
            thread.start()
            in_parallel(*[lambda node=node: enter(node) for node in (1, 2, 3)])
            stop.set()
            thread.join()
            time.sleep(0.3)  # the last messages arrive
        names, views = network.judge()
        assert views == 1 and breaks > 10, (views, breaks)
        run = names["x", "nodes"]
        assert run["verdict"] == names["x", "clients"]["verdict"] == "held", run
        judged = {p["name"]: p["verdict"] for p in run["properties"]}
        assert judged["textbook-messages"] == "held" and names["x", "clients"]["entries"] == 150, run


def the_network_is_cut():
    """The split brain that the texts warn of: both sides elect and grant. Afterwards one holder is left, and the other is told."""
    with Network(3) as network:
        minority, majority = network.client(3), network.client(1)
        for pair in ((1, 3), (2, 3)):
            network.proxies[pair].silent = True
        network.await_views({1: {1, 2}, 2: {1, 2}, 3: {3}})
        one, other = majority.ask("LOCK", "x"), minority.ask("LOCK", "x")
        assert one != other
        for pair in ((1, 3), (2, 3)):
            network.proxies[pair].silent = False
        epochs = network.await_views({node: {1, 2, 3} for node in (1, 2, 3)})
        assert len(set(epochs.values())) == 1
        kept = {client: client.ask("RENEW", "x", fence) for client, fence in ((majority, one), (minority, other))}
        assert sorted(kept.values(), key=str) == [-1, None], kept
        loser, fence = (majority, one) if kept[majority] is None else (minority, other)
        assert ["lost", "x", fence] in loser.pushes
        winner, fence = (minority, other) if loser is majority else (majority, one)
        assert winner.ask("UNLOCK", "x", fence) == 1
        assert loser.ask("LOCK", "x") > max(one, other)
        minority.close()
        majority.close()
    names, _ = network.judge()
    properties = {p["name"]: p["verdict"] for p in names["x", "clients"]["properties"]}
    assert properties["exclusion"] == "violated", "the recording shows the split"


def a_late_connection():
    """Two members of the first view, which the third has made, have not met yet: their messages to each other wait."""
    with Network(3, "ricart-agrawala", timeout=3000, late=[(1, 2)]) as network:
        client = network.client(1)
        client.say("LOCK", "x")
        time.sleep(0.1)
        network.proxies[1, 2].silent = False
        fence = client.hear()
        assert client.ask("UNLOCK", "x", fence) == 1
        client.close()
        time.sleep(0.2)  # the last messages arrive
    names, views = network.judge()
    judged = {p["name"]: p["verdict"] for p in names["x", "nodes"]["properties"]}
    assert views == 1 and judged["textbook-messages"] == "held", (views, judged)


def one_link_is_cut():
    """Two members lose messages between them while the leader sees both: a new view begins, in which they ask again."""
    for mode in ("static", "raft"):
        one_link_is_cut_in(mode)


def one_link_is_cut_in(mode):
    with Network(3, "ricart-agrawala", mode) as network:
        client = network.client(1)
        network.proxies[1, 2].silent = True
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and "suspected" not in [m["state"] for m in client.ask("VIEW")["members"]]:
            time.sleep(0.02)
        waiting = []
        asker = network.client(1)
        thread = threading.Thread(target=lambda: waiting.append(asker.ask("LOCK", "x")))
        thread.start()
        time.sleep(0.2)
        network.proxies[1, 2].silent = False
        thread.join(PATIENCE)
        assert waiting and waiting[0] > 0, "the request that was lost is made again"
        asker.close()
        client.close()
    network.judge()


def who_left_stays_away():
    """Clients leave while two of five nodes do not hear the primary. The leases of the three that know of it run out one
    after the other, in one view. The next view has what those three know, not the older lists of the other two."""
    for _ in range(20):
        if leave_unheard():
            return
    raise AssertionError("each time the log was led by a node that cannot prepare a view with all others")


def leave_unheard():
    """False: nothing can be said, because a node leads the log that does not reach all others."""
    with Network(5, mode="raft", timeout=20000, more="lease = 500\n") as network:
        before = network.epoch(1)
        leader = network.information(1, "raft_leader")
        primary, other, *cut_off = (node for node in range(1, 6) if node != leader)
        names = [f"name {i}" for i in range(30)]  # the node is the primary of some of them
        stays, leaves = network.client(leader), network.client(other)
        kept = {name: stays.ask("MEMBERS", name, "JOIN") for name in names}
        for name in names:
            assert leaves.ask("MEMBERS", name, "JOIN") > kept[name]
        links = [network.proxies[min(primary, node), max(primary, node)] for node in cut_off]
        for proxy in links:
            proxy.silent = True
        time.sleep(0.1)  # a proxy may still carry what it has
        for name in names:
            assert leaves.ask("MEMBERS", name, "LEAVE") == 1
        for node in (primary, other, leader):
            network.pause(node, 0.8)
            while network.information(node, "lease_ms") <= 0:
                time.sleep(0.02)
        assert [network.information(node, "lapses") for node in cut_off] == [0, 0], "the machine is too slow"
        assert {network.epoch(node) for node in range(1, 6)} == {before}, "the machine is too slow"
        if {network.information(node, "raft_leader") for node in (leader, other)} - {leader, other}:
            stays.close()
            leaves.close()
            return False
        assert stays.ask("STEPDOWN", other) == "OK"
        end = time.monotonic() + PATIENCE
        while any(network.epoch(node) == before for node in range(1, 6)):
            assert time.monotonic() < end, "no view has begun"
            time.sleep(0.02)
        for proxy in links:
            proxy.silent = False
        for node in range(1, 6):
            client = network.client(node)
            for name in names:
                listed = [entry[0] for entry in client.ask("MEMBERS", name)]
                if listed != [kept[name]]:
                    raise Broken(f"node {node} lists {listed} of {name}, expected {kept[name]}")
            client.close()
        stays.close()
        leaves.close()
    network.judge()
    return True


def silence(network, pairs, silent=True):
    for one, other in pairs:
        network.proxies[min(one, other), max(one, other)].silent = silent
    time.sleep(0.1)  # a proxy may still carry what it has


def others_of(network, count):
    """The node that leads the log, and the others."""
    leader = network.information(1, "raft_leader")
    return leader, *(node for node in range(1, count + 1) if node != leader)


def await_members(client, members):
    """The client's node is in a view of these, with its lease."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        view = client.ask("VIEW")
        if view["coordinator"] and {it["id"] for it in view["members"] if it["state"] != "suspected"} == members:
            return
        time.sleep(0.02)
    raise AssertionError(f"never a view of {members}: {view}")


def said(client):
    """The answer to what the client has said, or the error."""
    try:
        return client.hear()
    except Refused as error:
        return str(error)


def forced_unheard_by_one():
    """FORCE is answered while one of three members has not heard of it, and the keeper is cut off at once. The next view
    is prepared by the member that knows, and the other one's memory, which is older, does not undo it."""
    with Network(3, mode="raft", timeout=1000) as network:
        leader, keeper, other = others_of(network, 3)
        holder, admin = network.client(keeper), network.client(leader)
        fence = holder.ask("LOCK", "a", "TTL", 60000, "SECRET", "s")
        silence(network, [(keeper, other)])
        assert admin.ask("FORCE", "a", fence, "it hangs") == "OK"
        silence(network, [(keeper, leader)])
        await_members(admin, {leader, other})
        again = network.client(other)
        for client in (admin, again):
            assert client.ask("RENEW", "a", fence, "SECRET", "s") is None, "whoever keeps it"
            held, = [it for it in client.ask("LOCKS", "a") if it["kind"] == "lock" and it["holder"]]
            assert held["forced"] == 1 and held["node"] != keeper, held
        silence(network, [(keeper, other), (keeper, leader)], False)
        for client in (holder, admin, again):
            client.close()
    network.judge()


def forced_at_a_keeper_cut_off():
    """A keeper that nobody hears, and that has its lease yet, does not tell its operator that a hold is forced. Once the
    others can hear it the operator is told what is so."""
    with Network(3, mode="raft", timeout=1000) as network:
        leader, keeper, other = others_of(network, 3)
        holder, admin, late = network.client(keeper), network.client(keeper), network.client(leader)
        fence = holder.ask("LOCK", "a", "TTL", 60000, "SECRET", "s")
        silence(network, [(keeper, leader), (keeper, other)])
        admin.say("FORCE", "a", fence, "it hangs")
        assert holder.push() == ["lost", "a", fence, "it hangs"], "the holder is told at once"
        assert holder.ask("RENEW", "a", fence) is None if network.information(keeper, "lease_ms") > 0 else True
        answered, _, _ = select.select([admin.socket], [], [], 0.2)
        forced = bool(answered) and said(admin) == "OK"
        await_members(late, {leader, other})
        renewed = late.ask("RENEW", "a", fence, "SECRET", "s")
        assert not (forced and renewed), "FORCE was answered OK, and then the hold was renewed"
        silence(network, [(keeper, leader), (keeper, other)], False)
        if not answered:
            answer = said(admin)
            assert answer == "OK" or answer.startswith("NOQUORUM"), answer
            forced = answer == "OK"
        await_members(late, {1, 2, 3})
        assert late.ask("FORCE", "a", fence, "again") == "OK"
        assert late.ask("RENEW", "a", fence, "SECRET", "s") is None
        for client in (holder, admin, late):
            client.close()
    network.judge()


def forced_while_it_is_made_longer():
    """A longer time to live that enough members have yet to know, for a client of another member, ends with FORCE: that
    client is not told that it has any time. FORCE is answered when enough of them can be heard."""
    with Network(5, mode="raft", timeout=20000, more="lease = 4000\n") as network:
        leader, keeper, *cut_off = others_of(network, 5)
        redis, admin = network.client(leader), network.client(keeper)
        holder = network.client(keeper)
        assert holder.ask("SET", "a", "token", "NX", "PX", 60000) == "OK"
        fence = next(it["fence"] for it in admin.ask("LOCKS", "a") if it["kind"] == "lock" and it["holder"])
        silence(network, [(keeper, node) for node in cut_off])
        redis.say("EVAL", LONGER, 1, "a", "token", 90000)
        time.sleep(0.2)
        admin.say("FORCE", "a", fence, "it hangs")
        assert not select.select([admin.socket], [], [], 0.5)[0], "two of five know it"
        silence(network, [(keeper, node) for node in cut_off], False)
        assert redis.hear() == 0, "it is not the client's any more"
        assert admin.hear() == "OK"
        for client in (redis, holder, admin):
            client.close()
    network.judge()


def forced_and_given_back():
    """Operators wait for a majority to know that a hold is forced, and the holder gives it back: they need not wait for more.
    Each is in the log once, however often his node has asked."""
    with Network(5, mode="raft", timeout=20000, more="lease = 4000\n") as network:
        leader, keeper, *cut_off = others_of(network, 5)
        holder, near, far = network.client(keeper), network.client(keeper), network.client(leader)
        fence = holder.ask("LOCK", "a", "TTL", 60000)
        silence(network, [(keeper, node) for node in cut_off])
        near.say("FORCE", "a", fence, "said near")
        far.say("FORCE", "a", fence, "said far")
        assert not select.select([near.socket, far.socket], [], [], 0.8)[0], "two of five know it"
        assert holder.ask("UNLOCK", "a", fence) == 1
        assert near.hear() == "OK" and far.hear() == "OK"
        silence(network, [(keeper, node) for node in cut_off], False)
        log = (network.directory / f"node{keeper}.log").read_text()
        assert log.count("said near") == log.count("said far") == 1, log
        for client in (holder, near, far):
            client.close()
    network.judge()


if __name__ == "__main__":
    sys.exit(main([connections_break, the_network_is_cut, a_late_connection, one_link_is_cut, who_left_stays_away,
                   forced_unheard_by_one, forced_at_a_keeper_cut_off, forced_while_it_is_made_longer,
                   forced_and_given_back]))
