# SPDX-License-Identifier: MIT
"""Directories that are lost, old or another node's, and two machines under one id. A node without its directory may
have voted for anything: it must not take part before an operator has replaced it."""

import shutil

from fault_client import end, spawn


def lose_directory(world):
    """A node loses its disk while another one is down and misses entries. Then these two are started without the rest:
    a majority that does not know all agreed entries."""
    stale, empty = world.any(2)
    rest = [node for node in world.nodes() if node not in (stale, empty)]
    world.say("lose directory", stale=stale, empty=empty)
    world.cluster.kill(stale)
    yield world.seconds(0.5, 2)
    yield from shake(world, empty)
    world.cluster.kill(empty)
    shutil.rmtree(world.cluster.state_directory(empty), ignore_errors=True)
    world.cluster.forgotten.add(empty)
    for node in rest:
        world.cluster.kill(node)
    world.cluster.start(empty)
    world.cluster.start(stale)
    yield world.seconds(1, 4)


def restore_directory(world):
    """A node's directory is copied, and put back when it is old; some of the others are down when it starts."""
    node = world.any()[0]
    state = world.cluster.state_directory(node)
    copy = state.with_name("copy")
    world.say("restore directory", node=node)
    world.cluster.end(node)
    shutil.copytree(state, copy)
    world.cluster.start(node)
    yield world.seconds(1, 2)
    yield from shake(world, world.random.choice([each for each in world.nodes() if each != node]))
    world.cluster.kill(node)
    shutil.rmtree(state, ignore_errors=True)
    copy.rename(state)
    world.cluster.forgotten.add(node)
    down = world.random.sample([each for each in world.nodes() if each != node],
                               world.random.randint(0, len(world.nodes()) - world.majority()))
    for each in down:
        world.cluster.kill(each)
    world.cluster.start(node)
    yield world.seconds(1, 4)


def swap_directories(world):
    """Two nodes start with each other's directory, and refuse."""
    pair = world.any(2)
    world.say("swap directories", nodes=pair)
    swap(world, pair)
    world.cluster.misled.update(pair)
    for node in pair:
        world.cluster.start(node)
    yield world.seconds(0.5, 2)
    swap(world, pair)
    for node in pair:
        world.cluster.start(node)
    world.cluster.misled.difference_update(pair)


def swap(world, pair):
    one, other = (world.cluster.state_directory(node) for node in pair)
    for node in pair:
        world.cluster.kill(node)
        world.cluster.reap(node)
    parked = one.parent.parent / "parked"
    shutil.move(one, parked)
    shutil.move(other, one)
    shutil.move(parked, other)


def twice_the_same(world):
    """Another machine starts under the id of a node that lives, with a directory of its own, or with a copy."""
    node = world.any()[0]
    prefix = world.network.add_guest("twin")
    directory = world.cluster.directory(node).parent / "twin"
    directory.mkdir()
    world.say("twin", node=node)
    twin = None
    try:
        if world.random.random() < 0.5:
            shutil.copytree(world.cluster.state_directory(node), directory / "state")
        text = world.cluster.config(node).read_text(encoding="utf-8")
        text = text.replace(str(world.cluster.state_directory(node)), str(directory / "state"))
        text = text.replace(world.cluster.socket(node), str(directory / "twin.sock"))
        text = text.replace("[node]", f"[node]\npeers = {world.network.guest_host('twin')}:7800", 1)
        host = world.network.client_address(node)[0]
        text = text.replace(f"listen = {host}:", f"listen = {world.network.guest_host('twin')}:")
        (directory / "conf").write_text(text, encoding="utf-8")
        with open(directory / "log", "wb") as log:
            twin = spawn([*prefix, world.cluster.settings["program"], "node", "--config", directory / "conf"],
                         stdout=log, stderr=log)
        yield world.seconds(1, 4)
    finally:
        if twin:
            end(twin)
        world.network.remove("twin")
        shutil.rmtree(directory)


def shake(world, node):
    """Makes a few views while a node is away."""
    for _ in range(world.random.randint(1, 3)):
        world.cluster.kill(node)
        yield world.seconds(0.5, 1)
        world.cluster.start(node)
        yield world.seconds(1, 2)
