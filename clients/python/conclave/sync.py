# SPDX-License-Identifier: MIT
"""The same without asyncio: a thread of its own renews and listens, and the caller's threads wait for it."""

import asyncio
import atexit
import concurrent.futures
import os
import threading

from . import aio
from .errors import Invalid, LockLost


class Client:
    """Asks the servers of a list, which default to $CONCLAVE_SERVER. Threads may share it. `timeout`: seconds that a
    server may take to answer. The files are those of conclave.aio.Client."""

    def __init__(self, servers=None, **options):
        self._client = aio.Client(servers, **options)
        self._process = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="conclave", daemon=True)
        self._thread.start()
        atexit.register(self.close)  # what a program forgets to give back would be held until its time is over

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Gives back all that it holds."""
        if self._thread and self._process == os.getpid():
            self._run(self._finish())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
        self._thread = None
        atexit.unregister(self.close)

    async def _finish(self):
        await self._client.close()
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    def _run(self, coroutine, undo=None):
        """Runs it in the thread. If the caller is interrupted it ends, and `undo` gives back what it had got by then."""
        if self._process != os.getpid() or not self._thread:
            coroutine.close()
            raise Invalid("the client is closed" if self._process == os.getpid() else "the client belongs to the parent process")
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise Invalid("the client was closed") from None
        except BaseException:
            future.cancel()
            if undo:
                self._loop.call_soon_threadsafe(undo)
            raise

    def lock(self, name, **options):
        """Waits for it; give it back by `with`, or by release(). The options are those of conclave.aio.Client.lock(): `wait`,
        `ttl`, `shared`, `permits`, `on_lost`, `on_askback`, `on_position`. The client's thread calls the callbacks."""
        return self._hold(self._client.lock, name, options)

    def campaign(self, name, **options):
        """The same for leadership: `priority`, `value`, and the others but for `shared`."""
        return self._hold(self._client.campaign, name, options)

    def lock_all(self, names, **options):
        """All of these names or none, without deadlock; see conclave.aio.Client.lock_all()."""
        return self._hold(self._client.lock_all, names, options)

    def sequence(self, name, count=1):
        """The first of `count` numbers that nobody else gets, above all that were given for that name before."""
        return self._run(self._client.sequence(name, count))

    def _hold(self, ask, name, options):
        hold = Hold(self)
        for key in ("on_lost", "on_askback"):
            if options.get(key):
                options[key] = lambda _, *rest, callback=options[key]: callback(hold, *rest)

        async def acquire():
            hold._hold = await ask(name, **options)

        self._run(acquire(), lambda: hold._hold and self._client._spawn(hold._hold.release()))
        return hold

    def leader(self, name):
        """The Leader, or None."""
        return self._run(self._client.leader(name))

    def observe(self, name):
        """Leaders as they change, beginning with the present one: iterate over it."""
        return Observation(self, name, self._client.observe)

    def watch(self, name):
        """The same for a lock: who got it last, and None when it was given back. A short hold may be missed."""
        return Observation(self, name, self._client.watch)

    def execute(self, *words):
        """The answer to any command that does not wait."""
        return self._run(self._client.execute(*words))


class Hold:
    """A lock or a leadership that is held. It belongs to the process that got it, not to its children."""

    _hold = None

    def __init__(self, client):
        self._client = client

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            self.release()
        except LockLost:
            if kind is None:
                raise

    @property
    def name(self):
        return self._hold.name

    @property
    def fence(self):
        return self._hold.fence

    @property
    def fences(self):
        return self._hold.fences

    @property
    def left(self):
        """Seconds for which it is surely held, by this process's own clock; 0 if it is not."""
        if self._client._process != os.getpid():
            return 0.0
        left = self._hold.peek()
        if left <= 0 and self._client._thread:
            self._client._loop.call_soon_threadsafe(lambda: self._hold.left)  # it tells whom it may concern
        return left

    @property
    def held(self):
        return self.left > 0

    def check(self):
        """Raises LockLost if it is not held. The clock decides, so a process that was stopped learns it here, first."""
        if not self.held:
            raise self._hold.loss()

    def release(self):
        """Gives it back. LockLost if it was lost before. If no server answers, it ends by itself when its time is over."""
        self._client._run(self._hold.release())


class Observation:
    """Leaders as they change, for a loop."""

    def __init__(self, client, name, begin):
        self._client = client
        self._observation = None
        self._name, self._begin = name, begin

    def __iter__(self):
        return self

    def __next__(self):
        try:
            return self.next()
        except (Invalid, StopAsyncIteration):  # the client is closed
            raise StopIteration from None

    def next(self, timeout=None):
        """The next one. TimeoutError if there is none within so many seconds."""
        try:
            return self._client._run(asyncio.wait_for(self._next(), timeout))
        except asyncio.TimeoutError:
            raise TimeoutError(f"{self._name}: no change of leader") from None

    async def _next(self):
        if not self._observation:
            self._observation = self._begin(self._name)
        return await self._observation.__anext__()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self._observation:
            self._client._loop.call_soon_threadsafe(self._observation.close)
