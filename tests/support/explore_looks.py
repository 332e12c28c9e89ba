# SPDX-License-Identifier: MIT
"""The explorer's calls that say or do many things at once (look, take), against those that say or do one. `fail` gets a
line about each difference."""
import random


def one_look(explorer, fail):
    """A look says what the single calls say; of a large group at most so much, and how much is left out."""
    for line in ("bully -n 6 --start all", "ricart-agrawala -n 5 --entries 2", "gamma -n 6"):
        explorer.begin(line)
        explorer("run", count=7)
        look = explorer("look", **{"from": 3, "node": 1})
        for name, alone in (("now", explorer("now")), ("events", explorer("events")), ("own", explorer("events", node=1)),
                            ("history", explorer("history", **{"from": 3})), ("untold", {})):
            if look[name] != alone:
                fail(f"{line}: look says of {name} {look[name]}, the call alone {alone}")
        if explorer("look")["history"] or "own" in explorer("look"):
            fail(f"{line}: a look tells steps or a node's events that nobody asked for")
    explorer.begin("ricart-agrawala -n 40")
    explorer("run", count=40)
    now, events, look = explorer("now"), explorer("events"), explorer("look")
    serial = now["messages"][-1]["serial"]
    if look["now"]["messages"] != now["messages"][:400] or look["now"]["messages_untold"] != len(now["messages"]) - 400:
        fail(f"40 nodes: a look tells {len(look['now']['messages'])} of {len(now['messages'])} messages")
    if len(look["events"]) + sum(look["untold"].values()) != len(events) or sum(it["likely"] for it in look["events"]) != 100:
        fail(f"40 nodes: a look tells {len(look['events'])} of {len(events)} events, untold {look['untold']}")
    if not any(it.get("next") for it in look["events"]):
        fail("40 nodes: a look does not tell what is next")
    own = explorer("look", message=serial)["own"]
    if {it["type"] for it in own} != {"deliver", "drop", "duplicate"} or any(it["message"] != serial for it in own):
        fail(f"40 nodes: what can happen to message {serial}: {own}")
    for message in now["messages"]:
        event = next((it for it in events if it["type"] == "deliver" and it["message"] == message["serial"]), None)
        if message["deliverable"] != bool(event) or message.get("event") != (event and event["index"]):
            fail(f"40 nodes: {message} is delivered by {event}")
            break


def many_at_once(explorer, fail):
    """Steps taken at once are those taken one by one; what cannot be taken ends them."""
    explorer.begin("maekawa -n 5 --entries 2")
    taken = []
    chance = random.Random(4)
    for _ in range(60):
        taken.append(chance.choice(explorer("events")[:6])["index"])
        explorer("do", index=taken[-1])
    before = [explorer.text(name) for name in ("now", "events", "history")]
    explorer("go", step=0)
    told = explorer("take", indices=taken)
    if told != {"ok": True, "step": 60} or [explorer.text(name) for name in ("now", "events", "history")] != before:
        fail(f"60 steps at once lead elsewhere: {told}")
    explorer("go", step=10)
    told = explorer("take", indices=taken[10:20] + [10 ** 9] + taken[20:])
    if told["step"] != 20 or "trouble" not in told:
        fail(f"an index that there is not: {told}")
    if explorer("take", indices=[])["step"] != 20 or explorer("take")["step"] != 20:
        fail("no steps are some")
