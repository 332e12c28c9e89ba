# SPDX-License-Identifier: MIT
"""Members of a name whose node is far from the others: what it says and what it is told is under way when the view changes."""

import select
import signal
import sys
import time

from harness import PATIENCE, Refused, in_parallel, main, stretch
from network import Network
from starvation import Broken

FAR = 1
DELAY = 0.25  # seconds to the other nodes



def distant():
    """Three nodes. They suspect each other late: what the far one says takes its time."""
    return Network(3, mode="raft", heartbeat=50, timeout=1500 * stretch(), more=f"lease = {2000 * stretch()}\n")


def links(network, node):
    return [proxy for pair, proxy in network.proxies.items() if node in pair]


def cut_off(network, node):
    """Nothing arrives any more, what is under way neither."""
    for proxy in links(network, node):
        proxy.silent = True


def await_view(network, node, after):
    """Until the node is in a later view, with its lease. Its epoch."""
    end = time.monotonic() + PATIENCE
    while (epoch := network.epoch(node)) <= after or network.information(node, "lease_ms") <= 0:
        assert time.monotonic() < end, (epoch, after)
        time.sleep(0.01)
    return epoch


def is_answered(client):
    return bool(select.select([client.socket], [], [], 0)[0])


def leaves_while_it_comes_back():
    """A node that was away says anew who of its clients are members, and one that leaves. Both are carried out, the primary is
    cut off, and the next primary is told both again: who is told that it has left is not listed from then on."""
    with distant() as network:
        names = [f"name {number}" for number in range(24)]
        clients = {name: network.client(FAR) for name in names}
        numbers = {name: client.ask("MEMBERS", name, "JOIN") for name, client in clients.items()}
        cut_off(network, FAR)
        away = await_view(network, 2, network.epoch(FAR))
        near = network.information(2, "raft_leader")  # so the next view does not need another leader
        for proxy in links(network, FAR):
            proxy.delay, proxy.silent = DELAY, False
        await_view(network, FAR, away)
        time.sleep(0.2 * DELAY)  # it knows the lists now, and has told that its clients come back
        for name, client in clients.items():
            client.say("MEMBERS", name, "LEAVE")
        time.sleep(1.3 * DELAY)  # this has been carried out, and the answers are under way
        late = [name for name, client in clients.items() if not is_answered(client)]
        cut_off(network, 5 - near)
        assert late, "the machine is too slow"
        readers = {name: network.client(near) for name in names}
        told = {}

        def read(name):
            left = clients[name].hear()
            told[name] = (left, [entry[0] for entry in readers[name].ask("MEMBERS", name)])

        in_parallel(*[lambda n=name: read(n) for name in names])
        for name, (left, listed) in told.items():
            if left == 1 and numbers[name] in listed:
                raise Broken(name, numbers[name], listed)
        for client in (*readers.values(), *clients.values()):
            client.close()
    network.judge()


def joins_anew():
    """Clients are told that there is no majority while they are about to join, and try again until they are members. They stay
    members: what they had given up is not taken for what they have."""
    with distant() as network:
        names = [f"name {number}" for number in range(12)]
        clients = {name: network.client(FAR) for name in names}
        for proxy in links(network, FAR):
            proxy.delay = DELAY
        cut_off(network, FAR)
        for name, client in clients.items():
            client.say("MEMBERS", name, "JOIN")
        for client in clients.values():
            try:
                raise AssertionError(client.hear())
            except Refused as refusal:
                assert str(refusal).startswith("NOQUORUM"), refusal
        for proxy in links(network, FAR):
            proxy.silent = False
        numbers = {}

        def insist(name, client):
            end = time.monotonic() + PATIENCE
            while name not in numbers:
                assert time.monotonic() < end, name
                try:
                    numbers[name] = client.ask("MEMBERS", name, "JOIN")
                except Refused:
                    time.sleep(0.005)

        in_parallel(*[lambda n=name, c=client: insist(n, c) for name, client in clients.items()])
        time.sleep(4 * DELAY)  # until all that is under way has arrived
        reader = network.client(2)
        for name in names:
            listed = [entry[0] for entry in reader.ask("MEMBERS", name)]
            if listed != [numbers[name]]:
                raise Broken(name, numbers[name], listed)
        for client in (reader, *clients.values()):
            client.close()
    network.judge()


def stands_still_while_it_is_told():
    """A node stands still while its clients are told to do what is to be done once. The group goes on without it, and others are
    told to do it: its clients are not sent to work when it goes on."""
    with distant() as network:
        names = [f"name {number}" for number in range(12)]
        mine = {name: network.client(FAR) for name in names}
        other = network.client(2)
        for proxy in links(network, FAR):
            proxy.delay = DELAY
        for name, client in mine.items():
            client.say("ONCE", name, "EVERY", 10 ** 12)
        time.sleep(1.6 * DELAY)  # they have been granted, and the answers are under way
        before = network.epoch(2)
        network.processes[FAR - 1].send_signal(signal.SIGSTOP)
        time.sleep(0.05)
        early = {name for name, client in mine.items() if is_answered(client)}
        assert len(early) < len(names), "the machine is too slow"
        await_view(network, 2, before)
        fences = {name: other.ask("ONCE", name, "EVERY", 10 ** 12) for name in names}
        network.processes[FAR - 1].send_signal(signal.SIGCONT)
        assert all(fences.values()), fences
        for name in set(names) - early:
            try:
                answer = mine[name].hear()
            except Refused as refusal:
                assert str(refusal).startswith("NOQUORUM"), refusal
            else:
                if answer is not None:
                    raise Broken(name, answer, fences[name])
        for client in (other, *mine.values()):
            client.close()
    network.judge()


if __name__ == "__main__":
    sys.exit(main([leaves_while_it_comes_back, joins_anew, stands_still_while_it_is_told]))
