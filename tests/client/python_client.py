#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the client for Python does that no neutral script can say: threads, signals, fork, cancelled tasks."""

import asyncio
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "live"), str(HERE.parent / "support"), str(HERE.parent.parent / "clients" / "python")]
import conclave  # pylint: disable=wrong-import-position
from harness import PATIENCE, Node, main  # pylint: disable=wrong-import-position

NODE = Node()


class Stopped:
    """The server hangs."""

    def __enter__(self):
        NODE.process.send_signal(signal.SIGSTOP)

    def __exit__(self, *_):
        NODE.process.send_signal(signal.SIGCONT)


def expect_free(name):
    """Nobody holds it, nor will it go to somebody who has gone."""
    with conclave.Client(NODE.address()) as client, client.lock(name, wait=3):
        pass


def threads_share_a_client():
    inside, most, count = 0, 0, 0
    with conclave.Client(NODE.address()) as client:
        def work():
            nonlocal inside, most, count
            for _ in range(20):
                with client.lock("threads") as lock:
                    inside += 1
                    most = max(most, inside)
                    count += lock.held
                    inside -= 1
        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (most, count) == (1, 120), (most, count)


def a_loss_is_told():
    told = []
    with conclave.Client(NODE.address(), timeout=0.2) as client:
        lock = client.lock("loss", ttl=1, on_lost=told.append)
        other = client.lock("loss too", ttl=1, on_lost=lambda _: 1 / 0)  # its own failure is nobody else's
        client._loop.set_exception_handler(lambda *_: None)
        with Stopped():
            end = time.monotonic() + PATIENCE
            while (lock.held or other.held or not told) and time.monotonic() < end:
                time.sleep(0.01)
            assert told == [lock] and not lock.held and not other.held
            try:
                with lock:
                    pass
                raise AssertionError("nothing is raised")
            except conclave.LockLost:
                pass


def the_body_is_cancelled():
    async def work():
        async with conclave.aio.Client(NODE.address(), timeout=0.2) as client:
            reached = []
            try:
                async with client.lock("outer", ttl=60), client.lock("body", ttl=1):
                    reached.append("inside")
                    with Stopped():
                        await asyncio.sleep(PATIENCE)
                    reached.append("after")
            except conclave.LockLost as loss:
                reached.append(str(loss).split(",", maxsplit=1)[0])
            assert reached == ["inside", "body"], reached
            await asyncio.sleep(0.01)  # nothing of the cancellation is left
            task = asyncio.ensure_future(client.lock("outer", wait=30).__aenter__())
            await (await task).release()

    asyncio.run(work())


def an_interrupted_wait_leaves_nothing():
    program = f"""
import conclave, sys
client = conclave.Client({NODE.address()!r})
print("waiting", flush=True)
try:
    client.lock("interrupted")
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.stdin.read()
"""
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent.parent / "clients" / "python")}
    with conclave.Client(NODE.address()) as client:
        with client.lock("interrupted"):
            process = subprocess.Popen([sys.executable, "-c", program], env=environment, text=True, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE)
            assert process.stdout.readline() == "waiting\n"
            while not client.execute("WAITERS", "interrupted"):
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "interrupted\n"
        expect_free("interrupted")
        process.communicate("")


def a_child_holds_nothing():
    with conclave.Client(NODE.address()) as client:
        lock = client.lock("fork")
        child = os.fork()
        if not child:
            code = 0 if not lock.held else 1
            try:
                client.leader("fork")
                code |= 2
            except conclave.Invalid:
                pass
            client.close()
            os._exit(code)
        _, status = os.waitpid(child, 0)
        assert status == 0, status
        lock.check()
        lock.release()


def a_program_that_ends_gives_back():
    program = f"import conclave; conclave.Client({NODE.address()!r}).lock('end')"
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent.parent / "clients" / "python")}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True,
                          timeout=PATIENCE)
    assert not done.stderr, done.stderr
    expect_free("end")


def recipes_end_with_their_body():
    """By `with`, sync and asyncio; one that meets nobody else."""
    with conclave.Client(NODE.address()) as client:
        with client.join("group", "here") as member:
            assert [(it.number, it.value) for it in client.members("group")] == [(member.number, "here")] and member.held
        assert not client.members("group") and not member.held
        with client.double_barrier("double", 1) as inside:
            assert inside.held and inside.number == inside._hold.number
        assert not inside.held
        try:
            with client.double_barrier("double", 1) as again:
                raise KeyError("the body's own")
        except KeyError:
            assert not again.held
        assert client.barrier("double", 1) > inside.number

    async def work():
        async with conclave.aio.Client(NODE.address(), timeout=0.2) as client:
            async with client.join("group", "there"):
                assert [it.value for it in await client.members("group")] == ["there"]
            assert not await client.members("group")
            reached = []
            try:
                async with client.double_barrier("double", 1):
                    reached.append("inside")
                    with Stopped():
                        await asyncio.sleep(PATIENCE)
                    reached.append("after")
            except conclave.LockLost:
                reached.append("lost")
            assert reached == ["inside", "lost"], reached

    asyncio.run(work())


