# SPDX-License-Identifier: MIT
"""Latches, double barriers, and what is done once in each period."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional

from .arguments import MOST_PERMITS, whole
from .connection import Broken
from .errors import ConclaveError, LockLost, NoServer, WaitTimeout

if TYPE_CHECKING:
    from .aio import Client


class Latch:
    """Opens, once and for all who wait, when it was counted down to 0. It outlasts clients and servers."""

    def __init__(self, client: Client, name: str):
        self.name = name
        self._client = client

    async def set(self, count: int) -> bool:
        """False: there is one already that is not open yet."""
        return bool(await self._client._execute_once("LATCH", self.name, "SET", whole("count", count, 1, MOST_PERMITS)))

    async def down(self, count: int = 1) -> int:
        """What is left; 0: it is open. Refused if none was set. NoServer: it may have been counted or not."""
        return await self._client._execute_once("LATCH", self.name, "DOWN", whole("count", count, 1, MOST_PERMITS))

    async def wait(self, wait: Optional[float] = None) -> None:
        """Until it is open; WaitTimeout after so many seconds. Refused if none was set, or if it was cleared."""
        async def attempt(connection, until):
            left = await self._client._wait(connection, ["LATCH", self.name, "AWAIT"], until)
            self._client._keep(connection)
            if left is None:
                raise WaitTimeout(f"{self.name}: waited too long")
            return True

        await self._client._persist(wait, attempt)

    async def left(self) -> Optional[int]:
        """What is left; None: there is no latch."""
        return await self._client.execute("LATCH", self.name)

    async def clear(self) -> None:
        """Takes it away."""
        await self._client.execute("LATCH", self.name, "CLEAR")


class Stay:
    """What lasts as long as its connection."""

    _connection: Any = None

    def __init__(self, client: Client, name: str, on_lost: Optional[Callable]):
        self.name = name
        self._client = client
        self._why: Optional[str] = None  # it has ended
        self._lost = False
        self._callbacks = [on_lost] if on_lost else []
        self._gone = asyncio.Event()
        self._task: Any = None

    def _begin(self, connection):
        self._connection = connection
        connection.on_close, connection.on_push = self._broken, self._pushed
        self._task = self._client._spawn(self._look())
        if connection.closed:
            self._broken(connection.closed)
        return self

    @property
    def held(self) -> bool:
        return self._connection is not None and self._why is None

    def check(self) -> None:
        """Raises LockLost if its connection has ended, or if it is over."""
        if not self.held:
            raise self.loss()

    def loss(self) -> LockLost:
        return LockLost(f"{self.name}: {self._why or 'it is not ours'}")

    def on_lost(self, callback: Callable[[Any], Any]) -> None:
        """Calls it with this as soon as it is lost; at once if it is lost already."""
        if self._lost:
            callback(self)
        else:
            self._callbacks.append(callback)

    async def _look(self):
        try:
            await self._client._while_alive(self._connection, self._gone)
        finally:
            if self._client._closed:
                self._abandon()

    def _pushed(self, push):
        if push[0] == "lost" and push[1] == self.name:
            self._connection.close(push[3] if len(push) > 3 else "the server says so")

    def _broken(self, why):
        self._gone.set()
        if self._why is not None:
            return
        self._why, self._lost = why, True
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            self._client._call(callback, self)

    def _end(self):
        """From now on its end is no loss."""
        self.check()
        self._why = "it is over"
        self._task.cancel()

    def _abandon(self):
        """Without a word: others see that its connection has ended."""
        if self.held:
            self._why = "given up"
            self._task.cancel()
            self._connection.close("given up")


class Inside(Stay):
    """At a double barrier, after everybody has come and before everybody has gone."""

    number: int

    async def leave(self, wait: Optional[float] = None) -> int:
        """Waits until all the others have left, too, or have gone. WaitTimeout: they have not, and it is still inside."""
        self.check()
        until = self._client._until(wait)
        self._task.cancel()  # a server that lets a client wait answers nothing else on that connection
        try:
            number = await self._client._wait(self._connection, ["BARRIER", self.name, "LEAVE"], until, keep=False)
        except NoServer as error:
            raise LockLost(f"{self.name}: {error}; it is not inside any more") from error
        except ConclaveError:
            self._abandon()
            raise
        if number is None:
            self._task = self._client._spawn(self._look())
            raise WaitTimeout(f"{self.name}: others are still inside")
        self._end()
        self._client._keep(self._connection)
        return number

    async def _exit(self, well):
        if well:
            await self.leave()
        else:
            self._abandon()


class LastRun(NamedTuple):
    """What is known about something that is done once in each period."""

    ended: Optional[float]  # seconds since 1970; None: never
    fence: Optional[int]
    client: Optional[str]
    running: Optional[str]  # who does it now


class Run(Stay):
    """Something that is to be done once in this period. It is true if this client is to do it now."""

    fence: Optional[int] = None

    def __bool__(self):
        return self.fence is not None

    async def done(self) -> None:
        """Nobody does it again in this period. LockLost if it was lost before: others may do it, too."""
        self._end()
        try:
            question = self._connection.ask("ONCE", self.name, "DONE", self.fence)
            remembered = await asyncio.wait_for(question, self._client.timeout)
        except (Broken, ConclaveError, asyncio.TimeoutError) as error:
            self._connection.close("no answer")
            raise LockLost(f"{self.name}, fence {self.fence}: {str(error) or 'no answer'}") from error
        self._client._keep(self._connection)
        if not remembered:
            raise LockLost(f"{self.name}, fence {self.fence}: it was not ours any more")

    def give_up(self) -> None:
        """Leaves it to whoever asks next."""
        self._abandon()

    async def _exit(self, well):
        if well and self:
            await self.done()
        else:
            self._abandon()


async def meet(client: Client, name: str, parties: int, words: list, wait: Optional[float]):
    """The connection and the meeting's number. It is not asked for twice: the others may have met before the answer was lost."""
    async def attempt(connection, until):
        try:
            number = await client._wait(connection, ["BARRIER", name, parties, *words], until)
        except NoServer as error:
            raise LockLost(f"{name}: {error}; the others may have met") from error
        if number is None:
            client._keep(connection)
            raise WaitTimeout(f"{name}: not all of {parties} came")
        return connection, number

    return await client._persist(wait, attempt)
