"""A run is a part of a file. It has distinct ids of states in ascending order. (An id is a 64-bit number, see `ids`.) A
run consists of pieces. Each piece has the differences between successive ids, most of them in one, two or four bytes.

A file for runs that is kept in memory. The file on disk for the same purpose is `runs.File`.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from isrcheck.checker.engines.explicit import run_loops as loops
from isrcheck.checker.engines.explicit.memory_account import Account
from isrcheck.checker.engines.explicit.run_loops import CHUNK, CHUNK_BITS, LARGEST, PIECE
from isrcheck.checker.kernel.layout import Integers, Words

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.uint8]
TOGETHER: Final = loops.TOGETHER * PIECE
"""How many ids are read or written at once."""


class Pieces(NamedTuple):
    """The index of some pieces, as columns in memory.

    For each piece, the columns have its first id, its place in the file, how many bytes it takes there, and how many
    ids it has.
    """

    first: Words = np.empty(0, dtype=np.uint64)
    place: Integers = np.empty(0, dtype=np.int64)
    size: Integers = np.empty(0, dtype=np.int64)
    ids: Integers = np.empty(0, dtype=np.int64)

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self)

    def between(self, begin: int, end: int) -> Pieces:
        some = slice(begin, end)
        return Pieces(self.first[some], self.place[some], self.size[some], self.ids[some])


def joined(parts: Sequence[Pieces]) -> Pieces:
    """The pieces of several runs in one index, one run after another."""
    return Pieces(
        np.concatenate([part.first for part in parts]),
        np.concatenate([part.place for part in parts]),
        np.concatenate([part.size for part in parts]),
        np.concatenate([part.ids for part in parts]),
    )


def encoded(ids: Words) -> tuple[Bytes, Pieces]:
    """Encodes distinct ascending ids for a file.

    Returns the bytes of the pieces that have these ids, and the index of these pieces. The places in the index are
    positions in these bytes.
    """
    begins = np.arange(0, len(ids), PIECE)
    firsts, sizes = np.empty(len(begins), dtype=np.uint64), np.empty(len(begins), dtype=np.int64)
    out = np.empty(LARGEST * len(ids) + 8 * len(begins), dtype=np.uint8)
    data = out[: loops.encoded(ids, firsts, sizes, out)].copy()
    return data, Pieces(firsts, np.cumsum(sizes) - sizes, sizes, np.minimum(len(ids) - begins, PIECE))


class RunFile(Protocol):
    """A file that has runs, on disk or in memory.

    For a file in memory, `bases` has the addresses of its chunks, and `number` is -1. For a file on disk, `bases` is
    empty, and `number` is the file descriptor.
    """

    number: int
    bases: Words
    size: int

    def write(self, data: Bytes) -> int: ...

    def read(self, first: int, size: int) -> Bytes: ...

    def unreadable(self) -> OSError: ...

    def clear(self) -> None: ...


class File:
    """A file without an entry in its folder. So nothing is left behind, however the process ends."""

    bases: Words = np.empty(0, dtype=np.uint64)

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.number, name = tempfile.mkstemp(prefix="isrcheck-", dir=folder)
        weakref.finalize(self, os.close, self.number)
        os.unlink(name)
        self.size = 0

    def write(self, data: Bytes) -> int:
        """Writes bytes. Returns their position in the file. Raises OSError if the disk is full."""
        view, first = data.data, self.size
        try:
            while view:
                view = view[os.pwrite(self.number, view, self.size + data.nbytes - len(view)) :]
        except OSError as error:
            what = f"{error.strerror}: no more states can be stored here; choose another folder with --store-folder"
            raise OSError(error.errno, what, self.folder) from None
        self.size += data.nbytes
        return first

    def read(self, first: int, size: int) -> Bytes:
        """Reads `size` bytes from a position on."""
        data = np.empty(size, dtype=np.uint8)
        if os.preadv(self.number, [data.data], first) != data.nbytes:
            raise self.unreadable()
        return data

    def unreadable(self) -> OSError:
        return OSError(None, "cannot read the states stored here", self.folder)

    def clear(self) -> None:
        """Empties the file."""
        self.size = 0
        os.ftruncate(self.number, 0)


class Run:
    """Distinct ids in ascending order, in successive pieces of a file."""

    def __init__(self, file: RunFile, account: Account) -> None:
        self.file, self._account = file, account
        self.count = 0
        self.pieces = Pieces()

    @property
    def firsts(self) -> Words:
        """The first id of each piece."""
        return self.pieces.first

    def add(self, ids: Words) -> None:
        """Adds distinct ascending ids, greater than all ids in the run.

        The pieces of a run must lie one after another. So nothing else may write to the file until the run is complete.
        """
        for first in range(0, len(ids), TOGETHER):
            self.append(*encoded(ids[first : first + TOGETHER]))

    def append(self, data: Bytes, pieces: Pieces) -> None:
        """Adds the bytes and the index of some pieces, as `encoded` returns them."""
        more = pieces._replace(place=self.file.write(data) + pieces.place)
        self._account.take(more.nbytes)
        self.pieces = joined([self.pieces, more])
        self.count += int(more.ids.sum())

    def blocks(self, largest: int) -> Iterator[Words]:
        """Yields all ids in order, in arrays of whole pieces. An array has at most `largest` ids, or one piece."""
        some = max(largest // PIECE, 1)
        for first in range(0, len(self.firsts), some):
            yield self._ids(self.pieces.between(first, first + some))

    def between(self, low: int, high: int | None) -> Words:
        """The ids that are at least `low` and, unless `high` is None, below `high`."""
        ids = self._ids(self._around(low, high))
        end = len(ids) if high is None else np.searchsorted(ids, np.uint64(high))
        return ids[np.searchsorted(ids, np.uint64(low)) : end]

    def forget(self) -> None:
        """Empties the run, and frees the memory of its index."""
        self._account.give_back(self.pieces.nbytes)
        self.pieces, self.count = Pieces(), 0

    def _around(self, low: int, high: int | None) -> Pieces:
        """The pieces that may have ids in the range of `between`."""
        firsts = self.firsts
        begin = max(int(np.searchsorted(firsts, np.uint64(low), side="right")) - 1, 0)
        end = len(firsts) if high is None else int(np.searchsorted(firsts, np.uint64(high)))
        return self.pieces.between(begin, end)

    def _ids(self, pieces: Pieces) -> Words:
        ids = np.empty(int(pieces.ids.sum()), dtype=np.uint64)
        if len(ids):
            loops.decoded(self._read(pieces), pieces.first, pieces.size, pieces.ids, ids)
        return ids

    def _read(self, pieces: Pieces) -> Bytes:
        """Reads some successive pieces from the file."""
        return self.file.read(int(pieces.place[0]), int(pieces.size.sum()))


class Known:
    """The ids of several runs in the same file."""

    def __init__(self, file: RunFile, runs: Sequence[Run]) -> None:
        self._file, self._bases = file, file.bases
        self._pieces = joined([run.pieces for run in runs]) if runs else Pieces()
        self._ends = np.cumsum([len(run.pieces.first) for run in runs], dtype=np.int64)

    def strike(self, ids: Words, kept: Flags) -> int:
        """Sets the entry in `kept` to 0 for each of the ascending `ids` that is in one of the runs.

        Returns how many ids were read from the runs.
        """
        if not len(ids):
            return 0
        buffer = np.empty(LARGEST * TOGETHER + 8 * loops.TOGETHER, dtype=np.uint8)
        passed: int = loops.struck(self._file.number, self._bases, self._ends, self._pieces, ids, kept, buffer)
        if passed < 0:
            raise self._file.unreadable()
        return passed


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
