"""Instructions and parts with columns in place of registers. At first numpy runs them, later compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from isrcheck.checker.kernel.machine import OPERATIONS, machine
from isrcheck.checker.kernel.registers import Change, Column, Function

ENOUGH: Final = 1 << 16
"""After numpy has run this many instructions, compiled code takes over. Numpy needs about 0.05 s for so many
instructions. Loading the compiled code takes about as long."""
FUNCTIONS: Final = [function for function, _, _ in OPERATIONS]
"""The function of each operation. The index in the list is the number of the operation."""
COMPARISONS: Final[tuple[Function, ...]] = (np.equal, np.not_equal, np.less_equal)
"""The functions whose results are numpy flags."""
Integers = npt.NDArray[np.int64]


class Code:
    """All instructions of a program, and the address of each column.

    `instructions` has a row for each instruction: the number of its operation, the numbers of the columns of its two
    operands, and the number of the column of its result.
    """

    def __init__(self, instructions: Integers, addresses: Integers) -> None:
        self.instructions, self.addresses = instructions, addresses

    @cached_property
    def addressed(self) -> Integers:
        """The instructions in the form for compiled code: with the addresses of columns instead of their numbers."""
        code = self.instructions.copy()
        code[:, 1:] = self.addresses[code[:, 1:]]
        return code


class Steps:
    """Successive instructions of a program, from `first` to before `end`."""

    def __init__(self, code: Code, first: int, end: int) -> None:
        self._code, self._first, self._end = code, first, end

    def __len__(self) -> int:
        return self._end - self._first

    @property
    def address(self) -> int:
        """The address of the instructions in the form for compiled code."""
        code = self._code.addressed
        return code.ctypes.data + self._first * code.strides[0]

    @cached_property
    def _calls(self) -> list[tuple[Function, int, int, int]]:
        """The instructions in the form for numpy: a function, and the numbers of its three columns."""
        rows = self._code.instructions[self._first : self._end].tolist()
        return [(FUNCTIONS[operation], a, b, out) for operation, a, b, out in rows]

    def run(self, columns: Sequence[Column], lanes: int) -> None:
        """Runs the instructions on columns that `Program.begin` has filled for `lanes` states."""
        global _by_numpy
        if on_machine():
            machine()["run"](self.address, len(self), 0, lanes)
            return
        _by_numpy += len(self)
        for function, a, b, out in self._calls:
            function(columns[a], columns[b], columns[out])


@dataclass(slots=True)
class Placed:
    """A part with columns in place of its registers."""

    number: int
    instructions: Steps
    body: Steps
    flag: int | None
    failure: int | None
    changes: list[Change]


_by_numpy = 0
"""The number of instructions that numpy has run in this process."""


def on_machine() -> bool:
    """Whether compiled code runs programs from now on."""
    return _by_numpy >= ENOUGH
