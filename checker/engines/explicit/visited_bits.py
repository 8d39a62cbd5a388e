"""Visited bits: a bit for each id, set when a worker finds the id for the first time.

With visited bits, a worker leaves out a successor that was found before, at this level or at an earlier one. Then the
found ids are new, so the runs of earlier levels need not be read (`run_store`). An id is two numbers, so the bits form
a matrix with a row for each first number. Most bits of the matrix are 0. The matrix is divided into *tiles* of 8 rows
and 64 columns. Only a tile with a bit set has a number and uses memory. The *grid* has an entry for each tile: its
number, or 0 if no bit of the tile is set.

Workers set bits without atomic instructions, which would take twice as long. So if two workers set bits of the same
word at the same moment, one of the two may be lost, and its id may be found again at the same level. There, duplicates
are removed anyway. A bit of an earlier level cannot be lost: whoever writes the word has read this bit before, and
writes it again. Before the next level begins, lost bits are set again (`run_loops.visit_again`), so that no id is found
at two levels.

Visited bits only save time. They are dropped if memory is scarce, or if too few bits of the tiles are set.
"""

from __future__ import annotations

import mmap
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import numpy as np

from isrcheck.checker.engines.explicit import run_loops as loops
from isrcheck.checker.engines.explicit.memory_account import Account, OutOfMemory
from isrcheck.checker.kernel.layout import Words

TILE: Final = 8 << loops.ROW_BITS
"""The bytes of a tile."""
MOST_IN_MEMORY: Final = 1 << 34
MOST_ON_DISK: Final = 1 << 29
"""The most bytes that visited bits take: `MOST_IN_MEMORY` if states are in memory, and `MOST_ON_DISK` if states are on
disk to save memory."""
UNCOUNTED: Final = getattr(mmap, "MAP_NORESERVE", 0)
LITTLE: Final = 1 << 26
MOST_EACH: Final = 8
"""Visited bits may take `LITTLE` bytes, and this many bytes for each state. (In a table, a state takes about ten.)"""
FIRST_TILES: Final = 1 << 10
FEW_TILES: Final = 1 << 16
"""Up to this many tiles, room for tiles doubles when it grows. Growing by an eighth, workers would wait dozens of times
before there are as many."""
CONTAINER: Final = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
"""The files in which Linux keeps the limit of a container's memory (control groups, version 2 and version 1)."""


class VisitedBits:
    """The visited bits of one store.

    They take at most `most` bytes, at most the limit of `account`, and at most a quarter of the machine's memory. If
    the memory limit of the container is smaller than the machine's memory, a quarter of that limit counts instead.

    `columns` is the data that `run_loops` needs. The object is false as long as it has no visited bits (before `begin`,
    and after `drop`).

    Workers must not run while a method is called.
    """

    def __init__(self, account: Account, most: int = MOST_IN_MEMORY) -> None:
        limits = (most, _memory() // 4, account.limit)
        self._account, self._most = account, min(x for x in limits if x is not None) // TILE * TILE
        self.columns = np.zeros(loops.VISITED, dtype=np.uint64)
        self._grid = self._tiles = np.empty(0, dtype=np.uint64)

    def __bool__(self) -> bool:
        return bool(self.columns[loops.TILES])

    def begin(self, firsts: int, seconds: int) -> None:
        """Begins to set bits. Their first numbers are below `firsts`, their second numbers below `seconds`."""
        try:  # only the tiles that are written use memory
            self._tiles = self._account.reserve(self._most, UNCOUNTED)
        except OutOfMemory:
            return
        self.columns[loops.TILES], self.columns[loops.TAKEN] = self._tiles.ctypes.data, 1
        self._account.spare = self.drop
        self.make_room(firsts, seconds, 0)

    def make_room(self, firsts: int, seconds: int, states: int) -> None:
        """Makes room for the visited bits of ids whose two numbers are below `firsts` and `seconds`.

        Enlarges the grid if it is too small, and adds tiles if few are left. Drops the visited bits if there is no
        memory for this, or if the visited bits take too much memory for so few `states`.
        """
        if not self:
            return
        enough = self._widen(firsts, seconds) and self._add_tiles()
        if not enough or self.nbytes > min(LITTLE + MOST_EACH * states, self._most):
            self.drop()

    @property
    def held(self) -> tuple[Words, Words, Words]:
        """A copy of `columns`, and the arrays to which it points.

        As long as somebody holds these arrays, the copy may be used in another thread, even after `drop`.
        """
        return self.columns.copy(), self._grid, self._tiles

    @property
    def nbytes(self) -> int:
        return self._grid.nbytes + TILE * int(self.columns[loops.ROOM])

    def _widen(self, firsts: int, seconds: int) -> bool:
        """Enlarges the grid if it is too small. Returns False if there is no memory for it."""
        rows, lines = int(self.columns[loops.ROWS]), int(self.columns[loops.LINES])
        more_rows, more_lines = -(-firsts >> loops.ROW_BITS), -(-seconds >> loops.LINE_BITS)
        if more_rows <= rows and more_lines <= lines:
            return True
        # At least an eighth more, because the grid is copied each time.
        more_rows = max(more_rows, rows * 9 // 8) if more_rows > rows else rows
        more_lines = max(more_lines, lines * 9 // 8) if more_lines > lines else lines
        size = 4 * more_rows * more_lines
        size += size % 8
        if not self._account.took(size):
            return False
        try:
            grid = self._account.reserve(size)
        except OutOfMemory:
            self._account.give_back(size)
            return False
        known = self._grid.view(np.uint32)[: rows * lines].reshape(rows, lines)
        grid.view(np.uint32)[: more_rows * more_lines].reshape(more_rows, more_lines)[:rows, :lines] = known
        self._account.give_back(self._grid.nbytes)
        self._grid = grid
        self.columns[[loops.GRID, loops.ROWS, loops.LINES]] = grid.ctypes.data, more_rows, more_lines
        return True

    def _add_tiles(self) -> bool:
        """Makes room for more tiles if few are left. Returns False if there is not enough memory.

        There is room for an eighth more, or for twice as many as long as they are few, because all workers wait
        meanwhile.
        """
        taken, room = int(self.columns[loops.TAKEN]), int(self.columns[loops.ROOM])
        if taken + taken // 16 < room:
            return True
        for more in (FIRST_TILES + min(taken, FEW_TILES), FIRST_TILES + taken // 8):
            # Each worker may take one number too many before it notices that there is no room.
            enough = TILE * (room + more + FIRST_TILES) <= self._tiles.nbytes
            if 8 * more >= taken and enough and self._account.took(TILE * more):
                self.columns[loops.ROOM] = room + more
                return True
        return False

    def drop(self) -> None:
        """Frees the memory of all visited bits. From now on there are none."""
        self._account.give_back(self.nbytes)
        self._account.spare = None
        self.columns[:] = 0
        self._grid = self._tiles = np.empty(0, dtype=np.uint64)


def _memory() -> int:
    """The bytes of the machine's memory, or the memory limit of the container if this limit is smaller."""
    least = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for file in CONTAINER:
        with suppress(OSError, ValueError):  # there is no such file, or it says "max"
            least = min(least, int(file.read_text()))
    return least
