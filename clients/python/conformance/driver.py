#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does what the conformance suite says, a line of JSON each, by this client: driver.py sync|aio."""

import asyncio
import json
import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import conclave  # noqa: E402  pylint: disable=wrong-import-position

HOLDS, WATCHES = {}, {}


def tell(**what):
    sys.stdout.write(json.dumps({**what, "at": time.monotonic() * 1000}) + "\n")
    sys.stdout.flush()


def settings(step):
    """The arguments of Client()."""
    return {**step["options"], "timeout": step["options"]["timeout"] / 1000}


def options(step):
    """The arguments of lock() and campaign() that a step has."""
    given = {key: step[key] for key in ("shared", "permits", "priority", "value") if key in step}
    for key in ("wait", "ttl"):
        if key in step:
            given[key] = step[key] / 1000
    given["on_position"] = lambda position: tell(event="position", hold=step["hold"], position=position)
    given["on_lost"] = lambda _: tell(event="lost", hold=step["hold"])
    given["on_askback"] = lambda _, asker: tell(event="askback", hold=step["hold"], asker=asker)
    return given


def describe(leader):
    return {"leader": leader and leader.id, "fence": leader.fence if leader else 0, "value": leader and leader.value}


def answered(step, result):
    tell(id=step["id"], ok=result or {})


def failed(step, error):
    tell(id=step["id"], error=error.kind if isinstance(error, conclave.ConclaveError) else "cancelled", why=str(error))


# ---- sync: a thread for each step ----


def run_sync(client, step):
    verb = step["do"]
    if verb in ("lock", "campaign", "lock_all"):
        hold = getattr(client, verb)(step.get("names") or step["name"], **options(step))
        HOLDS[step["hold"]] = hold
        return {"fence": hold.fence, "fences": hold.fences}
    if verb == "sequence":
        return {"fence": client.sequence(step["name"], step["count"])}
    if verb == "held":
        return {"held": HOLDS[step["hold"]].held}
    if verb == "release":
        return HOLDS[step["hold"]].release()
    if verb == "leader":
        return describe(client.leader(step["name"]))
    if verb in ("observe", "watch"):
        def watch():
            for leader in getattr(client, verb)(step["name"]):
                tell(event="leader", watch=step["watch"], **describe(leader))
        threading.Thread(target=watch, daemon=True).start()
        return None
    if verb == "askback":
        return {"count": client.execute("ASKBACK", step["name"])}
    if verb == "close":
        return client.close()
    raise ValueError(verb)


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
    if verb in ("lock", "campaign", "lock_all"):
        hold = await getattr(client, verb)(step.get("names") or step["name"], **options(step))
        HOLDS[step["hold"]] = hold
        return {"fence": hold.fence, "fences": hold.fences}
    if verb == "sequence":
        return {"fence": await client.sequence(step["name"], step["count"])}
    if verb == "held":
        return {"held": HOLDS[step["hold"]].held}
    if verb == "release":
        return await HOLDS[step["hold"]].release()
    if verb == "cancel":
        tasks[step["hold"]].cancel()
        return None
    if verb == "leader":
        return describe(await client.leader(step["name"]))
    if verb in ("observe", "watch"):
        async def watch():
            async for leader in getattr(client, verb)(step["name"]):
                tell(event="leader", watch=step["watch"], **describe(leader))
        WATCHES[step["watch"]] = asyncio.ensure_future(watch())
        return None
    if verb == "askback":
        return {"count": await client.execute("ASKBACK", step["name"])}
    if verb == "close":
        return await client.close()
    raise ValueError(verb)


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
            if step["do"] in ("lock", "campaign", "lock_all"):
                tasks[step["hold"]] = task


if __name__ == "__main__":
    if sys.argv[1] == "sync":
        sync_main()
    else:
        asyncio.run(aio_main())
