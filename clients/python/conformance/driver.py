#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does what the conformance suite says, a line of JSON each, by this client: driver.py sync|aio."""

import asyncio
import inspect
import json
import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import conclave  # noqa: E402  pylint: disable=wrong-import-position

HOLDS, WATCHES = {}, {}
ACQUIRING = ("lock", "campaign", "lock_all", "twice", "once", "enter", "join")


def tell(**what):
    sys.stdout.write(json.dumps({**what, "at": time.monotonic() * 1000}) + "\n")
    sys.stdout.flush()


def settings(step):
    """The arguments of Client()."""
    return {**step["options"], "timeout": step["options"]["timeout"] / 1000}


def seconds(step, *keys):
    return {key: step[key] / 1000 for key in keys if key in step}


def options(step):
    """The arguments of lock() and campaign() that a step has."""
    given = {key: step[key] for key in ("shared", "permits", "priority", "value", "reentrant") if key in step}
    given.update(seconds(step, "wait", "ttl"))
    given["on_position"] = lambda position: tell(event="position", hold=step["hold"], position=position)
    given["on_lost"] = lost(step)
    given["on_askback"] = lambda _, asker: tell(event="askback", hold=step["hold"], asker=asker)
    return given


def lost(step):
    return lambda _: tell(event="lost", hold=step["hold"])


def describe(told):
    """A leader or the holder of a lock, or the members of a group."""
    if isinstance(told, list):
        return {"values": ",".join(member.value or "" for member in told), "count": len(told)}
    return {"leader": told and told.id, "fence": told.fence if told else 0, "value": told and told.value}


def begin(client, step):
    """What is acquired by a step."""
    verb, name = step["do"], step.get("name")
    if verb == "once":
        return client.once(name, step["every"] / 1000, on_lost=lost(step))
    if verb == "enter":
        return client.double_barrier(name, step["parties"], on_lost=lost(step), **seconds(step, "wait"))
    if verb == "join":
        return client.join(name, step.get("value"), lambda number: tell(event="number", hold=step["hold"], number=number))
    return getattr(client, verb)(step.get("names") or name, **options(step))


def acquired(step, held):
    HOLDS[step["hold"]] = held
    return {key: getattr(held, key) for key in ("fence", "fences", "number") if getattr(held, key, None) is not None}


def ask(client, step):
    """The call that answers a step, and the key of its answer."""
    verb, name, held = step["do"], step.get("name"), HOLDS.get(step.get("hold"))
    latch = client.latch(name) if verb.startswith("latch_") else None
    wait = seconds(step, "wait")
    return {
        "sequence": lambda: ("fence", client.sequence(name, step["count"], **({"wait": step["within"] / 1000} if "within" in step else {}))),
        "release": lambda: (None, held.release()),
        "leader": lambda: (describe, client.leader(name)),
        "askback": lambda: ("count", client.ask_back(name)),
        "waiters": lambda: (lambda waiters: {"count": len(waiters)}, client.waiters(name)),
        "barrier": lambda: ("number", client.barrier(name, step["parties"], **wait)),
        "leave": lambda: (None, held.leave(**wait)),
        "latch_set": lambda: ("number", latch.set(step["count"])),
        "latch_down": lambda: ("number", latch.down(step["count"])),
        "latch_wait": lambda: (None, latch.wait(**wait)),
        "latch_left": lambda: (lambda left: {"number": -1 if left is None else left}, latch.left()),
        "latch_clear": lambda: (None, latch.clear()),
        "members": lambda: (describe, client.members(name)),
        "finish": lambda: (None, held.done()),
        "give_up": lambda: (None, held.give_up()),
        "last_run": lambda: (lambda run: {"fence": run.fence or 0}, client.last_run(name)),
        "upgrade": lambda: (lambda _: {"fence": held.fence}, held.upgrade(**wait)),
        "downgrade": lambda: (lambda _: {"fence": held.fence}, held.downgrade()),
        "close": lambda: (None, client.close()),
    }[verb]()


def shown(key, value):
    return key(value) if callable(key) else {key: int(value)} if key else None


def answered(step, result):
    tell(id=step["id"], ok=result or {})


def failed(step, error):
    tell(id=step["id"], error=error.kind if isinstance(error, conclave.ConclaveError) else "cancelled", why=str(error))


# ---- sync: a thread for each step ----


def run_sync(client, step):
    verb = step["do"]
    if verb == "twice":
        again = dict(options(step), reentrant=True)
        client.lock(step["name"], **again)
        return acquired(step, client.lock(step["name"], **{**again, "wait": 0}))
    if verb in ACQUIRING:
        return acquired(step, begin(client, step))
    if verb == "held":
        return {"held": HOLDS[step["hold"]].held}
    if verb in ("observe", "watch", "watch_members"):
        def watch():
            for told in getattr(client, verb)(step["name"]):
                tell(event="news", watch=step["watch"], **describe(told))
        threading.Thread(target=watch, daemon=True).start()
        return None
    return shown(*ask(client, step))


def sync_main():
    client = None

    def run(step):
        try:
            answered(step, run_sync(client, step))
        except conclave.ConclaveError as error:
            failed(step, error)

    for line in sys.stdin:
        step = json.loads(line)
        if step["do"] == "open":
            if client:
                client.close()
            client = conclave.Client(**settings(step))
            answered(step, {"cannot": ["cancel"]})
        else:
            threading.Thread(target=run, args=(step,), daemon=True).start()


# ---- asyncio: a task for each step ----


async def run_aio(client, step, tasks):
    verb = step["do"]
    if verb == "twice":
        again = dict(options(step), reentrant=True)
        await client.lock(step["name"], **again)
        return acquired(step, await client.lock(step["name"], **{**again, "wait": 0}))
    if verb in ACQUIRING:
        return acquired(step, await begin(client, step))
    if verb == "held":
        return {"held": HOLDS[step["hold"]].held}
    if verb == "cancel":
        tasks[step["hold"]].cancel()
        return None
    if verb in ("observe", "watch", "watch_members"):
        async def watch():
            async for told in getattr(client, verb)(step["name"]):
                tell(event="news", watch=step["watch"], **describe(told))
        WATCHES[step["watch"]] = asyncio.ensure_future(watch())
        return None
    key, answer = ask(client, step)
    return shown(key, await answer if inspect.isawaitable(answer) else answer)


async def aio_main():
    client, tasks = None, {}
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)

    async def run(step):
        try:
            answered(step, await run_aio(client, step, tasks))
        except (conclave.ConclaveError, asyncio.CancelledError) as error:
            failed(step, error)

    while line := await reader.readline():
        step = json.loads(line)
        if step["do"] == "open":
            if client:
                await client.close()
            client = conclave.aio.Client(**settings(step))
            answered(step, {"cannot": []})
        else:
            task = asyncio.ensure_future(run(step))
            if "hold" in step and step["do"] != "cancel":
                tasks[step["hold"]] = task


if __name__ == "__main__":
    if sys.argv[1] == "sync":
        sync_main()
    else:
        asyncio.run(aio_main())
