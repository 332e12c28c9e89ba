# SPDX-License-Identifier: MIT
"""Faults of clients: machines that vanish while they hold a lock, crowds that leave at once."""

import pathlib
import subprocess
import sys
import time

from history import now_us
from isolation import die_with_parent
from resp import Gone
from session import SECOND, Session, Silent

HERE = pathlib.Path(__file__).resolve().parent
FREED_S = 15  # within this time, the lock of a client that vanished is granted to another
START_S = 20
CROWD = 1500


def spawn(command, **options):
    return subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, start_new_session=True,
                            preexec_fn=die_with_parent, **options)


def end(process):
    process.kill()
    process.wait()


def vanish(world):
    """A client's machine takes a lock, by a plain connection or by `conclave lock`, and loses its network and its power.
    No packet tells the node of it."""
    node, other = world.any(2)
    name = f"vanished-{now_us()}"
    plain = world.random.random() < 0.5
    prefix = world.network.add_guest("guest")
    host, port = world.network.client_address(node)
    holder = None
    try:
        if plain:
            holder = spawn([*prefix, sys.executable, HERE / "crowd.py", host, port, 1, name], stdout=subprocess.PIPE)
        else:
            holder = spawn([*prefix, world.cluster.settings["program"], "lock", name, "--server", f"{host}:{port}", "--",
                            "sh", "-c", "echo inside; exec sleep 1000"], stdout=subprocess.PIPE)
        if not holder.stdout.readline():
            world.say("no lock for a guest", node=node)  # because of other faults
            return
        world.network.unplug("guest")
        end(holder)
        world.say("vanish", node=node, plain=plain)
        world.history.note("vanished", name=name, node=node, plain=plain)
        yield from await_freed(world, other, name)
    finally:
        if holder:
            end(holder)
        world.network.remove("guest")


def await_freed(world, node, name):
    """Asks another node for the lock until that grants it."""
    end_us = now_us() + 2 * FREED_S * SECOND
    while now_us() < end_us:
        session, why = None, "gone"
        try:
            session = Session(world.history, node, world.cluster.socket(node))
            call = session.say("LOCK", name, "WAIT", 2 * FREED_S * 1000, wait_ms=2 * FREED_S * 1000)
            while not call.answered_us:
                yield 0.1
                session.attend(now_us())
            if isinstance(call.answer, int):
                world.history.note("freed", name=name)
                return
        except Gone:
            pass
        except Silent:
            why = "silent"
        finally:
            if session:
                session.close(why)
        yield 0.2


def crowd(world):
    """Many clients of a node, each with a lock, end at the same moment."""
    node = world.any()[0]
    host, port = world.network.client_address(node)
    crowd_of = spawn([sys.executable, HERE / "crowd.py", host, port, CROWD, f"crowd-{now_us()}"], stdout=subprocess.PIPE)
    try:
        if not crowd_of.stdout.readline():
            world.say("no room for a crowd", node=node)
            return
        yield world.seconds(0.5, 1)
        begin_us = world.history.note("crowd", node=node, count=CROWD)
        world.say("crowd leaves", node=node)
        end(crowd_of)
        late_ms = 0
        while now_us() < begin_us + 2 * SECOND:
            before = time.monotonic()
            yield 0.02
            late_ms = max(late_ms, (time.monotonic() - before) * 1000 - 20)
        world.history.note("crowd-gone", begin=begin_us, late_ms=round(late_ms))
    finally:
        end(crowd_of)
