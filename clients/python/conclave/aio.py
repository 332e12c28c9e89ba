# SPDX-License-Identifier: MIT
"""Locks and leadership for asyncio.

    async with conclave.aio.Client() as client:
        async with client.lock("backup") as lock:  # if the lock is lost, the body is cancelled and LockLost raised
            await work(lock.fence)

A hold has a connection of its own. A task renews it after a third of its time to live, with another server if need be,
and the hold is over, for this process, a tenth of that time before the servers may give it to somebody else.
"""

import asyncio
import contextlib
import secrets

from .connection import Broken, Connection, Credentials, clock, own_name, read_servers
from .errors import ConclaveError, Invalid, LockLost, NoQuorum, NoServer, WaitTimeout

PAUSE = 0.05  # seconds before another server is tried
PATIENCE = 5.0  # so long other servers are tried when none answers during a wait
PROBE = 3.0  # during a wait, a second connection tests so often whether the server hangs
LOOK_AGAIN = 2.0  # an observed election is asked about so often: a server that hangs pushes nothing
IDLE = 8  # connections kept for what comes next
NEVER = float("inf")
END = object()


class Leader:
    """Who leads, with which fence, and what was published with it."""

    def __init__(self, items):
        self.id, self.fence = items[0], items[1]
        self.value = items[3] if len(items) > 3 else None

    def __eq__(self, other):
        return isinstance(other, Leader) and vars(self) == vars(other)

    def __repr__(self):
        return f"Leader({self.id}, fence {self.fence})"


