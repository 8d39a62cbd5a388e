"""A proxy before one node of a cluster: passes on the requests of clients, and can delay requests of some kinds.

The kind of a request is read from its header: the length (4 bytes), the API key and the API version (2 bytes each), the
correlation id (4 bytes), and the client's id (2 bytes of length, then its characters).
https://kafka.apache.org/protocol#protocol_messages
"""

from __future__ import annotations

import asyncio
import math
import threading
from asyncio import StreamReader, StreamWriter
from typing import Final, NamedTuple

FETCH: Final = 1
ALTER_PARTITION: Final = 56
_CHUNK: Final = 1 << 16


class Kind(NamedTuple):
    """A kind of request: those of one client to one API."""

    client: str
    api: int

    @staticmethod
    def of(frame: bytes) -> Kind:
        """The kind of a request. `frame` is the request after its length."""
        length = int.from_bytes(frame[8:10], "big", signed=True)
        return Kind(frame[10 : 10 + max(length, 0)].decode(), int.from_bytes(frame[:2], "big"))


class Waiting(NamedTuple):
    """A request that is held back: its kind, its connection, and the event that ends its wait."""

    kind: Kind
    reader: StreamReader
    goes: asyncio.Event


class Proxy:
    """Listens at `port` and passes requests on to port `target` of 127.0.0.1, in a thread of its own, until `close`."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.late: dict[Kind, float] = {}
        self.kept: list[Waiting] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        started = asyncio.run_coroutine_threadsafe(asyncio.start_server(self._connected, "127.0.0.1", 0), self._loop)
        self._server = started.result()
        self.port: int = self._server.sockets[0].getsockname()[1]

    def delay(self, kind: Kind, seconds: float) -> None:
        """Delays all later requests of a kind by this time."""
        self._loop.call_soon_threadsafe(self.late.__setitem__, kind, seconds)

    def hold(self, kind: Kind) -> None:
        """Holds back all later requests of a kind until they are released. Earlier requests are still answered."""
        self.delay(kind, math.inf)

    def waiting(self, kind: Kind) -> int:
        """The number of requests of a kind that are held back, without those of clients that have disconnected."""
        return asyncio.run_coroutine_threadsafe(self._count(kind), self._loop).result()

    def let_one_through(self, kind: Kind) -> None:
        """Passes on the first held request of a kind. The others still wait."""
        self._loop.call_soon_threadsafe(self._let_one_through, kind)

    def release(self, kind: Kind) -> None:
        """Passes on all held requests of a kind, and ends its delay."""
        self._loop.call_soon_threadsafe(self.late.pop, kind, None)
        self._loop.call_soon_threadsafe(self._let_all_through, kind)

    def close(self) -> None:
        """Ends all connections."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # --- in the thread ----------------------------------------------------------------------------------------------

    def _waiting(self, kind: Kind) -> list[Waiting]:
        return [x for x in self.kept if x.kind == kind and not x.reader.at_eof() and not x.goes.is_set()]

    async def _count(self, kind: Kind) -> int:
        return len(self._waiting(kind))

    def _let_one_through(self, kind: Kind) -> None:
        for each in self._waiting(kind)[:1]:
            each.goes.set()

    def _let_all_through(self, kind: Kind) -> None:
        for each in self._waiting(kind):
            each.goes.set()

    async def _end(self) -> None:
        self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _connected(self, reader: StreamReader, writer: StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        both = [writer]
        try:
            back, on = await asyncio.open_connection("127.0.0.1", self.target)
            both.append(on)
            ways = [asyncio.ensure_future(x) for x in (self._requests(reader, on), _answers(back, writer))]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        except (OSError, asyncio.CancelledError):
            pass  # the server is not reachable, or the proxy is closed
        finally:
            for each in both:
                each.close()
            self._tasks.discard(task)

    async def _requests(self, reader: StreamReader, on: StreamWriter) -> None:
        while True:
            length = await reader.readexactly(4)
            frame = await reader.readexactly(int.from_bytes(length, "big"))
            kind = Kind.of(frame)
            if kind in self.late:
                await self._kept_back(kind, reader)
            on.write(length + frame)
            await on.drain()

    async def _kept_back(self, kind: Kind, reader: StreamReader) -> None:
        one, seconds = Waiting(kind, reader, asyncio.Event()), self.late[kind]
        self.kept.append(one)
        try:
            await asyncio.wait_for(one.goes.wait(), None if seconds == math.inf else seconds)
        except TimeoutError:
            pass
        finally:
            self.kept.remove(one)


async def _answers(back: StreamReader, writer: StreamWriter) -> None:
    while data := await back.read(_CHUNK):
        writer.write(data)
        await writer.drain()
