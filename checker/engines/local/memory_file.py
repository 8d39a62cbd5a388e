"""A file for runs that is kept in memory. The file on disk for the same purpose is `runs.File`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from isrcheck.checker.engines.local.account import Account
from isrcheck.checker.engines.local.run_loops import CHUNK, CHUNK_BITS
from isrcheck.checker.engines.local.runs import Bytes
from isrcheck.checker.kernel.layout import Words


class MemoryFile:
    """Successive chunks of memory. No byte ever moves, so other threads may read while more is written.

    `bases` are the addresses of the chunks.
    """

    number = -1

    def __init__(self, account: Account) -> None:
        self._account = account
        self._chunks: list[Words] = []
        self.bases = np.empty(0, dtype=np.uint64)
        self.size = 0

    def write(self, data: Bytes) -> int:
        """Writes bytes. Returns their position in the file. Raises `OutOfMemory` at the limit of memory."""
        first, end = self.size, self.size + data.nbytes
        while len(self._chunks) << CHUNK_BITS < end:
            self._chunks.append(self._account.present(CHUNK))
            self.bases = np.array([chunk.ctypes.data for chunk in self._chunks], dtype=np.uint64)
        done = 0
        for place in self._places(first, len(data)):
            place[:] = data[done : done + len(place)]
            done += len(place)
        self.size = end
        return first

    def read(self, first: int, size: int) -> Bytes:
        """Reads `size` bytes from a position on."""
        return np.concatenate([*self._places(first, size), np.empty(0, dtype=np.uint8)])

    def _places(self, first: int, size: int) -> Iterator[Bytes]:
        """The memory of `size` bytes from a position on, chunk by chunk."""
        while size:
            chunk = self._chunks[first >> CHUNK_BITS].view(np.uint8)
            begin = first & (CHUNK - 1)
            some = chunk[begin : begin + size]
            yield some
            first, size = first + some.nbytes, size - len(some)

    def unreadable(self) -> OSError:
        return OSError(None, "states in memory cannot be read")

    def clear(self) -> None:
        """Empties the file."""
        for chunk in self._chunks:
            self._account.free(chunk)
        self._chunks, self.bases, self.size = [], np.empty(0, dtype=np.uint64), 0
