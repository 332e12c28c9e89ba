# SPDX-License-Identifier: MIT
"""What changes, as it changes: leaders, holders, members. And to be one of the members."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Callable, Generic, NamedTuple, Optional, TypeVar

from .connection import Broken
from .errors import ConclaveError, LockLost
from .hold import PAUSE

if TYPE_CHECKING:
    from .aio import Client

LOOK_AGAIN = 2.0  # seconds between questions to a server that should push: one that hangs pushes nothing
END = object()
T = TypeVar("T")


class Leader:
    """Who leads, with which fence, and what was published with it."""

    def __init__(self, items):
        self.id: str = items[0]
        self.fence: int = items[1]
        self.value: Optional[str] = items[3] if len(items) > 3 else None

    def __eq__(self, other):
        return isinstance(other, Leader) and vars(self) == vars(other)

    def __repr__(self):
        return f"Leader({self.id}, fence {self.fence})"


class Member(NamedTuple):
    """Of a group, in the order of their numbers."""

    number: int
    client: Optional[str]
    value: Optional[str]


def read_leader(items) -> Optional[Leader]:
    return Leader(items) if items and items[0] else None


def read_members(items) -> list[Member]:
    return [Member(*item[:3]) for item in items]


class Observation(Generic[T]):
    """Changes, for `async for`. If the server is lost or hangs, it goes on with another one."""

    def __init__(self, client: Client, name: str, first, again, push, read: Callable[[Any], T], read_push: Callable[[Any], T]):
        self.name = name
        self._client = client
        self._first, self._again, self._push = first, again, push
        self._read, self._read_push = read, read_push
        self._news: asyncio.Queue = asyncio.Queue()
        self._task: Optional[asyncio.Future] = None
        self._last: Any = END

    def __aiter__(self) -> Observation[T]:
        if not self._task:
            self._task = self._client._spawn(self._watch())
        return self

    async def __anext__(self) -> T:
        news = await self.__aiter__()._news.get()
        if news is END:
            self._news.put_nowait(END)
            raise StopAsyncIteration
        return news

    async def __aenter__(self) -> Observation[T]:
        return self.__aiter__()

    async def __aexit__(self, *_):
        self.close()

    def close(self) -> None:
        if self._task:
            self._task.cancel()

    def _see(self, news):
        if news != self._last:
            self._last = news
            self._news.put_nowait(news)

    def _pushed(self, push):
        if push[0] == self._push and push[1] == self.name:
            self._see(self._read_push(push[2:]))

    async def _watch(self):
        try:
            while True:
                with contextlib.suppress(ConclaveError, Broken, asyncio.TimeoutError):
                    await self._watch_one(await self._client._connect())
                self._client._turn += 1
                await asyncio.sleep(PAUSE)
        finally:
            self._news.put_nowait(END)

    async def _watch_one(self, connection):
        try:
            connection.on_push = self._pushed
            words = self._first
            while True:
                self._see(self._read(await asyncio.wait_for(connection.ask(*words), self._client.timeout)))
                words = self._again
                await asyncio.sleep(LOOK_AGAIN)
        finally:
            connection.close()


class Membership:
    """A member of a group, until it leaves. If its connection ends it joins anew, with another number."""

    number: Optional[int] = None  # None: it is no member at the moment

    def __init__(self, client: Client, name: str, words: list, on_change: Optional[Callable[[Optional[int]], Any]]):
        self.name = name
        self._client, self._words, self._on_change = client, words, on_change
        self._connection: Any = None
        self._task: Any = None
        self._gone = asyncio.Event()

    async def begin(self):
        await self._join()
        self._task = self._client._spawn(self._stay())
        return self

    async def _join(self):
        self._connection, self.number = await self._client._ask(*self._words)
        self._gone.clear()
        self._connection.on_close = lambda _: self._gone.set()
        self._connection.on_push = self._pushed
        if self._connection.closed:
            self._gone.set()

    def _pushed(self, push):
        if push[0] == "lost" and push[1] == self.name:
            self._connection.close("the server says so")

    async def _stay(self):
        try:
            while True:
                await self._client._while_alive(self._connection, self._gone)
                self.number = None
                self._tell()
                while self.number is None:
                    with contextlib.suppress(ConclaveError):
                        await self._join()
                        self._tell()
                        continue
                    self._client._turn += 1
                    await asyncio.sleep(PAUSE)
        finally:
            self._connection.close("left")

    @property
    def held(self) -> bool:
        return self.number is not None

    def loss(self) -> LockLost:
        return LockLost(f"{self.name}: it is no member")

    def _tell(self):
        if self._on_change:
            self._client._call(self._on_change, self.number)

    async def leave(self) -> None:
        """Others do not see it any more when this returns. If no server answers, they do not when they notice."""
        if self.number is not None:
            self.number = None
            with contextlib.suppress(ConclaveError, Broken, asyncio.TimeoutError):
                await asyncio.wait_for(self._connection.ask("MEMBERS", self.name, "LEAVE"), self._client.timeout)
        self._task.cancel()

    async def _exit(self, _):
        await self.leave()
