"""The memory that a search uses, and the limit on it."""

from __future__ import annotations

import ctypes
import mmap
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import numpy as np

from isrcheck.checker.kernel.layout import Words

LINE: Final = 64
"""The bytes of a cache line."""
HUGE_PAGE: Final = 1 << 21
HUGE_PAGES: Final = 1 << 22
"""On Linux, `Account.reserve` asks for huge pages, of `HUGE_PAGE` bytes each, for an array of at least this many bytes
and for an array that fills huge pages exactly. With huge pages the processor finds scattered addresses faster."""
POPULATE_WRITE: Final = 23
"""Linux's `MADV_POPULATE_WRITE`, which Python does not name."""
OWN_PAGES: Final = 1 << 14
"""An array of at least this many bytes has memory pages of its own, so the system gets the pages back when the array is
deleted. Otherwise the C library would keep memory that growing tables have freed (up to 280 MB), and `Account.held`
would not count this memory. (With 1 << 17 here, the C library kept 12 MiB in a search with a limit of 24 MiB.)"""
MANY: Final = 1 << 16
"""A search with fewer states does not call `return_free_memory`. This call takes milliseconds, about as long as the
expansion of so many states."""


def return_free_memory() -> None:
    """Makes glibc return its unused memory to the system (about 40 MB after compiling). Does nothing without glibc."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # only glibc has it
    if trim is not None:
        trim(0)


class OutOfMemory(Exception):
    """The search needs more memory than the limit or the system allows, or a table has its largest possible size."""


class Account:
    """Counts the bytes in use (`held`), and their greatest number so far (`peak`). Several threads may use one account.

    `limit` is the most bytes that may be in use; None is no limit. `spare` is None, or a function that frees
    dispensable memory. When the limit would be passed, `take` calls this function once, and tries again.
    """

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.held = self.peak = 0
        self.spare: Callable[[], None] | None = None
        self._lock = threading.Lock()

    def take(self, size: int) -> None:
        """Adds this many bytes. Raises `OutOfMemory` if that would pass the limit."""
        while not self.took(size):
            with self._lock:
                spare, self.spare = self.spare, None
            if spare is None:
                raise OutOfMemory
            spare()

    def took(self, size: int) -> bool:
        """Adds this many bytes, unless that would pass the limit. Returns whether they were added."""
        with self._lock:
            if self.limit is not None and self.held + size > self.limit:
                return False
            self.held += size
            self.peak = max(self.peak, self.held)
            return True

    def give_back(self, size: int) -> None:
        """Subtracts this many bytes, which are no longer in use."""
        with self._lock:
            self.held -= size

    def allocate(self, size: int) -> Words:
        """An array of zeros with at least this many bytes, which begins at a cache line."""
        size += -size % LINE
        if size >= OWN_PAGES:
            return self._counted(size)
        self.take(size + LINE)
        array = np.zeros((size + LINE) // 8, dtype=np.uint64)
        first = -array.ctypes.data % LINE // 8
        return array[first : first + size // 8]

    def present(self, size: int) -> Words:
        """An array of `size` zero bytes, with all pages in memory from the beginning.

        `size` is a multiple of the page size. Filling this array takes half as long as filling an array from
        `allocate`, because the processor does not stop at each new page. Outside Linux, and before Linux 5.14, pages
        come into memory only when they are written.
        """
        return self._counted(size, present=True)

    def _counted(self, size: int, present: bool = False) -> Words:
        self.take(size)
        try:
            return self.reserve(size, present=present)
        except OutOfMemory:
            self.give_back(size)
            raise

    def reserve(self, size: int, more: int = 0, present: bool = False) -> Words:
        """Returns an array of `size` zero bytes, without counting them.

        Only pages that are written use memory, unless all of them shall be `present`. `more` are further flags of
        `mmap`.
        """
        try:
            memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | more)
            if hasattr(mmap, "MADV_HUGEPAGE") and (size >= HUGE_PAGES or size % HUGE_PAGE == 0):
                memory.madvise(mmap.MADV_HUGEPAGE)
            if present and sys.platform == "linux":
                with suppress(OSError):
                    memory.madvise(POPULATE_WRITE)  # not MAP_POPULATE, which knows nothing of huge pages yet
            return np.frombuffer(memory, dtype=np.uint64)
        except (MemoryError, OSError) as error:
            raise OutOfMemory from error

    def free(self, array: Words) -> None:
        """Stops counting the bytes of an array from `allocate` or `present`. The array must not be used afterwards."""
        self.give_back(array.nbytes + (LINE if array.nbytes < OWN_PAGES else 0))
