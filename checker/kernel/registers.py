"""A program over columns: its registers, and its parts, which are groups of instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[Any]
Function = Callable[[Column, Column, Column], object]
"""A function of three columns that computes the third from the first two. It says what an operation computes."""
Register = int
"""The number of a value that has no column yet. The number is odd if the column will be wide (64-bit integers).

Instruction `i` writes register `2 * i` or `2 * i + 1`. Registers below 0 have their values before the program runs,
and no other register uses their columns.
"""


@dataclass(slots=True)
class Change:
    """A transition's change of the word with the number `word`.

    An old word w becomes `(w & kept) + base`, plus each value shifted to its place. `values` has pairs: a register, and
    the number of bits by which its value is shifted.
    """

    word: int
    kept: int
    base: int = 0
    values: list[tuple[Register, int]] = field(default_factory=list)


@dataclass(slots=True)
class Part:
    """The instructions from `first` to before `end`, and the registers that are read after these instructions.

    `flag` tells for each state whether a condition holds, such as a guard. `failure` tells for each state whether the
    transition fails. The instructions from `body` on compute values that are needed only for states where the flag
    holds.
    """

    number: int
    first: int
    body: int
    end: int
    flag: Register | None = None
    failure: Register | None = None
    changes: list[Change] = field(default_factory=list)

    def reads(self) -> Iterable[Register]:
        """The registers that are read after the instructions."""
        yield from (register for register in (self.flag, self.failure) if register is not None)
        yield from (register for change in self.changes for register, _ in change.values)


def copied(a: Column, b: Column, out: Column) -> None:
    """Copies a column into a column of another width."""
    out[...] = a


def counted(members: Column, again: Column, out: Column) -> None:
    """Counts the members of each set in a column."""
    out[...] = np.bitwise_count(members)
