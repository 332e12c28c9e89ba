#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Observes the election at one node until SIGTERM, watches locks there, and records every leader and every holder.

usage: observer.py PLAN NUMBER    the same plan as client.py's; the number is the node's
"""

import sys
import time

from client import load_plan, until_terminated
from history import History, now_us
from resp import Gone
from session import SECOND, Session, Silent

LOOK_S = 2  # between PINGs: a silent connection may be a dead one


def topics(plan):
    """(command, kind, name) of all that it follows."""
    yield "OBSERVE", "leader", "leader"
    if "watch" in plan["recipes"]:
        for name in plan["names"]:
            yield "WATCH", "lock", name
            yield "WATCH", "lock", name + ".lasting"


def observe(session, plan, stopping):
    """One connection. An answer and a push have the same content in two forms."""
    connection = now_us()  # tells this connection from the next

    def tell(kind, name, leader, fence):
        session.history.note("observed", node=session.node, connection=connection, kind=kind, name=name, leader=leader,
                             fence=fence)

    def tell_pushes():
        for kind, name, leader, fence, *_ in session.pushes:
            tell(kind, name, leader, fence)
        session.pushes.clear()

    for command, kind, name in topics(plan):
        first = session.ask(command, name).answer
        tell_pushes()
        if isinstance(first, list):
            tell(kind, name, *first[:2])
    session.history.note("observing", connection=connection)
    try:
        while not stopping():
            if not session.attend(now_us() + LOOK_S * SECOND):
                session.ask("PING")
            tell_pushes()
    finally:
        session.history.note("not-observing", connection=connection)


def main(plan, number):
    stopping = until_terminated()
    history = History(f"{plan['histories']}/observer-{number}.jsonl", f"observer-{number}")
    while not stopping():
        session, why = None, "gone"
        try:
            session = Session(history, number, plan["addresses"][number - 1])
            observe(session, plan, stopping)
        except Gone:
            time.sleep(0.2)
        except Silent:
            why = "silent"
        if session:
            session.close(why)
    history.note("done")


if __name__ == "__main__":
    main(load_plan(sys.argv[1]), int(sys.argv[2]))