def wrong_arguments():
    for make in (lambda: conclave.Client("host:99999"), lambda: conclave.Client([]), lambda: conclave.Client("tls:///path"),
                 lambda: conclave.Client(key="/nonexistent"), lambda: conclave.Client(tls_ca="ca.pem")):
        try:
            make()
            raise AssertionError("accepted")
        except conclave.Invalid as error:
            assert "\n" not in str(error) and str(error), error
    with conclave.Client("127.0.0.1:1") as client:
        try:
            client.lock("x")
            raise AssertionError("accepted")
        except conclave.NoServer as error:
            assert "127.0.0.1:1" in str(error), error
        nan, inf = float("nan"), float("inf")
        for ask in (lambda: client.lock("x", shared=True, permits=3), lambda: client.lock("x", permits=1.5), lambda: client.lock("x", ttl=nan),
                    lambda: client.lock("x", ttl=inf), lambda: client.lock("x", ttl="10"), lambda: client.lock("x", wait=nan),
                    lambda: client.lock("x", on_lost=5), lambda: client.lock("x", on_position=5), lambda: client.lock("\ud800"),
                    lambda: client.lock("x", ttl=1e-9), lambda: client.lock("x", ttl=0.0009), lambda: client.lock("x", permits=0),
                    lambda: client.lock("x", wait=1e30), lambda: client.lock("x", ttl=1e30), lambda: client.sequence("x", 0), lambda: client.sequence("x", wait=-1),
                    lambda: client.barrier("x", 0), lambda: client.latch("x").down(0), lambda: client.campaign("x", priority=-1),
                    lambda: client.lock_all("orders"), lambda: client.campaign("x", value="y" * 1025), lambda: client.campaign("x", priority=0.5),
                    lambda: client.join("x", "y" * 1025), lambda: client.sequence("x", 1.5), lambda: client.barrier("x", "3"),
                    lambda: client.latch("x").set(1.5), lambda: client.latch("x").wait(nan), lambda: client.once("x", 0),
                    lambda: client.once("x", 60, on_lost=5), client.execute, lambda: conclave.Client(timeout=0), lambda: conclave.Client(timeout="2")):
            try:
                ask()
                raise AssertionError("accepted")
            except conclave.Invalid as error:
                assert "\n" not in str(error) and str(error), error


def a_silent_server_is_told():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with conclave.Client(address, timeout=0.1) as client:
            for ask in (lambda: client.lock("x"), lambda: client.leader("x"), lambda: client.latch("x").down()):
                try:
                    ask()
                    raise AssertionError("answered")
                except conclave.NoServer as error:
                    assert str(error) == f"{address}: no answer", error
    with conclave.Client(NODE.address(), timeout=0.2) as client:
        client.leader("x")
        with Stopped():
            try:
                client.latch("x").down()
                raise AssertionError("answered")
            except conclave.NoServer as error:
                assert str(error).endswith(": no answer"), error


def closed_by_all_threads():
    """At the same time, also while others ask: each returns, or is told that the client is closed."""
    for i in range(30):
        client = conclave.Client(NODE.address())
        held, told = client.lock(f"all {i}"), []

        def ask():
            try:
                while True:
                    client.leader("x")
            except conclave.Invalid as error:
                told.append(error)
        threads = [threading.Thread(target=target, daemon=True) for target in (ask, client.close, client.close, client.close)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert not any(thread.is_alive() for thread in threads) and len(told) == 1, (i, told)
        held.release()  # close() has done it
    with conclave.Client(NODE.address()) as client, client.lock("inside"):
        client.close()
    expect_free("inside")


def a_callback_is_told_that_it_cannot_wait():
    told = []

    def lost(hold):
        for ask in (lambda: hold._client.leader("x"), hold._client.close):
            try:
                ask()
            except conclave.Invalid as error:
                told.append(str(error))
    with conclave.Client(NODE.address(), timeout=0.2) as client:
        lock = client.lock("callback", ttl=1, on_lost=lost)
        with Stopped():
            deadline = time.monotonic() + PATIENCE
            while len(told) < 2 and time.monotonic() < deadline:
                time.sleep(0.02)
        assert len(told) == 2 and all("another thread" in text for text in told) and not lock.held, told
        assert client.leader("x") is None, "the client goes on"


if __name__ == "__main__":
    with NODE:
        RESULT = main([threads_share_a_client, a_loss_is_told, the_body_is_cancelled, an_interrupted_wait_leaves_nothing,
                       a_child_holds_nothing, recipes_end_with_their_body, a_program_that_ends_gives_back, wrong_arguments, a_silent_server_is_told, closed_by_all_threads,
                       a_callback_is_told_that_it_cannot_wait])
    sys.exit(RESULT)