class Client:
    """Asks the servers of a list, which default to $CONCLAVE_SERVER. `timeout`: seconds that one may take to answer."""

    def __init__(self, servers=None, *, timeout=2.0, name=None, key=None, tls_ca=None, tls_certificate=None,
                 tls_private_key=None):
        self.servers = read_servers(servers)
        self.timeout = timeout
        self.name = name or own_name()
        self.credentials = Credentials(key, tls_ca, tls_certificate, tls_private_key)
        self._secret = secrets.token_hex(16)  # of what it holds: with it other servers renew and end that, too
        self._turn = 0
        self._idle, self._holds, self._tasks = [], set(), set()
        self._closed = False

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self.close()

    async def close(self):
        """Gives back all that it holds."""
        self._closed = True
        await asyncio.gather(*(hold.release() for hold in list(self._holds)), return_exceptions=True)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connection in self._idle:
            connection.close()

    # ---- locks and leadership ----

    def lock(self, name, *, wait=None, ttl=10.0, shared=False, permits=None, on_lost=None, on_askback=None,
             on_position=None):
        """`async with` it, or await it. `wait`: seconds, 0 tries once, None waits for as long as it takes; then
        WaitTimeout. `ttl`: the servers promise it for so many seconds, renewed in the background; 0: it lasts as long
        as its connection. `shared`: together with others that share; `permits`: one of up to so many. `on_lost` is called with the hold; `on_askback` with the hold and the name of whoever asks
        for it, or None; `on_position` with its place in the queue whenever that has changed."""
        kind = ["SHARED"] if shared else ["PERMITS", int(permits)] if permits is not None else []
        want = Want(["LOCK", text(name), *kind], "UNLOCK", kind, name, wait, ttl)
        return Acquisition(self, want.calling(on_lost, on_askback, on_position))

    def campaign(self, name, *, priority=0, value=None, wait=None, ttl=10.0, on_lost=None, on_askback=None,
                 on_position=None):
        """The same for leadership; the candidate with the highest priority is preferred. `value`: what all members tell
        about this leader, an address for example."""
        published = ["VALUE", value] if value is not None else []
        words = ["CAMPAIGN", text(name), *published] + (["PRIORITY", int(priority)] if priority else [])
        want = Want(words, "RESIGN", ["LEADER", *published], name, wait, ttl)
        return Acquisition(self, want.calling(on_lost, on_askback, on_position))

    def lock_all(self, names, *, wait=None, ttl=10.0, on_lost=None, on_askback=None, on_position=None):
        """All of these names or none, without deadlock. `fences` has their fences, in that order. If one of them is lost, all
        are; to give them back, release the hold."""
        names = [text(name) for name in names]
        if not names or not ttl:
            raise Invalid("several names at once expect a name, and a time to live")
        want = Want(["LOCKALL"], "UNLOCK", [], names, wait, ttl)
        return Acquisition(self, want.calling(on_lost, on_askback, on_position))

    async def sequence(self, name, count=1):
        """The first of `count` numbers that nobody else gets, above all that were given for that name before."""
        return await self.execute("SEQUENCE", text(name), int(count))

    async def leader(self, name):
        """The Leader, or None."""
        reply = await self.execute("LEADER", text(name))
        return reply and Leader(reply)

    def observe(self, name):
        """Leaders as they change, beginning with the present one, by `async for`."""
        return Observation(self, text(name), "OBSERVE", "LEADER", "leader")

    def watch(self, name):
        """The same for a lock: who got it last, and None when it was given back. A short hold may be missed."""
        return Observation(self, text(name), "WATCH", "WATCH", "lock")

    async def execute(self, *words):
        """The answer to any command that does not wait."""
        for attempt in range(len(self.servers) + 1):
            connection = await self._connect()
            try:
                return await asyncio.wait_for(connection.ask(*words), self.timeout)
            except (Broken, asyncio.TimeoutError) as error:
                failure = NoServer(f"{connection.server.text}: {error or 'no answer'}")
                connection.close("no answer")
                self._turn += 1
            finally:
                self._keep(connection)
        raise failure

    # ---- connections ----

    async def _connect(self, patience=None, until=NEVER):
        """Tries each server once, but no more when `until` is over."""
        if self._closed:
            raise Invalid("the client is closed")
        while self._idle:
            connection = self._idle.pop()
            if connection.idle:
                return connection
        for _ in self.servers:
            server = self.servers[self._turn % len(self.servers)]
            try:
                return await Connection.open(server, self.credentials, patience or self.timeout, self.name)
            except ConclaveError as error:
                failure = error
                self._turn += 1
            if clock() >= until:
                break
        raise failure

    def _keep(self, connection):
        if connection.idle and len(self._idle) < IDLE and not self._closed:
            connection.on_push = connection.on_close = lambda _: None
            self._idle.append(connection)
        else:
            connection.close()

    def _spawn(self, coroutine):
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # ---- waiting ----

    async def _acquire(self, want):
        until = NEVER if want.wait is None else clock() + want.wait
        tries, failing, heard = 0, None, False
        while True:
            asked = clock()
            try:
                connection = await self._connect(None, until)
                heard = True
                reply = await self._wait(connection, want, until)
                hold = reply and Hold(self, want, connection, *reply)
                if hold and (hold.held or await hold.confirm()):
                    return hold.begin()
                self._keep(connection)
                if hold:  # this process stood still when it was granted, for so long that it may be over
                    self._spawn(self._give_back(want, hold.fences))
                if not hold or clock() >= until:
                    raise WaitTimeout(f"{want.name}: waited too long")
            except (NoServer, NoQuorum) as error:
                now = clock()
                tries += 1
                failing = now if failing is None or now - asked > 1 else failing
                if isinstance(error, NoServer) and not heard:
                    raise  # there was no server in the first place
                if now >= failing + PATIENCE or now >= until + self.timeout or (now >= until and tries >= len(self.servers)):
                    raise
                self._turn += 1
                await asyncio.sleep(PAUSE)

    async def _wait(self, connection, want, until):
        """(asked, fence, milliseconds from then on), or None."""
        asked = clock()
        words = want.words + (["TTL", milliseconds(want.ttl), "SECRET", self._secret] if want.ttl else [])
        if until != NEVER:
            words += ["WAIT", milliseconds(max(0.0, until - asked))]
        words += want.names if want.several else ["DEADLINE"]
        connection.on_push = want.pushed
        question = connection.ask(*words)
        try:
            while True:
                left = until + self.timeout - clock()
                done, _ = await asyncio.wait([question], timeout=max(0.0, min(PROBE, left)))
                if done:
                    reply = question.result()
                    return reply and (asked, *want.granted(reply))
                if left <= PROBE:
                    raise Broken("no answer")
                await self._probe(connection.server)
        except asyncio.CancelledError:
            self._spawn(self._withdraw(connection, question, want))
            raise
        except (Broken, NoServer) as error:
            self._spawn(self._withdraw(connection, question, want))
            raise NoServer(f"{connection.server.text}: {error}") from error
        except ConclaveError:
            self._keep(connection)
            raise

    async def _probe(self, server):
        """A server that lets a client wait may be right, or may hang. Does it still answer others?"""
        probe = await Connection.open(server, self.credentials, self.timeout, self.name)
        probe.close()

    async def _withdraw(self, connection, question, want):
        """A grant that was on its way is given back: it would block its name for as long as its time to live."""
        reply = await connection.last_words(question)
        if reply:
            await self._give_back(want, want.granted(reply)[0])

    async def _give_back(self, want, fences):
        for name, fence in zip(want.names, fences if want.ttl else []):
            with contextlib.suppress(ConclaveError):
                await self.execute(want.ending, name, fence, "SECRET", self._secret)


