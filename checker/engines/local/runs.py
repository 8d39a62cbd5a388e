"""Runs: distinct names in ascending order in a file, stored as differences of two bytes each or a few more."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from isrcheck.checker.engines.local import run_loops as loops
from isrcheck.checker.engines.local.account import Account
from isrcheck.checker.engines.local.run_loops import LARGEST, PIECE
from isrcheck.checker.kernel.layout import Words

Short = npt.NDArray[np.uint16]
"""The numbers in a file."""
Flags = npt.NDArray[np.uint8]
TOGETHER: Final = 16 * PIECE
"""How many names are read or written at once."""
PIECES: Final = np.dtype(
    [("first", np.uint64), ("place", np.int64), ("size", np.int32), ("count", np.int32), ("unit", np.uint8)]
)
"""The data of a piece in memory: its first name, where it begins in the file, how many numbers it has there and how
many names, and how many numbers a difference takes (`run_loops`)."""


class File:
    """A file without an entry in its folder: whatever happens, nothing is left behind."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._number, name = tempfile.mkstemp(prefix="isrcheck-", dir=folder)
        weakref.finalize(self, os.close, self._number)
        os.unlink(name)
        self.size = 0

    def write(self, data: Short) -> int:
        """Writes numbers. Returns their position in the file. Raises OSError if the disk is full."""
        view, first = data.data.cast("B"), self.size
        try:
            while view:
                view = view[os.pwrite(self._number, view, self.size + data.nbytes - len(view)) :]
        except OSError as error:
            what = f"{error.strerror}: no more states can be kept here; --store-folder names another place"
            raise OSError(error.errno, what, self._folder) from None
        self.size += data.nbytes
        return first

    def read(self, first: int, size: int) -> Short:
        """Reads this many numbers."""
        data = np.empty(size, dtype=np.uint16)
        if os.preadv(self._number, [data.data.cast("B")], first) != data.nbytes:
            raise OSError(None, "states that were kept here cannot be read", self._folder)
        return data

    def clear(self) -> None:
        """Empties the file."""
        self.size = 0
        os.ftruncate(self._number, 0)


class Run:
    """Distinct names in ascending order, in successive pieces of a file."""

    def __init__(self, file: File, account: Account) -> None:
        self._file, self._account = file, account
        self.count = 0
        self._pieces = np.empty(0, dtype=PIECES)

    @property
    def firsts(self) -> Words:
        """The first name of each piece."""
        return np.ascontiguousarray(self._pieces["first"])

    def add(self, names: Words) -> None:
        """Adds distinct ascending names, greater than all names in the run. Nothing else may write to the file."""
        for first in range(0, len(names), TOGETHER):
            some = names[first : first + TOGETHER]
            pieces = np.empty(-(-len(some) // PIECE), dtype=PIECES)
            firsts, sizes = np.empty(len(pieces), dtype=np.uint64), np.empty(len(pieces), dtype=np.int64)
            units, out = np.empty(len(pieces), dtype=np.uint8), np.empty(LARGEST * len(some), dtype=np.uint16)
            place = self._file.write(out[: loops.encoded(some, firsts, sizes, units, out)])
            pieces["first"], pieces["size"], pieces["unit"] = firsts, sizes, units
            pieces["place"], pieces["count"] = place + 2 * (np.cumsum(sizes) - sizes), PIECE
            pieces["count"][-1] = len(some) - PIECE * (len(pieces) - 1)
            self._account.take(pieces.nbytes)
            self._pieces = np.concatenate([self._pieces, pieces])
            self.count += len(some)

    def blocks(self, largest: int) -> Iterator[Words]:
        """All names in order, at most `largest` or one piece at a time."""
        some = max(largest // PIECE, 1)
        for first in range(0, len(self._pieces), some):
            yield self._names(self._pieces[first : first + some])

    def between(self, low: int, high: int | None) -> Words:
        """The names from `low` on and below `high`."""
        names = self._names(self._around(low, high))
        end = len(names) if high is None else np.searchsorted(names, np.uint64(high))
        return names[np.searchsorted(names, np.uint64(low)) : end]

    def strike(self, names: Words, kept: Flags) -> None:
        """Sets `kept` to 0 for each of some ascending names that is in the run."""
        pieces = self._around(int(names[0]), int(names[-1]) + 1)
        for begin in range(0, len(pieces), TOGETHER // PIECE):
            some = pieces[begin : begin + TOGETHER // PIECE]
            data, first, unit, count = self._read(some)
            loops.struck(data, first, np.ascontiguousarray(some["size"]), unit, count, names, kept)

    def forget(self) -> None:
        """Removes its pieces from memory."""
        self._account.give_back(self._pieces.nbytes)
        self._pieces, self.count = np.empty(0, dtype=PIECES), 0

    def _around(self, low: int, high: int | None) -> npt.NDArray[np.void]:
        """The pieces that may have names from `low` on and below `high`."""
        firsts = self._pieces["first"]
        begin = max(int(np.searchsorted(firsts, np.uint64(low), side="right")) - 1, 0)
        end = len(firsts) if high is None else int(np.searchsorted(firsts, np.uint64(high)))
        return self._pieces[begin:end]

    def _names(self, pieces: npt.NDArray[np.void]) -> Words:
        names = np.empty(int(pieces["count"].sum()), dtype=np.uint64)
        if len(names):
            loops.decoded(*self._read(pieces), names)
        return names

    def _read(self, pieces: npt.NDArray[np.void]) -> tuple[Short, Words, Flags, npt.NDArray[np.int32]]:
        """The numbers of some pieces in the file, and their first names, units and counts."""
        data = self._file.read(int(pieces["place"][0]), int(pieces["size"].sum()))
        first, unit, count = (np.ascontiguousarray(pieces[name]) for name in ("first", "unit", "count"))
        return data, first, unit, count
