# SPDX-License-Identifier: MIT
"""What is asked for, and what is held: renewed in the background, its loss told at once."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, Callable, Coroutine, Generator, Generic, Optional, TypeVar

from .arguments import callbacks, lasting, milliseconds, waiting
from .connection import Broken, clock
from .errors import ConclaveError, Invalid, LockLost, NoQuorum, NoServer, WaitTimeout

PAUSE = 0.05  # seconds before another server is tried
NEVER = float("inf")
T = TypeVar("T")


class Want:
    """What is asked for, and how it is renewed and ended."""

    on_lost = on_askback = on_position = None
    owner: Optional[object] = None  # the task or thread that may take it again
    reentrant = False

    def __init__(self, words, ending, kind, name, wait, ttl):
        """`name`: one, or a list of several."""
        lasting(ttl)
        waiting(wait)
        self.several = isinstance(name, list)
        self.names = name if self.several else [name]
        self.name = ", ".join(self.names)
        self.words, self.ending, self.kind = words, ending, kind
        self.wait, self.ttl = wait, ttl

    def calling(self, on_lost, on_askback, on_position):
        callbacks(on_lost=on_lost, on_askback=on_askback, on_position=on_position)
        self.on_lost, self.on_askback, self.on_position = on_lost, on_askback, on_position
        return self

    def granted(self, reply):
        """The fences, and for how many milliseconds; of several names that is not told."""
        return (reply, 0) if self.several else (reply[:1], reply[1])

    def pushed(self, push):
        """While it waits."""
        if push[0] == "position" and push[1] in self.names and self.on_position:
            self.on_position(push[2])


class Acquisition(Generic[T]):
    """`await` it, or use it by `async with`. If it is lost, the body is cancelled and LockLost raised."""

    def __init__(self, begin: Callable[[], Coroutine[Any, Any, T]]):
        self._begin = begin
        self._hold: Any = None
        self._task: Any = None
        self._cancelled = False

    def __await__(self) -> Generator[Any, None, T]:
        return self._begin().__await__()

    async def __aenter__(self) -> T:
        self._hold = await self
        self._task = asyncio.current_task()
        if hasattr(self._hold, "on_lost"):
            self._hold.on_lost(self._interrupt)
        return self._hold

    def _interrupt(self, _):
        asyncio.get_running_loop().call_soon(self._cancel)  # the body itself may have found out

    def _cancel(self):
        if self._task:
            self._cancelled = True
            self._task.cancel()

    async def __aexit__(self, kind, error, _):
        self._task = None
        if self._cancelled and kind is asyncio.CancelledError:
            if getattr(asyncio.current_task(), "uncancel", lambda: 0)() > 0:
                return  # somebody else has cancelled it, too
            raise self._hold.loss() from error
        try:
            await self._hold._exit(kind is None)
        except LockLost:
            if kind is None:
                raise


class Hold:
    """A lock or a leadership that is held."""

    name: str
    fence: int
    fences: list[int]

    def __init__(self, client, want, connection, asked, fences, left):
        self.name, self.fence, self.fences = want.name, fences[0], fences
        self._client, self._want, self._connection = client, want, connection
        self._ended = self._why = None  # "lost" or "released"; why it was lost
        self._again = 0  # how often it was taken again, and not given back
        self._side = None  # upgrade() and downgrade() have the connection for themselves; meanwhile this one renews
        self._callbacks = [want.on_lost] if want.on_lost else []
        self._wake = asyncio.Event()
        self._alarm = self._task = None
        self._loop = asyncio.get_running_loop()
        self._extend(asked, left)

    async def confirm(self):
        """Of several names nobody has told how long they last. False: they may be over."""
        return self._want.several and await self._renew() and self.held

    def begin(self):
        self._connection.on_push, self._connection.on_close = self._pushed, self._broken
        self._client._holds.add(self)
        self._task = self._client._spawn(self._renew_on())
        if self._connection.closed:
            self._broken(self._connection.closed)
        return self

    def take_again(self, want):
        """True if this is what `want` asks for, by the same task or thread."""
        mine = self._want
        if (want.owner, want.words) != (mine.owner, mine.words) or mine.kind or mine.several or not self.held:
            return False
        self._again += 1
        return True

    # ---- what a holder asks ----

    @property
    def left(self) -> float:
        """Seconds for which it is surely held, by this process's own clock; 0 if it is not."""
        left = self.peek()
        if left <= 0 and not self._ended and self._task:
            self._lose("its time ran out")
        return left

    def peek(self) -> float:
        return 0.0 if self._ended else max(0.0, self._ends - clock())

    @property
    def held(self) -> bool:
        return self.left > 0

    def check(self) -> None:
        """Raises LockLost if it is not held. The clock decides, so a process that was stopped learns it here, first."""
        if not self.held:
            raise self.loss()

    def loss(self) -> LockLost:
        return LockLost(f"{self.name}, fence {self.fence}: {self._why or ('given back' if self._ended else 'its time ran out')}")

    def on_lost(self, callback: Callable[[Hold], Any]) -> None:
        """Calls it with this hold as soon as it is lost; at once if it is lost already."""
        if self._ended == "lost":
            callback(self)
        else:
            self._callbacks.append(callback)

    async def release(self) -> None:
        """Gives it back. LockLost if it was lost before. If no server answers, it ends by itself when its time is over."""
        if self._ended == "released":
            return
        self.check()
        if self._again:
            self._again -= 1
            return
        self._end("released", None)
        proof = ["SECRET", self._client._secret] if self._want.ttl else []
        for attempt in range(len(self._client.servers) + 1):
            try:
                if self._connection.closed and not self._want.ttl:
                    return  # it has ended with its connection
                if self._connection.closed:
                    self._connection = await self._client._connect()
                released = await self._ask_all(self._connection, self._client.timeout, self._want.ending, *proof)
                self._client._keep(self._connection)
                if not all(released) and not attempt:
                    self._why = "it was not held any more"
                    raise self.loss()
                return
            except (Broken, NoServer, NoQuorum, asyncio.TimeoutError):
                self._client._turn += 1
                self._connection.close("no answer")
            except asyncio.CancelledError:
                self._connection.close("given up")
                raise
            if clock() >= self._ends:
                return

    async def _exit(self, _):
        await self.release()

    async def _ask_all(self, connection, patience, verb, *more):
        """The answers about each of its names."""
        questions = [connection.ask(verb, name, fence, *more) for name, fence in zip(self._want.names, self.fences)]
        return await asyncio.wait_for(asyncio.gather(*questions), patience)

    # ---- from shared to alone, and back ----

    async def upgrade(self, wait: Optional[float] = None) -> int:
        """Waits until all others that share it have left: from then on it is held alone, by a new fence. WaitTimeout: it is
        shared as before. Refused: another one waits for that already, or it was renewed by another server meanwhile."""
        self._expect(["SHARED"], "upgrade", "a shared lock")
        return await self._exchange("UPGRADE", wait, [])

    async def downgrade(self) -> int:
        """Shares it from now on, by a new fence, without a moment in which nobody holds it."""
        self._expect([], "downgrade", "a lock that is not shared")
        return await self._exchange("DOWNGRADE", None, ["SHARED"])

    def _expect(self, kind, what, expected):
        self.check()
        want = self._want
        if want.kind != kind or want.several or want.ending != "UNLOCK" or not want.ttl or self._again or self._side:
            raise Invalid(f"{self.name}: {what} expects {expected}, with a time to live, taken once")

    async def _exchange(self, verb, wait, kind):
        self._side = await self._client._connect()
        until = self._client._until(wait)
        fence = None
        try:
            fence = await self._client._wait(self._connection, [verb, self.name, self.fence], until, keep=False)
        finally:
            side, self._side = self._side, None
            self._client._keep(side)
            if fence is not None:
                self._want.kind = kind
                self.fence, self.fences = fence, [fence]
            self._renew_at = 0.0  # how long it lasts now is not told
            self._wake.set()
        if fence is None:
            raise WaitTimeout(f"{self.name}: others still share it")
        return fence

    # ---- its end ----

    def _end(self, how, why):
        self._ended, self._why = how, why
        self._client._holds.discard(self)
        self._wake.set()
        if self._alarm:
            self._alarm.cancel()

    def _lose(self, why):
        if self._ended:
            return
        self._end("lost", why)
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks if self._task else []:  # nobody has it before it has begun
            self._client._call(callback, self)

    def _pushed(self, push):
        if tuple(push[1:3]) not in zip(self._want.names, self.fences):
            return
        if push[0] == "lost":
            self._lose(push[3] if len(push) > 3 else "the server says so")
        elif push[0] == "askback" and self._want.on_askback:
            self._client._call(self._want.on_askback, self, push[3])

    def _broken(self, why):
        if not self._want.ttl:
            self._lose(why)
        self._wake.set()

    # ---- its renewal ----

    def _extend(self, asked, left):
        """`left` milliseconds from then on. It ends a tenth earlier here, so that there is time to stop."""
        if left < 0:
            self._ends = self._renew_at = NEVER
            return
        term = self._want.ttl or left / 1000
        self._ends = asked + left / 1000 - term / 10
        self._renew_at = asked + left / 1000 - term * 2 / 3
        if self._alarm:
            self._alarm.cancel()
        self._alarm = self._loop.call_later(max(0.0, self._ends - clock()), lambda: self.left)

    async def _renew_on(self):
        try:
            while not self._ended:
                pause = 0 if self._connection.closed else self._renew_at - clock()
                if pause > 0:
                    self._wake.clear()
                    with contextlib.suppress(asyncio.TimeoutError):
                        await asyncio.wait_for(self._wake.wait(), None if pause == NEVER else pause)
                    continue
                if not await self._renew():
                    await asyncio.sleep(PAUSE)
        finally:
            if self._ended == "lost":
                await self._clean_up()

    async def _renew(self):
        """True if a server answered."""
        want, asked, fences, connection = self._want, clock(), self.fences, self._side or self._connection
        words = ["SECRET", self._client._secret, "TTL", milliseconds(want.ttl), *want.kind] if want.ttl else []
        patience = min(self._client.timeout, max(want.ttl / 8, 0.05)) if want.ttl else self._client.timeout
        try:
            if connection.closed:
                connection = await self._client._connect(patience)
                if self._ended or not self._replace(connection):
                    self._client._keep(connection)
                    return True
                asked = clock()
            answers = await self._ask_all(connection, patience, "RENEW", *words)
            left = None if None in answers else min(answers)
        except (ConclaveError, Broken, asyncio.TimeoutError):
            left = False  # it may recover until it is asked again, or another server may answer
        if self._ended:
            return True
        if left is None and (self._side or fences is not self.fences):
            self._renew_at = 0.0  # that was the fence before
            return False
        if left is None:
            self._lose("the servers have given it to nobody, or to somebody else")
        elif left is False:
            if want.ttl:
                self._client._turn += 1
                connection.close("no answer")
        else:
            self._extend(asked, left)
        return left is not False

    def _replace(self, connection):
        """By a connection that works. False: there is one."""
        if self._side:
            self._side = connection
        elif self._connection.closed:
            self._connection = connection
            connection.on_push, connection.on_close = self._pushed, self._broken
        else:
            return False
        return True

    async def _clean_up(self):
        """What is lost here may not be over there yet, and the next one waits for it."""
        with contextlib.suppress(ConclaveError, Broken, asyncio.TimeoutError):
            if self._want.ttl and not self._connection.closed:
                await self._ask_all(self._connection, self._client.timeout, self._want.ending, "SECRET", self._client._secret)
        self._connection.close("lost")
