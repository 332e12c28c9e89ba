# SPDX-License-Identifier: MIT
"""The same without asyncio: a thread of its own renews and listens, and the caller's threads wait for it."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import os
import threading
from typing import Any, Callable, Generic, Iterable, Optional, TypeVar, Union

from . import aio
from .arguments import callbacks
from .errors import Invalid, LockLost, NoServer
from .observation import Leader, Member
from .recipes import LastRun

T = TypeVar("T")
W = TypeVar("W", bound="Held")


class Client:
    """Asks the servers of a list, which default to $CONCLAVE_SERVER. Threads may share it. `timeout`: seconds that a
    server may take to answer. The files are those of conclave.aio.Client."""

    def __init__(self, servers: Union[None, str, Iterable[str]] = None, **options: Any):
        self._client = aio.Client(servers, **options)
        self._process = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="conclave", daemon=True)
        self._thread.start()
        self._open = True
        self._lock = threading.Lock()  # what is asked before close() is known to the loop before close() ends it
        self._closing = threading.Lock()
        atexit.register(self.close)  # what a program forgets to give back would be held until its time is over

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        """Gives back all that it holds."""
        if self._process == os.getpid():
            self._expect_other_thread()
            with self._closing:  # another thread may be at it
                if self._thread.is_alive():
                    with self._lock:
                        self._open = False
                    asyncio.run_coroutine_threadsafe(self._finish(), self._loop).result()
                    self._loop.call_soon_threadsafe(self._loop.stop)
                    self._thread.join()
                    self._loop.close()
        atexit.unregister(self.close)

    async def _finish(self):
        await self._client.close()
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    def _expect_other_thread(self):
        if threading.current_thread() is self._thread:
            raise Invalid("a callback cannot wait for the client's thread, which calls it: expected another thread")

    def _begin(self, coroutine):
        """A future of what it returns."""
        if self._process != os.getpid():
            raise Invalid("the client belongs to the parent process")
        self._expect_other_thread()
        with self._lock:
            if not self._open:
                raise Invalid("the client is closed")
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def _soon(self, callback):
        """Calls it in the thread, unless the client is closed."""
        with self._lock:
            if self._open:
                self._loop.call_soon_threadsafe(callback)

    def _run(self, coroutine, undo=None):
        """Runs it in the thread. If the caller is interrupted it ends, and `undo` gives back what it had got by then."""
        try:
            future = self._begin(coroutine)
        except Invalid:
            coroutine.close()
            raise
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise Invalid("the client was closed") from None
        except NoServer:
            if self._open:
                raise
            raise Invalid("the client was closed") from None  # which has ended its connections
        except BaseException:
            future.cancel()
            if undo:
                self._soon(undo)
            raise

    # ---- locks and leadership ----

    def lock(self, name: str, **options: Any) -> Hold:
        """Waits for it; give it back by `with`, or by release(). The options are those of conclave.aio.Client.lock(): `wait`,
        `ttl`, `shared`, `permits`, `reentrant` (for this thread), `on_lost`, `on_askback`, `on_position`. The client's thread
        calls the callbacks, which cannot wait for this client then."""
        return self._held(Hold(self), self._client.lock, name, owner=threading.current_thread(), **options)

    def campaign(self, name: str, **options: Any) -> Hold:
        """The same for leadership: `priority`, `value`, and the others but for `shared`, `permits` and `reentrant`."""
        return self._held(Hold(self), self._client.campaign, name, **options)

    def lock_all(self, names: Iterable[str], **options: Any) -> Hold:
        """All of these names or none, without deadlock; see conclave.aio.Client.lock_all()."""
        return self._held(Hold(self), self._client.lock_all, names, **options)

    def _held(self, held: W, ask, *arguments, **options) -> W:
        callbacks(**{key: options.get(key) for key in ("on_lost", "on_askback")})
        for key in ("on_lost", "on_askback"):
            if options.get(key):
                options[key] = lambda _, *rest, callback=options[key]: callback(held, *rest)

        async def acquire():
            held._hold = await ask(*arguments, **options)

        self._run(acquire(), lambda: held._hold and self._client._spawn(held._hold._exit(False)))
        return held

    def leader(self, name: str) -> Optional[Leader]:
        """The Leader, or None."""
        return self._run(self._client.leader(name))

    def observe(self, name: str) -> Observation[Optional[Leader]]:
        """Leaders as they change, beginning with the present one: iterate over it."""
        return Observation(self, name, self._client.observe)

    def watch(self, name: str) -> Observation[Optional[Leader]]:
        """The same for a lock: who got it last, and None when it was given back. A short hold may be missed."""
        return Observation(self, name, self._client.watch)

    def waiters(self, name: str) -> list[dict]:
        """Who waits for it, the next one first: `position`, `client`, `waited_ms` and so on, as WAITERS tells it."""
        return self._run(self._client.waiters(name))

    def ask_back(self, name: str) -> int:
        """Asks the holders to give it back: how many were asked. They hear of it by `on_askback`."""
        return self._run(self._client.ask_back(name))

    # ---- recipes ----

    def sequence(self, name: str, count: int = 1, wait: Optional[float] = None) -> int:
        """The first of `count` numbers that nobody else gets, above all that were given for that name before. WaitTimeout:
        somebody holds the name as a lock. `wait`: seconds, but a server has its time to answer in any case."""
        return self._run(self._client.sequence(name, count, wait))

    def barrier(self, name: str, parties: int, wait: Optional[float] = None) -> int:
        """Waits until so many have come; the meeting's number, the same for all and above the last one. WaitTimeout: they
        have not, and this one does not count any more. LockLost: the connection broke, and the others may have met."""
        return self._run(self._client.barrier(name, parties, wait))

    def double_barrier(self, name: str, parties: int, wait: Optional[float] = None, on_lost: Optional[Callable] = None) -> Inside:
        """By `with`: begins when so many have come, and ends when all of them have left or gone."""
        return self._held(Inside(self), self._client.double_barrier, name, parties, wait, on_lost=on_lost)

    def latch(self, name: str) -> Latch:
        """A latch by its name, whether it was set or not."""
        return Latch(self, self._client.latch(name))

    def join(self, name: str, value: Optional[str] = None, on_change: Optional[Callable[[Optional[int]], Any]] = None) -> Membership:
        """By `with`, or until leave(). `value`: what others see with it. If its connection ends it joins anew: `on_change` is
        called with None, and then with the new number."""
        return self._held(Membership(self), self._client.join, name, value, on_change)

    def members(self, name: str) -> list[Member]:
        """The members of a group, in the order in which they joined."""
        return self._run(self._client.members(name))

    def watch_members(self, name: str) -> Observation[list[Member]]:
        """Lists of members as they change, beginning with the present one: iterate over it."""
        return Observation(self, name, self._client.watch_members)

    def once(self, name: str, every: float, on_lost: Optional[Callable] = None) -> Run:
        """By `with`: a Run, which is true if this client is to do it now: nobody has begun it in this period of so many
        seconds, counted from 1970. It is done when the body ends without an exception."""
        return self._held(Run(self), self._client.once, name, every, on_lost=on_lost)

    def last_run(self, name: str) -> LastRun:
        """When it was done last, and who does it now."""
        return self._run(self._client.last_run(name))

    def execute(self, *words: Any) -> Any:
        """The answer to any command that does not wait. If a server does not answer, another one is asked the same."""
        return self._run(self._client.execute(*words))


class Held:
    """Something that is ended by `with`. It belongs to the process that got it, not to its children."""

    _hold: Any = None

    def __init__(self, client: Client):
        self._client = client

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            self._client._run(self._hold._exit(kind is None))
        except LockLost:
            if kind is None:
                raise

    @property
    def name(self) -> str:
        return self._hold.name

    @property
    def held(self) -> bool:
        return self._client._process == os.getpid() and self._hold.held

    def check(self) -> None:
        """Raises LockLost if it is not held."""
        if not self.held:
            raise self._hold.loss()


class Hold(Held):
    """A lock or a leadership that is held."""

    @property
    def fence(self) -> int:
        return self._hold.fence

    @property
    def fences(self) -> list[int]:
        return self._hold.fences

    @property
    def left(self) -> float:
        """Seconds for which it is surely held, by this process's own clock; 0 if it is not."""
        if self._client._process != os.getpid():
            return 0.0
        left = self._hold.peek()
        if left <= 0:
            self._client._soon(lambda: self._hold.left)  # it tells whom it may concern
        return left

    @property
    def held(self) -> bool:
        """The clock decides, so a process that was stopped learns it here, first."""
        return self.left > 0

    def upgrade(self, wait: Optional[float] = None) -> int:
        """Waits until all others that share it have left: from then on it is held alone, by a new fence. WaitTimeout: it is
        shared as before. Refused: another one waits for that already, or it was renewed by another server meanwhile."""
        return self._client._run(self._hold.upgrade(wait))

    def downgrade(self) -> int:
        """Shares it from now on, by a new fence, without a moment in which nobody holds it."""
        return self._client._run(self._hold.downgrade())

    def release(self) -> None:
        """Gives it back. LockLost if it was lost before. If no server answers, it ends by itself when its time is over."""
        if not self._is_given_back():
            self._client._run(self._hold.release())

    def __exit__(self, *why):
        if not self._is_given_back():
            super().__exit__(*why)

    def _is_given_back(self):
        """When the client was closed."""
        return not self._client._open and self._hold._ended == "released"


