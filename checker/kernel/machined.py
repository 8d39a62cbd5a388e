"""Runs programs over columns with the compiled code of `isrcheck.checker.kernel.passes`.

A column is an array with one value for each state. The compiled code reads a program as *records*. A record is a few
integers in a fixed order. For example, a change of a word is a record of `CHANGE` integers. A *leaf* is one of the
integers of a state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from isrcheck.checker.kernel.layout import Place, Words
from isrcheck.checker.kernel.machine import machine
from isrcheck.checker.kernel.passes import BLOCK, CHANGE, VALUE
from isrcheck.checker.kernel.steps import Integers, Placed

INTEGER: Final = 8
"""The size of an integer in a record, in bytes."""


class Expanded(NamedTuple):
    """All successors of some states. Those of the first 64 states come first, then those of the next 64 states, and so
    on. Within each of these groups, the successors are sorted by transition."""

    rows: Words
    positions: Integers
    transitions: Integers
    numbers: Integers
    """The numbers of all transitions that fired, and perhaps of some others. `counts` says for each number how often
    the transition fired."""
    counts: Integers
    degrees: npt.NDArray[np.int32]
    failing: int
    """The number of failing instances, summed over the states."""


class Machined:
    """A program whose parts are records of integers. A column has `lanes` entries, one for each state. So `expand` and
    `judge` take at most `lanes` states at a time.

    `leaves` has a pair for each leaf: the number of the leaf's column, and the leaf's `Place` in a packed state. Such a
    state has `words` words. `addresses` has the address of each column. The lowest bit of an address is set if the
    column has 64-bit integers.
    """

    def __init__(
        self, parts: Sequence[Placed], leaves: Sequence[tuple[int, Place]], addresses: Integers, words: int, lanes: int
    ) -> None:
        self._address, self._kept = addresses.tolist(), list[Integers]()
        fields = [(self._address[at], x.word, x.shift, (1 << x.width) - 1, x.low) for at, x in leaves]
        self._leaves, self._leaf_count = self._array(fields), len(fields)
        self._parts, self._part_count = self._records(parts), len(parts)
        self._numbers = np.array([part.number for part in parts], dtype=np.int64)
        self._firing = sum(part.flag is not None for part in parts)
        self._words = np.zeros((words, lanes), dtype=np.uint64)
        self._degrees = np.zeros(lanes, dtype=np.int32)
        self._masks, self._ends = np.zeros(lanes // BLOCK, dtype=np.int64), np.zeros(lanes // BLOCK, dtype=np.int64)
        self._counts = np.zeros(len(parts), dtype=np.int64)
        self._out, self._sources = np.empty((0, words), dtype=np.uint64), np.empty(0, dtype=np.int64)

    # --- records ----------------------------------------------------------------------------------------------------

    def _array(self, rows: Sequence[Sequence[int]]) -> int:
        """Stores integers in an array that lives as long as this object. Returns the address of the array."""
        self._kept.append(np.array(rows, dtype=np.int64))
        return self._kept[-1].ctypes.data

    def _records(self, parts: Sequence[Placed]) -> int:
        """Stores the records of parts, of changes and of values. Returns the address of the records of parts."""
        all_changes = [change for part in parts for change in part.changes]
        values = self._array([(self._address[at], shift) for change in all_changes for at, shift in change.values])
        rows = list[tuple[int, ...]]()
        for change in all_changes:
            rows.append((change.word, _signed(change.kept), _signed(change.base), values, len(change.values)))
            values += len(change.values) * VALUE * INTEGER
        changes, records = self._array(rows), list[tuple[int, ...]]()
        for part in parts:
            records.append(self._part(part, changes))
            changes += len(part.changes) * CHANGE * INTEGER
        return self._array(records)

    def _part(self, part: Placed, changes: int) -> tuple[int, ...]:
        flag, failure = (0 if at is None else self._address[at] for at in (part.flag, part.failure))
        instructions, body = part.instructions, part.body
        return (
            instructions.address, len(instructions), flag, failure, body.address, len(body),
            changes, len(part.changes), part.number,
        )  # fmt: skip

    # --- calls ------------------------------------------------------------------------------------------------------

    def _read(self, states: Words) -> None:
        words = self._words
        words[:, : len(states)] = states.T
        machine()["unpack"](self._leaves, self._leaf_count, words.ctypes.data, words.shape[1], len(states))

    def expand(self, states: Words, first: int) -> Expanded:
        """The successors of `states`. For each successor, `positions` has the position of its source in `states`, plus
        `first`."""
        n, size, width, count = len(states), len(states) * self._firing, states.shape[1], self._part_count
        if len(self._sources) < size:
            self._out, self._sources = np.empty((size, width), dtype=np.uint64), np.empty(size, dtype=np.int64)
        self._read(states)
        self._degrees[:], self._ends[:] = 0, 0
        run, parts, counts, ends = machine(), self._parts, self._counts, self._ends
        out, sources = self._out.ctypes.data, self._sources.ctypes.data
        failing = run["expand"](
            parts, count, states.ctypes.data, width, n, self._degrees.ctypes.data, self._masks.ctypes.data,
            ends.ctypes.data, out, sources, counts.ctypes.data,
        )  # fmt: skip
        found = int(ends.sum())
        ends[1:] = np.cumsum(ends[:-1])
        ends[0] = 0
        rows = np.empty((found, width), dtype=np.uint64)
        positions, transitions = np.empty(found, dtype=np.int64), np.empty(found, dtype=np.int64)
        run["arrange"](
            parts, count, counts.ctypes.data, width, ends.ctypes.data, out, sources, first,
            rows.ctypes.data, positions.ctypes.data, transitions.ctypes.data,
        )  # fmt: skip
        return Expanded(rows, positions, transitions, self._numbers, counts, self._degrees[:n], failing)

    def judge(self, states: Words, out: Words) -> None:
        """Sets bits in each state's verdict (a row of `out`): a bit for each part whose flag holds in the state."""
        self._read(states)
        machine()["judge"](self._parts, self._part_count, len(states), out.ctypes.data, out.shape[1])


def _signed(word: int) -> int:
    """A 64-bit word as a signed integer with the same bits."""
    return word - (1 << 64) if word >> 63 else word
