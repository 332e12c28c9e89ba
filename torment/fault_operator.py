# SPDX-License-Identifier: MIT
"""Faults of operators: other settings on one node, files cut short, restarts, commands at the worst moment."""

from hold import Hold, Over
from fault_process import kill_these, pause_these
from resp import Gone
from session import Session, Silent

LEASES = [100, 200, 300, 600, 1500, 3000]


def other_settings(world):
    """One node starts with terms of its own, longer or shorter than the group's, and stops while its clients rely on
    its promises. The others must not grant before these are over."""
    node = world.any()[0]
    terms = {"lease": world.random.choice(LEASES), "drift": world.random.choice([0.1, 1, 10]),
             "bound": world.random.choice([20, 50, 200]), "voters": world.random.randint(1, 7)}
    terms["heartbeat"] = min(50, terms["lease"] // 3)
    world.say("settings", node=node, terms=terms)
    restart_with(world, node, other=terms)
    yield world.seconds(1, 2.5)
    holds = [hold for hold in (take(world, node, name) for name in world.locks) if hold]
    yield from pause_these(world, [node])
    for hold in holds:
        hold.end("lease")
        hold.session.close()
    yield world.seconds(0.2, 1)
    restart_with(world, node)


def take(world, node, name):
    """A client at that node that relies on its lock for as long as it was promised, whatever happens."""
    session = None
    try:
        session = Session(world.history, node, world.cluster.socket(node))
        grant = session.ask("LOCK", name, "WAIT", 1000, wait_ms=1000)
        if isinstance(grant.answer, int):
            return Hold(session, "lock", name, grant)
    except (Gone, Silent, Over):
        pass
    if session:
        session.close()
    return None


def truncated_members(world):
    """A node's file loses lines of [members], and the node reads it: by HUP, or when it starts."""
    node = world.any()[0]
    others = [each for each in world.nodes() if each != node]
    listed = [node] + world.random.sample(others, world.random.randint(0, len(others) - 1))
    restarts = world.random.random() < 0.5
    world.say("members", node=node, listed=sorted(listed), by="restart" if restarts else "HUP")
    world.cluster.misled.add(node)
    world.cluster.listed[node] = sorted(listed)
    world.cluster.write_config(node)
    if restarts:
        world.cluster.kill(node)
        world.cluster.start(node)
    else:
        world.cluster.read_again(node)
    yield world.seconds(1, 5)
    del world.cluster.listed[node]
    world.cluster.write_config(node)
    world.cluster.read_again(node)
    world.cluster.misled.discard(node)


def restart_with(world, node, other=None):
    world.cluster.end(node)
    world.cluster.other.pop(node, None)
    if other:
        world.cluster.other[node] = other
    world.cluster.write_config(node)
    world.cluster.start(node)


def rolling_restart(world):
    """One node after the other ends in order and starts again; the next follows when the group is complete."""
    world.say("rolling restart")
    for node in world.any(len(world.nodes())):
        world.cluster.end(node)
        yield world.seconds(0, 0.5)
        world.cluster.start(node)
        for _ in range(100):
            yield 0.1
            views = [world.cluster.view(each) for each in world.nodes()]
            if all(view.get("coordinator") for view in views) and len({view["epoch"] for view in views}) == 1:
                break


def commands(world):
    """An operator's commands while a node dies or hangs."""
    victims = world.any()
    hurt = world.random.choice([kill_these, pause_these])(world, victims)
    seconds = next(hurt)
    for _ in range(world.random.randint(1, 3)):
        act = world.random.choice([step_down, set_lease, look, read_files])
        act(world)
        yield world.seconds(0, 0.3)
    yield seconds
    yield from hurt


def step_down(world):
    to = world.any()[0]
    world.cluster.operate("step-down", *(["--to", to] if world.random.random() < 0.5 else []))


def set_lease(world):
    world.cluster.operate("set", f"group.lease={world.random.choice(LEASES)}")


def look(world):
    world.cluster.operate(world.random.choice(["status", "doctor"]))


def read_files(world):
    for node in world.nodes():
        if node not in world.cluster.paused:
            world.cluster.read_again(node)
