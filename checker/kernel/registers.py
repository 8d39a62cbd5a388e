"""The parts of a program over columns: registers, and groups of instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[Any]
Function = Callable[[Column, Column, Column], object]
"""A function of two columns that writes a third, which is the last argument."""
Register = int
"""A column without a place yet, as a number that is odd if the column is wide.

Instruction `i` writes register `2 * i` or `2 * i + 1`. Registers below 0 are filled before the program runs and keep
their places.
"""


@dataclass(slots=True)
class Change:
    """A word after a transition: `(word & kept) + base`, and each value shifted to its place and added.

    A value is a register, or its column once it has a place, with the bits to shift it by.
    """

    word: int
    kept: int
    base: int = 0
    values: list[tuple[Register, int]] = field(default_factory=list)


@dataclass(slots=True)
class Part:
    """The instructions from `first` on, then the columns that are read when they are done.

    `flag` says for which states something is true; the instructions from `body` to before `end` compute the values that
    only those states need.
    """

    number: int
    first: int
    body: int
    end: int
    flag: Register | None = None
    failure: Register | None = None
    changes: list[Change] = field(default_factory=list)

    def reads(self) -> Iterable[Register]:
        """The columns that are read after the instructions."""
        yield from (register for register in (self.flag, self.failure) if register is not None)
        yield from (register for change in self.changes for register, _ in change.values)


def copied(a: Column, b: Column, out: Column) -> None:
    """Copies a column into another width."""
    out[...] = a


def counted(members: Column, again: Column, out: Column) -> None:
    """Counts the members of sets."""
    out[...] = np.bitwise_count(members)
