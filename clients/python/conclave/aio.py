# SPDX-License-Identifier: MIT
"""Locks, leadership and recipes for asyncio.

    async with conclave.aio.Client() as client:
        async with client.lock("backup") as lock:  # if the lock is lost, the body is cancelled and LockLost raised
            await work(lock.fence)

A hold has a connection of its own. A task renews it after a third of its time to live, with another server if need be,
and the hold is over, for this process, a tenth of that time before the servers may give it to somebody else.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from typing import Any, Callable, Iterable, Optional, Union

from .arguments import (MOST_NUMBERS, MOST_PARTIES, MOST_PERMITS, MOST_PRIORITY, callbacks, milliseconds, seconds, text, texts,
                        value as published, waiting, whole)
from .connection import Broken, Connection, Credentials, clock, own_name, read_servers
from .errors import ConclaveError, Invalid, NoQuorum, NoServer, WaitTimeout
from .hold import NEVER, PAUSE, Acquisition, Hold, Want
from .observation import (LOOK_AGAIN, Leader, Member, Membership, Observation, read_leader, read_members)
from .recipes import Inside, LastRun, Latch, Run, meet

PATIENCE = 5.0  # so long other servers are tried when none answers during a wait
PROBE = 3.0  # during a wait, a second connection tests so often whether the server hangs
IDLE = 8  # connections kept for what comes next

Lost = Optional[Callable[[Hold], Any]]
Asked = Optional[Callable[[Hold, Optional[str]], Any]]
Place = Optional[Callable[[int], Any]]


class Client:
    """Asks the servers of a list, which default to $CONCLAVE_SERVER. `timeout`: seconds that one may take to answer."""

    def __init__(self, servers: Union[None, str, Iterable[str]] = None, *, timeout: float = 2.0, name: Optional[str] = None,
                 key: Optional[str] = None, tls_ca: Optional[str] = None, tls_certificate: Optional[str] = None,
                 tls_private_key: Optional[str] = None):
        self.servers = read_servers(servers)
        self.timeout = seconds("timeout", timeout, 0.001)
        self.name = name or own_name()
        self.credentials = Credentials(key, tls_ca, tls_certificate, tls_private_key)
        self._secret = secrets.token_hex(16)  # of what it holds: with it other servers renew and end that, too
        self._turn = 0
        self._idle: list[Connection] = []
        self._holds: set[Hold] = set()
        self._tasks: set[asyncio.Future] = set()
        self._closed = False

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_):
        await self.close()

    async def close(self) -> None:
        """Gives back all that it holds."""
        self._closed = True
        for hold in self._holds:
            hold._again = 0
        await asyncio.gather(*(hold.release() for hold in list(self._holds)), return_exceptions=True)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connection in self._idle:
            connection.close()

    # ---- locks and leadership ----

    def lock(self, name: str, *, wait: Optional[float] = None, ttl: float = 10.0, shared: bool = False,
             permits: Optional[int] = None, reentrant: bool = False, on_lost: Lost = None,
             on_askback: Asked = None, on_position: Place = None, owner: Optional[object] = None) -> Acquisition[Hold]:
        """`async with` it, or await it for a Hold. `wait`: seconds, 0 tries once, None waits for as long as it takes; then
        WaitTimeout. `ttl`: the servers promise it for so many seconds, renewed in the background; 0: it lasts as long as
        its connection. `shared`: together with others that share; `permits`: one of up to so many. `reentrant`: the task
        that holds it already, or the `owner`, gets the same hold again, and releases it as often. `on_lost` is called with the hold;
        `on_askback` with the hold and the name of whoever asks for it, or None; `on_position` with its place in the queue
        whenever that has changed."""
        if reentrant and (shared or permits is not None):
            raise Invalid(f"{name}: reentrant expects neither shared nor permits")
        if shared and permits is not None:
            raise Invalid(f"{name}: permits expects no shared")
        kind = ["SHARED"] if shared else ["PERMITS", whole("permits", permits, 1, MOST_PERMITS)] if permits is not None else []
        want = Want(["LOCK", text(name), *kind], "UNLOCK", kind, name, wait, ttl)
        want.owner, want.reentrant = owner, reentrant
        return self._acquisition(want.calling(on_lost, on_askback, on_position))

    def campaign(self, name: str, *, priority: int = 0, value: Optional[str] = None, wait: Optional[float] = None,
                 ttl: float = 10.0, on_lost: Lost = None, on_askback: Asked = None, on_position: Place = None) -> Acquisition[Hold]:
        """The same for leadership; the candidate with the highest priority is preferred. `value`: what all members tell
        about this leader, an address for example."""
        told = published(value)
        words = ["CAMPAIGN", text(name), *told] + (["PRIORITY", whole("priority", priority, 0, MOST_PRIORITY)] if priority else [])
        want = Want(words, "RESIGN", ["LEADER", *told], name, wait, ttl)
        return self._acquisition(want.calling(on_lost, on_askback, on_position))

    def lock_all(self, names: Iterable[str], *, wait: Optional[float] = None, ttl: float = 10.0, on_lost: Lost = None,
                 on_askback: Asked = None, on_position: Place = None) -> Acquisition[Hold]:
        """All of these names or none, without deadlock. `fences` has their fences, in that order. If one of them is lost, all
        are; to give them back, release the hold."""
        names = texts(names)
        if not names or not ttl:
            raise Invalid("several names at once expect a name, and a time to live")
        want = Want(["LOCKALL"], "UNLOCK", [], names, wait, ttl)
        return self._acquisition(want.calling(on_lost, on_askback, on_position))

    async def leader(self, name: str) -> Optional[Leader]:
        """The Leader, or None."""
        return read_leader(await self.execute("LEADER", text(name)))

    def observe(self, name: str) -> Observation[Optional[Leader]]:
        """Leaders as they change, beginning with the present one, by `async for`."""
        return self._observe(name, "OBSERVE", "LEADER", "leader")

    def watch(self, name: str) -> Observation[Optional[Leader]]:
        """The same for a lock: who got it last, and None when it was given back. A short hold may be missed."""
        return self._observe(name, "WATCH", "WATCH", "lock")

    def _observe(self, name, first, again, push):
        return Observation(self, text(name), [first, name], [again, name], push, read_leader,
                           lambda items: read_leader([*items[:2], None, *items[2:]]))

    async def waiters(self, name: str) -> list[dict]:
        """Who waits for it, the next one first: `position`, `client`, `waited_ms` and so on, as WAITERS tells it."""
        return await self.execute("WAITERS", text(name))

    async def ask_back(self, name: str) -> int:
        """Asks the holders to give it back: how many were asked. They hear of it by `on_askback`."""
        return await self.execute("ASKBACK", text(name))

    # ---- recipes ----

    async def sequence(self, name: str, count: int = 1, wait: Optional[float] = None) -> int:
        """The first of `count` numbers that nobody else gets, above all that were given for that name before. WaitTimeout:
        somebody holds the name as a lock. `wait`: seconds, but a server has its time to answer in any case."""
        words = ["SEQUENCE", text(name), whole("count", count, 1, MOST_NUMBERS)]

        async def attempt(connection, until):
            first = await self._wait(connection, words, until, told=False)
            self._keep(connection)
            return first

        return await self._persist(wait, attempt)

    async def barrier(self, name: str, parties: int, wait: Optional[float] = None) -> int:
        """Waits until so many have come; the meeting's number, the same for all and above the last one. WaitTimeout: they
        have not, and this one does not count any more. LockLost: the connection broke, and the others may have met."""
        connection, number = await meet(self, text(name), whole("parties", parties, 1, MOST_PARTIES), [], wait)
        self._keep(connection)
        return number

    def double_barrier(self, name: str, parties: int, wait: Optional[float] = None, on_lost: Optional[Callable] = None) -> Acquisition[Inside]:
        """`async with` it, or await it: begins when so many have come, and ends when all of them have left or gone."""
        callbacks(on_lost=on_lost)

        async def enter() -> Inside:
            inside = Inside(self, text(name), on_lost)
            connection, inside.number = await meet(self, name, whole("parties", parties, 1, MOST_PARTIES), ["ENTER"], wait)
            return inside._begin(connection)

        return Acquisition(enter)

    def latch(self, name: str) -> Latch:
        """A latch by its name, whether it was set or not."""
        return Latch(self, text(name))

    def join(self, name: str, value: Optional[str] = None, on_change: Optional[Callable[[Optional[int]], Any]] = None) -> Acquisition[Membership]:
        """`async with` it, or await it for a Membership. `value`: what others see with it. If its connection ends it joins
        anew: `on_change` is called with None, and then with the new number."""
        callbacks(on_change=on_change)
        words = ["MEMBERS", text(name), "JOIN", *published(value)]
        return Acquisition(lambda: Membership(self, name, words, on_change).begin())

    async def members(self, name: str) -> list[Member]:
        """The members of a group, in the order in which they joined."""
        return read_members(await self.execute("MEMBERS", text(name)))

    def watch_members(self, name: str) -> Observation[list[Member]]:
        """Lists of members as they change, beginning with the present one, by `async for`."""
        words = ["MEMBERS", text(name)]
        return Observation(self, name, [*words, "WATCH"], words, "members", read_members, lambda items: read_members(items[0]))

    def once(self, name: str, every: float, on_lost: Optional[Callable] = None) -> Acquisition[Run]:
        """`async with` it, or await it for a Run, which is true if this client is to do it now: nobody has begun it in this
        period of so many seconds, counted from 1970. It is done when the body ends without an exception."""
        callbacks(on_lost=on_lost)
        every_ms = milliseconds(seconds("every", every, 0.001))

        async def begin() -> Run:
            run = Run(self, text(name), on_lost)
            connection, run.fence = await self._ask("ONCE", name, "EVERY", every_ms, again=False)
            if run:
                return run._begin(connection)
            self._keep(connection)
            return run

        return Acquisition(begin)

    async def last_run(self, name: str) -> LastRun:
        """When it was done last, and who does it now."""
        ended, *more = await self.execute("ONCE", text(name))
        return LastRun(None if ended is None else ended / 1000, *more[:3])

    # ---- questions ----

    async def execute(self, *words: Any) -> Any:
        """The answer to any command that does not wait. If a server does not answer, another one is asked the same."""
        if not words:
            raise Invalid("expected the words of a command")
        connection, reply = await self._ask(*words)
        self._keep(connection)
        return reply

    async def _execute_once(self, *words):
        """The same, but no server is asked again."""
        connection, reply = await self._ask(*words, again=False)
        self._keep(connection)
        return reply

    async def _ask(self, *words, again=True):
        """The connection, which is the caller's then, and the answer."""
        for _ in range(len(self.servers) + 1 if again else 1):
            connection = await self._connect()
            try:
                return connection, await asyncio.wait_for(connection.ask(*words), self.timeout)
            except (Broken, asyncio.TimeoutError) as error:
                failure = NoServer(f"{connection.server.text}: {str(error) or 'no answer'}")
                connection.close("no answer")
                self._forsake(connection.server)
            except ConclaveError:
                self._keep(connection)
                raise
            except BaseException:
                connection.close("given up")
                raise
        raise failure

    # ---- connections ----

    async def _connect(self, patience=None):
        """Tries each server once, however short a wait is: that is for the lock."""
        if self._closed:
            raise Invalid("the client is closed")
        while self._idle:
            connection = self._idle.pop()
            if connection.idle:
                return connection
        first = self._turn  # others, who connect at the same time, move on as well
        for turn in range(first, first + len(self.servers)):
            server = self.servers[turn % len(self.servers)]
            try:
                connection = await Connection.open(server, self.credentials, patience or self.timeout, self.name)
                self._turn = turn
                return connection
            except ConclaveError as error:
                failure = error
        raise failure

    def _forsake(self, server):
        """The next question goes to another one, whatever connections to this one are there."""
        self._turn += 1
        for connection in [each for each in self._idle if each.server == server]:
            self._idle.remove(connection)
            connection.close()

    def _keep(self, connection):
        if connection.idle and len(self._idle) < IDLE and not self._closed:
            connection.on_push = connection.on_close = lambda _: None
            self._idle.append(connection)
        else:
            connection.close()

    async def _while_alive(self, connection, gone):
        """Returns when the connection has ended, or its server hangs; then it is closed."""
        while not gone.is_set():
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(gone.wait(), LOOK_AGAIN)
                return
            try:
                await asyncio.wait_for(connection.ask("PING"), self.timeout)
            except (Broken, ConclaveError, asyncio.TimeoutError):
                connection.close("no answer")

    def _spawn(self, coroutine):
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    @staticmethod
    def _call(callback, *arguments):
        try:
            callback(*arguments)
        except Exception as error:  # pylint: disable=broad-except
            loop = asyncio.get_running_loop()
            loop.call_exception_handler({"message": f"{callback} failed", "exception": error})

    # ---- waiting ----

    @staticmethod
    def _until(wait):
        return clock() + waiting(wait)

    async def _persist(self, wait, attempt):
        """attempt(connection, until) until it has an answer, with other servers if need be."""
        until = self._until(wait)
        tries, failing, heard = 0, None, False
        while True:
            asked, reached = clock(), False
            try:
                connection = await self._connect()
                heard = reached = True
                answer = await attempt(connection, until)
                if answer:
                    return answer
            except (NoServer, NoQuorum) as error:
                now = clock()
                tries = tries + 1 if reached else len(self.servers)
                failing = now if failing is None or now - asked > 1 else failing
                if isinstance(error, NoServer) and not heard:
                    raise  # there was no server in the first place
                if tries >= len(self.servers) and (now >= until or now >= failing + PATIENCE):
                    raise
                if reached:
                    self._forsake(connection.server)
                await asyncio.sleep(PAUSE)

    def _acquisition(self, want):
        return Acquisition(lambda: self._acquire(want))

    async def _acquire(self, want):
        want.owner = want.owner or asyncio.current_task()
        for hold in self._holds if want.reentrant else ():
            if hold.take_again(want):
                return hold
        return await self._persist(want.wait, lambda connection, until: self._acquire_once(connection, want, until))

    async def _acquire_once(self, connection, want, until):
        """A hold. None: this process stood still when it was granted, for so long that it may be over."""
        asked = clock()
        words = want.words + (["TTL", milliseconds(want.ttl), "SECRET", self._secret] if want.ttl else [])
        connection.on_push = want.pushed
        reply = await self._wait(connection, words, until, want.names if want.several else ["DEADLINE"],
                                 lambda reply: self._give_back(want, want.granted(reply)[0]))
        hold = reply and Hold(self, want, connection, asked, *want.granted(reply))
        if hold and (hold.held or await hold.confirm()):
            return hold.begin()
        self._keep(connection)
        if hold:
            self._spawn(self._give_back(want, hold.fences))
        if not hold or clock() >= until:
            raise WaitTimeout(f"{want.name}: waited too long")
        return None

    async def _wait(self, connection, words, until, last=(), undo=None, keep=True, told=True):
        """The answer to a command that may wait, without losing sight of the server. A wait that ends otherwise is withdrawn:
        `undo` is called with an answer that was on its way. `keep`: after an error the connection is for others. Not `told`:
        the server knows no WAIT, and this side ends it."""
        end = max(until, clock()) + self.timeout if told else max(until, clock() + self.timeout)
        words = [*words, *(["WAIT", milliseconds(max(0.0, until - clock()))] if told and until != NEVER else []), *last]
        question = connection.ask(*words)
        try:
            while True:
                left = end - clock()
                done, _ = await asyncio.wait([question], timeout=max(0.0, min(PROBE, left)))
                if done:
                    return question.result()
                if left <= PROBE and told:
                    raise Broken("no answer")
                await self._probe(connection.server)
                if left <= PROBE and not question.done():
                    raise WaitTimeout(f"{words[1]}: waited too long")
        except asyncio.CancelledError:
            self._spawn(self._withdraw(connection, question, undo))
            raise
        except (Broken, NoServer) as error:
            self._spawn(self._withdraw(connection, question, undo))
            raise NoServer(f"{connection.server.text}: {error}") from error
        except ConclaveError:
            if keep:
                self._keep(connection)
            raise

    async def _probe(self, server):
        """A server that lets a client wait may be right, or may hang. Does it still answer others?"""
        probe = await Connection.open(server, self.credentials, self.timeout, self.name)
        probe.close()

    @staticmethod
    async def _withdraw(connection, question, undo):
        """A grant that was on its way is given back: it would block its name for as long as its time to live."""
        reply = await connection.last_words(question)
        if reply and undo:
            await undo(reply)

    async def _give_back(self, want, fences):
        for name, fence in zip(want.names, fences if want.ttl else []):
            with contextlib.suppress(ConclaveError):
                await self.execute(want.ending, name, fence, "SECRET", self._secret)
