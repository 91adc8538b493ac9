"""A TCP proxy that can be slow, silent, rude or half deaf: faults of the network without root.

All proxies share one thread with an event loop. A rule holds for every connection, or for those of chosen processes.
Bytes are never altered or left out: what a rule holds back comes later, or its connection is reset.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import psutil

BLOCK = 64 * 1024
CONNECT_S = 2.0


@dataclass(frozen=True)
class Rule:
    """What happens to connections: the default passes everything at once.

    `hold_requests` and `hold_answers` keep bytes of one direction back; `cut_after` resets a connection once so many
    more bytes of requests have passed; `reset` ends every connection, also new ones; `pids` are the processes that the
    rule is for, None for all.
    """

    latency_s: float = 0.0
    hold_requests: bool = False
    hold_answers: bool = False
    cut_after: int | None = None
    reset: bool = False
    pids: frozenset[int] | None = None


PASS = Rule()


class Proxy:
    """Listens on a free port and passes connections on to `upstream` (host, port), which may change."""

    def __init__(self, upstream: tuple[str, int], host: str = "127.0.0.1", port: int = 0) -> None:
        self.upstream = upstream
        self.rule = PASS
        self._connections: set[_Connection] = set()
        self._changed = asyncio.Event()
        self._loop = _loop()
        self._listener = socket.create_server((host, port), backlog=256)
        self.address = "{}:{}".format(*self._listener.getsockname()[:2])
        self._server = self._run(asyncio.start_server(self._accept, sock=self._listener))

    def set(self, rule: Rule) -> None:
        """Let the rule hold from now on, for connections that are open too."""
        self._run(self._set(rule))

    def point_to(self, upstream: tuple[str, int]) -> None:
        """Pass new connections on to another place, and reset those that are open."""
        self.upstream = upstream
        rule = self.rule
        self.set(Rule(reset=True))
        self.set(rule)

    def close(self) -> None:
        """Stop listening, and reset what is open."""
        self._run(self._close())

    def applies(self, connection: _Connection) -> bool:
        """Is the rule for this connection?"""
        return self.rule.pids is None or connection.port in _ports_of(self.rule.pids)

    async def changed(self) -> None:
        """Wait until there is another rule."""
        await self._changed.wait()

    def _run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(10)

    async def _close(self) -> None:
        self._server.close()  # by the loop's own thread: it tells those that wait for the end, once
        await self._set(Rule(reset=True))

    async def _set(self, rule: Rule) -> None:
        self.rule = rule
        self._changed.set()
        self._changed = asyncio.Event()
        for connection in list(self._connections):
            connection.apply(rule if self.applies(connection) else PASS)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = _Connection(self, reader, writer)
        connection.apply(self.rule if self.applies(connection) else PASS)
        self._connections.add(connection)
        try:
            await connection.run()
        finally:
            self._connections.discard(connection)


class _Connection:
    """A client's connection and the one to the server that answers it."""

    def __init__(self, proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.proxy, self.reader, self.writer = proxy, reader, writer
        self.port = writer.get_extra_info("peername")[1]
        self.writers = [writer]
        self.rule = PASS
        self.left: int | None = None

    def apply(self, rule: Rule) -> None:
        self.rule, self.left = rule, rule.cut_after
        if rule.reset:
            self.reset()

    def reset(self) -> None:
        """RST on both sides."""
        for writer in self.writers:
            with contextlib.suppress(OSError, AttributeError):
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

    async def run(self) -> None:
        try:
            opened = asyncio.open_connection(*self.proxy.upstream)
            reader, writer = await asyncio.wait_for(opened, CONNECT_S)
        except (OSError, TimeoutError):
            self.reset()
            return
        self.writers.append(writer)
        if self.rule.reset or self.writer.transport.is_closing():
            self.reset()
        pumps = [asyncio.create_task(self._pump(self.reader, writer, True)),
                 asyncio.create_task(self._pump(reader, self.writer, False))]
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        for pump in pumps:
            pump.cancel()
        for each in self.writers:
            each.close()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, requests: bool) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(BLOCK):
                if self.rule.latency_s:
                    await asyncio.sleep(self.rule.latency_s)
                while self.rule.hold_requests if requests else self.rule.hold_answers:
                    await self.proxy.changed()
                if requests and self.left is not None:
                    if self.left < len(data):
                        writer.write(data[:self.left])
                        await writer.drain()
                        self.reset()
                        return
                    self.left -= len(data)
                writer.write(data)
                await writer.drain()


def _ports_of(pids: Iterable[int]) -> set[int]:
    """The local ports of these processes' TCP connections."""
    ports: set[int] = set()
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            ports |= {connection.laddr.port for connection in psutil.Process(pid).net_connections("tcp")}
    return ports


@lru_cache(maxsize=1)
def _loop() -> asyncio.AbstractEventLoop:
    """The one event loop of all proxies, in a thread of its own."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="proxies", daemon=True).start()
    return loop
