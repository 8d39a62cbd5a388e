"""Arrays to which numbers can be appended. A question about a large state space needs such arrays."""

from __future__ import annotations

import mmap
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from isrcheck.checker.liveness.region import Allowance

NUMBERS: Final = (np.uint32, np.uint64)
LABELS: Final = (np.uint16, np.uint32)
"""The integer types of state numbers (`NUMBERS`), and of instances and levels (`LABELS`). There are only a few, because
each loop is compiled once for each combination of types."""
GROWTH: Final = 16
"""If an array is full, it gets the memory that it needs and a sixteenth more."""


class Growing:
    """An array to which numbers can be appended. Its memory goes back to the system when the array is no longer used.

    If the system can move pages (Linux), the array grows without a copy. Copies would double the memory that a question
    takes. Ordinary arrays would double it too, because the C library may keep their memory after use.
    """

    def __init__(self, kind: npt.DTypeLike, allowance: Allowance) -> None:
        self.kind, self.count = np.dtype(kind), 0
        self._memory, self._allowance = _anonymous(mmap.PAGESIZE), allowance

    def add(self, more: npt.NDArray[Any]) -> None:
        """Adds numbers at the end. Raises `NotAllowed` if this takes too much memory, or if the time is over."""
        self._allowance.take(more.size * self.kind.itemsize)
        end = (self.count + more.size) * self.kind.itemsize
        if end > len(self._memory):
            self._resize(end + end // GROWTH)
        np.frombuffer(self._memory, self.kind)[self.count : self.count + more.size] = more.reshape(-1)
        self.count += more.size

    def fitting(self, most: int, *kinds: type[np.generic]) -> Growing:
        """This array if its type can hold `most`, else a copy in the first type of `kinds` that can hold `most`."""
        kind = np.dtype(narrowest(most, *kinds))
        if kind.itemsize <= self.kind.itemsize:
            return self
        other = Growing(kind, self._allowance)
        other.add(self.whole())
        return other

    def whole(self) -> npt.NDArray[Any]:
        """The whole array. After this call, nothing may be added to it."""
        return np.frombuffer(self._memory, self.kind)[: self.count]

    def _resize(self, size: int) -> None:
        size += -size % mmap.PAGESIZE
        try:
            self._memory.resize(size)
        except SystemError:  # the system cannot resize memory here
            old, self._memory = self._memory, _anonymous(size)
            self._memory[: len(old)] = old[:]


def _anonymous(size: int) -> mmap.mmap:
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def narrowest(most: int, *kinds: type[np.generic]) -> type[np.generic]:
    """The first of these types that can hold the number `most`."""
    return next(kind for kind in kinds if most < 1 << 8 * np.dtype(kind).itemsize)