class Inside(Held):
    """At a double barrier, after everybody has come and before everybody has gone."""

    @property
    def number(self) -> int:
        return self._hold.number

    def leave(self, wait: Optional[float] = None) -> int:
        """Waits until all the others have left, too, or have gone. WaitTimeout: they have not, and it is still inside."""
        return self._client._run(self._hold.leave(wait))


class Run(Held):
    """Something that is to be done once in this period. It is true if this client is to do it now."""

    def __bool__(self):
        return bool(self._hold)

    @property
    def fence(self) -> Optional[int]:
        return self._hold.fence

    def done(self) -> None:
        """Nobody does it again in this period. LockLost if it was lost before: others may do it, too."""
        self._client._run(self._hold.done())

    def give_up(self) -> None:
        """Leaves it to whoever asks next."""
        self._client._run(self._hold._exit(False))


class Membership(Held):
    """A member of a group, until it leaves. If its connection ends it joins anew, with another number."""

    @property
    def number(self) -> Optional[int]:
        """None: it is no member at the moment."""
        return self._hold.number

    def leave(self) -> None:
        """Others do not see it any more when this returns. If no server answers, they do not when they notice."""
        self._client._run(self._hold.leave())


class Latch:
    """Opens, once and for all who wait, when it was counted down to 0. It outlasts clients and servers."""

    def __init__(self, client: Client, latch: aio.Latch):
        self.name = latch.name
        self._client, self._latch = client, latch

    def set(self, count: int) -> bool:
        """False: there is one already that is not open yet."""
        return self._client._run(self._latch.set(count))

    def down(self, count: int = 1) -> int:
        """What is left; 0: it is open. Refused if none was set. NoServer: it may have been counted or not."""
        return self._client._run(self._latch.down(count))

    def wait(self, wait: Optional[float] = None) -> None:
        """Until it is open; WaitTimeout after so many seconds. Refused if none was set, or if it was cleared."""
        self._client._run(self._latch.wait(wait))

    def left(self) -> Optional[int]:
        """What is left; None: there is no latch."""
        return self._client._run(self._latch.left())

    def clear(self) -> None:
        """Takes it away."""
        self._client._run(self._latch.clear())


class Observation(Generic[T]):
    """Changes, for a loop."""

    def __init__(self, client: Client, name: str, begin: Callable[[str], aio.Observation[T]]):
        self._client = client
        self._observation: Optional[aio.Observation[T]] = None
        self._name, self._begin = name, begin

    def __iter__(self) -> Observation[T]:
        return self

    def __next__(self) -> T:
        try:
            return self.next()
        except (Invalid, StopAsyncIteration):  # the client is closed
            raise StopIteration from None

    def next(self, timeout: Optional[float] = None) -> T:
        """The next one. TimeoutError if there is none within so many seconds."""
        try:
            return self._client._run(asyncio.wait_for(self._next(), timeout))
        except asyncio.TimeoutError:
            raise TimeoutError(f"{self._name}: no change") from None

    async def _next(self):
        if not self._observation:
            self._observation = self._begin(self._name)
        return await self._observation.__anext__()

    def __enter__(self) -> Observation[T]:
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        if self._observation:
            self._client._soon(self._observation.close)
