"""The parts of a program over columns: registers, instructions, and groups of instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Column = npt.NDArray[Any]
Function = Callable[[Column, Column, Column], object]
"""A function of two columns that writes a third, which is the last argument."""


@dataclass(eq=False, slots=True)
class Register:
    """A column without a place yet. A `kept` register is filled before the program runs and keeps its place."""

    number: int
    wide: bool
    kept: bool = False


@dataclass(eq=False, slots=True)
class Instruction:
    """`function(a, b, out)`."""

    function: Function
    a: Register
    b: Register
    out: Register


@dataclass(frozen=True)
class Change:
    """A word after a transition: `(word & kept) + base`, and each value shifted to its place and added."""

    word: int
    kept: np.uint64
    base: np.uint64
    values: tuple[tuple[Register, np.uint64], ...]


@dataclass
class Part:
    """Instructions, then the columns that are read when they are done.

    `flag` says for which states something is true; `body` computes the values that only those states need.
    """

    instructions: list[Instruction] = field(default_factory=list)
    flag: Register | None = None
    failure: Register | None = None
    number: int = 0
    body: list[Instruction] = field(default_factory=list)
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
