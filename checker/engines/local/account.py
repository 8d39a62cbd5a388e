"""The memory of a search: what it has, what it may have, and files that stand in for it."""

from __future__ import annotations

import ctypes
import mmap
import threading
from typing import Final

import numpy as np

from isrcheck.checker.kernel.layout import Words

LINE: Final = 64
HUGE_PAGE: Final = 1 << 21
HUGE_PAGES: Final = 1 << 22
"""Bytes of a huge page, and from how many on an array has such pages, or if it is as large as some. Where somebody
reads here and there, the processor finds sooner where that is."""
OWN_PAGES: Final = 1 << 17
"""From so many bytes on an array has pages of its own, which go back to the system with it. The C library would keep
what tables leave behind as they grow: up to 280 MB were missing there, for which `held` did not account."""


def return_free_memory() -> None:
    """What the C library keeps goes back to the system: a compiler leaves some forty megabytes behind."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc alone has it
    if trim is not None:
        trim(0)


class OutOfMemory(Exception):
    """The next growth would pass the limit, or the system has no more memory."""


class Account:
    """`held` and `peak` bytes of memory, of `limit` at most; several threads may ask for some."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.held = self.peak = 0
        self._lock = threading.Lock()

    def take(self, size: int) -> None:
        """So many bytes more; `OutOfMemory` where that would pass the limit."""
        with self._lock:
            if self.limit is not None and self.held + size > self.limit:
                raise OutOfMemory
            self.held += size
            self.peak = max(self.peak, self.held)

    def give_back(self, size: int) -> None:
        """So many bytes are free again."""
        with self._lock:
            self.held -= size

    def allocate(self, size: int) -> Words:
        """So many bytes of zeros or a few more, which begin at a cache line."""
        size += -size % LINE
        self.take(size + (LINE if size < OWN_PAGES else 0))
        if size >= OWN_PAGES:
            return self.reserve(size)
        try:
            array = np.zeros((size + LINE) // 8, dtype=np.uint64)
        except MemoryError as error:
            raise OutOfMemory from error
        first = -array.ctypes.data % LINE // 8
        return array[first : first + size // 8]

    def reserve(self, size: int) -> Words:
        """So many bytes of zeros that are in memory when something is written near them; they are not taken."""
        try:
            memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            if hasattr(mmap, "MADV_HUGEPAGE") and (size >= HUGE_PAGES or size % HUGE_PAGE == 0):
                memory.madvise(mmap.MADV_HUGEPAGE)
            return np.frombuffer(memory, dtype=np.uint64)
        except (MemoryError, OSError) as error:
            raise OutOfMemory from error

    def free(self, array: Words) -> None:
        """Memory that was allocated and is not used any more; it goes with the array."""
        self.give_back(array.nbytes + (LINE if array.nbytes < OWN_PAGES else 0))
