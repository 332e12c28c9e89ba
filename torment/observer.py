#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Observes the election at one node until SIGTERM, and records every leader.

usage: observer.py PLAN NUMBER    the same plan as client.py's; the number is the node's
"""

import signal
import sys
import time

from client import load_plan
from history import History, now_us
from resp import Gone
from session import SECOND, Session, Silent

LOOK_S = 2  # between PINGs: a silent connection may be a dead one


def observe(session, going):
    """One connection. An answer and a push have the same content in two forms."""
    first = session.ask("OBSERVE", "leader").answer
    number = now_us()  # tells this connection from the next
    if first:
        session.history.note("observed", node=session.node, connection=number, leader=first[0], fence=first[1])
    while going():
        if not session.attend(now_us() + LOOK_S * SECOND):
            session.ask("PING")
        for _, _, leader, fence in session.pushes:
            session.history.note("observed", node=session.node, connection=number, leader=leader, fence=fence)
        session.pushes.clear()


def main(plan, number):
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    history = History(f"{plan['histories']}/observer-{number}.jsonl", f"observer-{number}")
    while not stopping:
        session, why = None, "gone"
        try:
            session = Session(history, number, plan["addresses"][number - 1])
            observe(session, lambda: not stopping)
        except Gone:
            time.sleep(0.2)
        except Silent:
            why = "silent"
        if session:
            session.close(why)
    history.note("done")


if __name__ == "__main__":
    main(load_plan(sys.argv[1]), int(sys.argv[2]))