class Want:
    """What is asked for, and how it is renewed and ended."""

    on_lost = on_askback = on_position = None

    def __init__(self, words, ending, kind, name, wait, ttl):
        """`name`: one, or a list of several."""
        if ttl < 0 or (wait is not None and wait < 0):
            raise Invalid(f"{name}: expected wait and ttl of 0 seconds or more")
        self.several = isinstance(name, list)
        self.names = name if self.several else [name]
        self.name = ", ".join(self.names)
        self.words, self.ending, self.kind = words, ending, kind
        self.wait, self.ttl = wait, ttl

    def calling(self, on_lost, on_askback, on_position):
        self.on_lost, self.on_askback, self.on_position = on_lost, on_askback, on_position
        return self

    def granted(self, reply):
        """The fences, and for how many milliseconds; of several names that is not told."""
        return (reply, 0) if self.several else (reply[:1], reply[1])

    def pushed(self, push):
        """While it waits."""
        if push[0] == "position" and push[1] in self.names and self.on_position:
            self.on_position(push[2])


class Acquisition:
    """`await` it for a Hold, or use it by `async with`."""

    def __init__(self, client, want):
        self._client, self._want = client, want
        self._hold = self._task = None
        self._cancelled = False

    def __await__(self):
        return self._client._acquire(self._want).__await__()

    async def __aenter__(self):
        self._hold = await self
        self._task = asyncio.current_task()
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
            await self._hold.release()
        except LockLost:
            if kind is None:
                raise


