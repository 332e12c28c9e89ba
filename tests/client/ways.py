# SPDX-License-Identifier: MIT
"""The ways from a program to the servers: each can be cut, fall silent, or refuse connections."""

import asyncio
import os
import tempfile
import threading


class Loop:
    """One thread carries the bytes of all ways."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(60)


class Way:
    """From an address of its own to a server's socket."""

    def __init__(self, target):
        self.target = target
        self.writers = set()
        self.refuses = False
        self.passes = asyncio.Event()
        self.passes.set()
        self.server = None

    async def listen(self, path):
        if path:
            self.server = await asyncio.start_unix_server(self.carry, path)
            return path
        self.server = await asyncio.start_server(self.carry, "127.0.0.1", 0)
        return "127.0.0.1:%d" % self.server.sockets[0].getsockname()[1]

    async def carry(self, reader, writer):
        self.writers.add(writer)
        try:
            if self.refuses:
                return
            await self.passes.wait()
            far_reader, far_writer = await asyncio.open_unix_connection(self.target)
            self.writers.add(far_writer)
            try:
                await asyncio.gather(self.pump(reader, far_writer), self.pump(far_reader, writer))
            finally:
                self.writers.discard(far_writer)
                far_writer.transport.abort()
        except OSError:
            pass
        finally:
            self.writers.discard(writer)
            writer.transport.abort()

    async def pump(self, reader, writer):
        while data := await reader.read(65536):
            await self.passes.wait()
            writer.write(data)
            await writer.drain()
        await self.passes.wait()
        if writer.can_write_eof():
            writer.write_eof()

    def cut(self):
        for writer in list(self.writers):
            writer.transport.abort()


class Ways:
    """One to each server, in this order; by Unix sockets or by TCP."""

    carrier = None

    def __init__(self, targets, unix):
        Ways.carrier = Ways.carrier or Loop()
        self.directory = tempfile.TemporaryDirectory(prefix="conclave-test-")
        self.ways = [self.do(self.make(target)) for target in targets]
        self.addresses = [self.do(way.listen(f"{self.directory.name}/{index}" if unix else None))
                          for index, way in enumerate(self.ways, 1)]
        self.order = [int("".join(filter(str.isdigit, os.path.basename(target)))) for target in targets]

    def do(self, coroutine):
        return self.carrier.run(coroutine)

    async def make(self, target):
        return Way(target)

    def some(self, server):
        return [way for way, index in zip(self.ways, self.order) if server in (None, index)]

    def set(self, server, change):
        async def all_at_once():
            for way in self.some(server):
                change(way)
        self.do(all_at_once())

    def cut(self, server=None):
        self.set(server, Way.cut)

    def mute(self, server=None):
        self.set(server, lambda way: way.passes.clear())

    def refuse(self, server=None):
        def change(way):
            way.refuses = True
            way.cut()
        self.set(server, change)

    def heal(self, server=None):
        def change(way):
            way.refuses = False
            way.passes.set()
        self.set(server, change)

    def end(self):
        self.set(None, lambda way: way.server.close())
        self.cut()
        self.directory.cleanup()
