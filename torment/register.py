#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The registers that the locks protect: they check fences, as a careful storage service would.

usage: register.py SOCKET HISTORY fence|deadline

A line in, a line out, JSON. `{"read": NAME, "fence": F, "until": US|null, "by": WHO}` and `{"write": NAME, "fence": F, "base": TAG,
"tag": TAG, "until": US|null, "by": WHO}` are answered by `{"accepted": true|false, "tag": TAG}`. A register knows the
highest fence it has seen, reads included, and refuses lower ones. Clients that share a lock have fences in any order, so
`"shared": true` is refused only below the highest of clients that do not share. With `deadline` it trusts the clients'
clocks instead: it takes every fence, and refuses a client that is later than it said it would be.
"""

import asyncio
import json
import os
import signal
import sys

from history import History, now_us


class Registers:
    def __init__(self, history, check):
        self.history, self.check = history, check
        self.tags, self.highest, self.highest_alone = {}, {}, {}

    def accepts(self, name, order):
        if self.check == "deadline":
            return order.get("until") is None or now_us() <= order["until"]
        return order["fence"] >= (self.highest_alone if order.get("shared") else self.highest).get(name, 0)

    def take(self, order):
        what = "read" if "read" in order else "write"
        name = order[what]
        accepted = self.accepts(name, order)
        facts = {"name": name, "fence": order["fence"], "accepted": accepted, "by": order["by"]}
        if what == "write":
            facts |= {"base": order["base"], "tag": order["tag"], "until": order["until"]}
        else:
            facts |= {"seen": self.tags.get(name), "shared": bool(order.get("shared"))}
        if accepted:
            self.highest[name] = max(order["fence"], self.highest.get(name, 0))
            if not order.get("shared"):
                self.highest_alone[name] = max(order["fence"], self.highest_alone.get(name, 0))
            if what == "write":
                self.tags[name] = order["tag"]
        self.history.note(what, **facts)
        return {"accepted": accepted, "tag": self.tags.get(name)}


async def serve(path, registers):
    async def attend(reader, writer):
        while line := await reader.readline():
            writer.write(json.dumps(registers.take(json.loads(line))).encode() + b"\n")
            await writer.drain()
        writer.close()

    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await asyncio.start_unix_server(attend, path + ".new")
    os.rename(path + ".new", path)  # now it can be connected to
    await stop.wait()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], Registers(History(sys.argv[2], "register"), sys.argv[3])))