class Hold:
    """A lock or a leadership that is held."""

    def __init__(self, client, want, connection, asked, fences, left):
        self.name, self.fence, self.fences = want.name, fences[0], fences
        self._client, self._want, self._connection = client, want, connection
        self._ended = self._why = None  # "lost" or "released"; why it was lost
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

    # ---- what a holder asks ----

    @property
    def left(self):
        """Seconds for which it is surely held, by this process's own clock; 0 if it is not."""
        left = self.peek()
        if left <= 0 and not self._ended and self._task:
            self._lose("its time ran out")
        return left

    def peek(self):
        return 0.0 if self._ended else max(0.0, self._ends - clock())

    @property
    def held(self):
        return self.left > 0

    def check(self):
        """Raises LockLost if it is not held. The clock decides, so a process that was stopped learns it here, first."""
        if not self.held:
            raise self.loss()

    def loss(self):
        return LockLost(f"{self.name}, fence {self.fence}: {self._why or ('given back' if self._ended else 'its time ran out')}")

    def on_lost(self, callback):
        """Calls it with this hold as soon as it is lost; at once if it is lost already."""
        if self._ended == "lost":
            callback(self)
        else:
            self._callbacks.append(callback)

    async def release(self):
        """Gives it back. LockLost if it was lost before. If no server answers, it ends by itself when its time is over."""
        if self._ended == "released":
            return
        self.check()
        self._end("released", None)
        proof = ["SECRET", self._client._secret] if self._want.ttl else []
        for attempt in range(len(self._client.servers) + 1):
            try:
                if self._connection.closed and not self._want.ttl:
                    return  # it has ended with its connection
                if self._connection.closed:
                    self._connection = await self._client._connect()
                released = await self._ask_all(self._client.timeout, self._want.ending, *proof)
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

    async def _ask_all(self, patience, verb, *more):
        """The answers about each of its names."""
        questions = [self._connection.ask(verb, name, fence, *more) for name, fence in zip(self._want.names, self.fences)]
        return await asyncio.wait_for(asyncio.gather(*questions), patience)

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
            self._call(callback, self)

    def _call(self, callback, *arguments):
        try:
            callback(*arguments)
        except Exception as error:  # pylint: disable=broad-except
            self._loop.call_exception_handler({"message": f"{callback} failed", "exception": error})

    def _pushed(self, push):
        if tuple(push[1:3]) not in zip(self._want.names, self.fences):
            return
        if push[0] == "lost":
            self._lose(push[3] if len(push) > 3 else "the server says so")
        elif push[0] == "askback" and self._want.on_askback:
            self._call(self._want.on_askback, self, push[3])

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
        want, asked = self._want, clock()
        words = ["SECRET", self._client._secret, "TTL", milliseconds(want.ttl), *want.kind] if want.ttl else []
        patience = min(self._client.timeout, max(want.ttl / 8, 0.05)) if want.ttl else self._client.timeout
        try:
            if self._connection.closed:
                connection = await self._client._connect(patience)
                if self._ended:
                    self._client._keep(connection)
                    return True
                self._connection = connection
                connection.on_push, connection.on_close = self._pushed, self._broken
                asked = clock()
            answers = await self._ask_all(patience, "RENEW", *words)
            left = None if None in answers else min(answers)
        except (ConclaveError, Broken, asyncio.TimeoutError):
            left = False  # it may recover until it is asked again, or another server may answer
        if self._ended:
            return True
        if left is None:
            self._lose("the servers have given it to nobody, or to somebody else")
        elif left is False:
            if want.ttl:
                self._client._turn += 1
                self._connection.close("no answer")
        else:
            self._extend(asked, left)
        return left is not False

    async def _clean_up(self):
        """What is lost here may not be over there yet, and the next one waits for it."""
        with contextlib.suppress(ConclaveError, Broken, asyncio.TimeoutError):
            if self._want.ttl and not self._connection.closed:
                await self._ask_all(self._client.timeout, self._want.ending, "SECRET", self._client._secret)
        self._connection.close("lost")


class Observation:
    """Leaders as they change. If the server is lost or hangs, it goes on with another one."""

    def __init__(self, client, name, first, again, push):
        self.name = name
        self._client = client
        self._first, self._again, self._push = first, again, push
        self._news = asyncio.Queue()
        self._task = None
        self._last = ()

    def __aiter__(self):
        if not self._task:
            self._task = self._client._spawn(self._watch())
        return self

    async def __anext__(self):
        leader = await self.__aiter__()._news.get()
        if leader is END:
            self._news.put_nowait(END)
            raise StopAsyncIteration
        return leader

    async def __aenter__(self):
        return self.__aiter__()

    async def __aexit__(self, *_):
        self.close()

    def close(self):
        if self._task:
            self._task.cancel()

    def _see(self, leader):
        if leader != self._last:
            self._last = leader
            self._news.put_nowait(leader)

    def _pushed(self, push):
        if push[0] == self._push and push[1] == self.name:
            self._see(Leader([push[2], push[3], None, *push[4:]]) if push[2] else None)

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
            verb = self._first
            while True:
                reply = await asyncio.wait_for(connection.ask(verb, self.name), self._client.timeout)
                self._see(reply and Leader(reply))
                verb = self._again
                await asyncio.sleep(LOOK_AGAIN)
        finally:
            connection.close()


def text(name):
    encoded = str(name).encode("utf-8", "surrogateescape")
    if not 1 <= len(encoded) <= 512 or any(byte < 32 or byte == 127 for byte in encoded):
        raise Invalid("a name has 1 to 512 bytes and no control characters")
    return str(name)


def milliseconds(seconds):
    return max(0, round(seconds * 1000))
