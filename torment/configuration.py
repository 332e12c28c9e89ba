# SPDX-License-Identifier: MIT
"""The configuration of a run's group: the defaults, or drawn at random from the ranges of docs/live.md."""

import dataclasses

ELECTIONS = ["bully", "ring-list", "ring-basic", "chang-roberts", "chang-roberts-token", "franklin", "peterson",
             "multicast", "multicast-lean", "wireless"]
SERVE_S = 20  # after healing, every node of a group with the default settings grants every lock within this time


@dataclasses.dataclass
class Configuration:
    group: dict = dataclasses.field(default_factory=dict)  # [group]
    attributes: dict = dataclasses.field(default_factory=dict)  # node: its attribute in elections
    delay_ms: int = 0  # of every lock
    networks: int = 1
    tied: bool = False  # two nodes and a tie-breaker

    def serve_s(self):
        """The time may include several detections, leases and elections, and a lock-delay after each loss."""
        waits_ms = int(self.group.get("lease", 300)) + int(self.group.get("longest-timeout", 3000)) + self.delay_ms
        return SERVE_S + 4 * waits_ms / 1000

    def facts(self):
        """The configuration as text, for people and for the judge."""
        facts = {key: value for key, value in vars(self).items() if value and key != "group"}
        return facts | self.group


def scaled(random, least, most):
    """A number between them, uniform on a logarithmic scale."""
    return round(least * (most / least) ** random.random())


def draw(random, nodes, networks):
    """The defaults one time in three. Every value is allowed by itself, and together they obey the rules between settings: a lease lasts three
    heartbeats at least, a timeout two."""
    if random.random() < 1 / 3:
        return Configuration()
    heartbeat = scaled(random, 10, 150)
    lease = max(3 * heartbeat, scaled(random, 150, 3000))
    timeout = max(2 * heartbeat, scaled(random, 150, 1500))
    group = {"heartbeat": heartbeat, "lease": lease, "timeout": timeout,
             "longest-timeout": timeout + random.randint(0, 2500), "drift": random.choice([0.5, 1, 2, 5, 10]),
             "bound": scaled(random, 20, 200), "hold-off": random.choice([0, 500, 2000, 5000]),
             "voters": random.randint(1, 7), "election": random.choice(ELECTIONS)}
    attributes = {node: random.randint(0, 9) for node in range(1, nodes + 1) if random.random() < 0.5}
    return Configuration(group, attributes, random.choice([0, 0, 0, 200, 1000]), random.randint(1, networks))
