# SPDX-License-Identifier: MIT
"""A hostile member: it has a member's keys, takes another member's place, and sends any messages.

It can keep the group from working. It must not crash a node, nor make two hold at once whose fences are checked.
"""

import pathlib
import socket
import struct
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "live"))

import forge  # noqa: E402

KINDS = {"central": 3, "token-ring": 4, "ricart-agrawala": 2, "central-deny": 4, "lamport": 3, "maekawa": 6, "voting": 4}
EDGES = [0, 1, 2, 3, 7, 255, 1 << 16, (1 << 32) - 1, 1 << 32, 1 << 23, 1 << 33, 1 << 34, 1 << 39, 1 << 40, (1 << 53) - 1, 1 << 53,
         (1 << 63) - 1, (1 << 64) - 1]


class Insider:
    def __init__(self, world):
        self.world, self.random = world, world.random
        self.victim = self.random.choice(world.nodes()[1:])
        self.mask = self.random.choice([node for node in world.nodes() if node < self.victim])
        self.address = world.network.peer_addresses(self.victim)[0]
        self.epoch, self.term, self.directory, self.process, self.sent = 1, 1, 1, 0, 0

    def number(self, likely):
        draw = self.random.random()
        if draw < 0.5:
            return max(0, likely + self.random.randint(-1, 2))
        return self.random.choice(EDGES) if draw < 0.9 else self.random.getrandbits(self.random.randint(1, 64))

    def name(self):
        return self.random.choice(self.world.locks).encode()

    # ---- what it says ----

    def letter(self, sequence):
        name = self.name()
        algorithm = max((each for each in KINDS if name.decode().startswith(each)), key=len, default="central")
        parameters = {"central": [-1], "central-deny": [-1]}.get(algorithm, [])
        body = b"".join(struct.pack("<Q", self.number(self.epoch << 34)) for _ in range(self.random.choice([0, 0, 1, 1, 2, 5])))
        return forge.numbered(forge.LETTER, sequence, self.random.choice([1, 1, 1, 2, 3]),
                              self.random.randrange(KINDS[algorithm] + 1), name, self.number(self.epoch),
                              self.number(5) & (1 << 40) - 1 | (self.number(9) & (1 << 24) - 1) << 40,
                              forge.fingerprint(algorithm, *parameters), body)

    def entry(self):
        length = self.random.choice([1, 8, 60, 300, 1023, 1024, 1025, 3000])
        return forge.entry(self.number(self.term), self.random.choice([1, 1, 1, 2, 3, 9]), self.random.randbytes(length))

    def raft(self, sequence):
        term = self.number(self.term)
        kind = self.random.randrange(1, 8)
        if kind in (1, 7):
            message = forge.append(term, self.number(self.epoch), self.number(self.term), self.number(self.epoch),
                                   *(self.entry() for _ in range(self.random.randrange(3))))
        elif kind == forge.VOTE:
            message = struct.pack("<BBQQQQBB", 1, kind, term, self.mask + 1, self.number(self.epoch), self.number(self.term), 1,
                                  self.random.randrange(2))
        else:
            message = struct.pack("<BB", 1, kind) + self.random.randbytes(self.random.choice([8, 16, 24, 26, 100]))
        return forge.agreement(sequence, message, term)

    def notice(self, sequence):
        body = b"".join(struct.pack("<Q", self.number(self.epoch << 23)) for _ in range(self.random.randrange(8)))
        return forge.numbered(forge.NOTICE, sequence, self.random.randrange(4), self.random.randrange(14), self.name(),
                              self.number(self.epoch), 0, 0, body)

    def council(self, sequence):
        return forge.numbered(forge.COUNCIL, sequence, 0, self.random.randrange(12), b"", self.number(self.epoch),
                              self.number(1), 0, self.random.randbytes(4 * self.random.randrange(40)))

    def beat(self, _):
        return forge.beat(self.number(self.term), self.number(self.epoch), self.number(1), self.number(1))

    def grant(self, _):
        return forge.frame(forge.GRANT, struct.pack("<QQI", self.number(self.epoch), self.number(1), self.number(300) & 0xffffffff))

    def garbage(self, _):
        return forge.frame(self.random.randrange(12), self.random.randbytes(self.random.randrange(200)))

    # ---- how it gets in ----

    def look(self):
        """The group's data that every member knows."""
        view = self.world.cluster.view(self.victim)
        self.epoch = int(view.get("epoch", self.epoch)) or 1
        for it in view.get("members", []):
            if it["id"] == self.mask:
                self.directory, self.process = it.get("directory", 1), it["process"]
        self.term = self.random.randint(1, 5 + self.epoch)

    def speak(self):
        """One connection, until it is ended."""
        group, mode = forge.learn(self.address, self.mask, self.victim)
        ways = [self.letter] * 6 + [self.raft] * 4 + [self.notice] * 3 + [self.council, self.beat, self.grant, self.garbage]
        with socket.create_connection(self.address, 2) as connection:
            connection.settimeout(1)
            offer = forge.hello(group=group, sender=self.mask, to=self.victim, mode=mode, directory=self.directory,
                                stream=(self.process or self.random.getrandbits(31)) << 32 | self.random.getrandbits(20))
            if self.random.random() < 0.1:
                offer += forge.hello(group=group, sender=self.mask, to=self.victim, mode=mode, refusal=forge.DISMISSED,
                                     stream=1000)
            way = self.random.choice(ways)
            for sequence in range(1, self.random.choice([2, 5, 40])):
                if self.random.random() < 0.3:
                    way = self.random.choice(ways)
                offer += way(sequence)
                self.sent += 1
            connection.sendall(offer)
            while connection.recv(4096):
                pass


def insider(world):
    """Now and then it connects to a member in the name of another one, as often as it is accepted."""
    it = Insider(world)
    world.say("insider", victim=it.victim, mask=it.mask)
    for _ in range(world.random.randint(3, 8)):
        try:
            it.look()
            it.speak()
        except (OSError, AssertionError):
            pass  # it is refused, or its connection was closed
        yield world.seconds(0.1, 0.8)
    world.say("insider", victim=it.victim, mask=it.mask, sent=it.sent)
