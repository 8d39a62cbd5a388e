"""Instructions and parts with the places of their registers, and who runs them: numpy at first, then compiled code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from isrcheck.checker.kernel.machine import machine
from isrcheck.checker.kernel.registers import Column, Function

ENOUGH: Final = 1 << 16
"""After this many instructions by numpy, compiled code takes over: numpy's 0.05 s are as long as loading that code."""
Integers = npt.NDArray[np.int64]
Placing = tuple[Function, int, int, int]
"""An instruction with the places of its registers."""


@dataclass(frozen=True)
class Placed:
    """A part with the places of its registers."""

    instructions: Steps
    flag: int | None
    failure: int | None
    number: int
    body: Steps
    changes: list[PlacedChange]


@dataclass(frozen=True)
class PlacedChange:
    word: int
    kept: np.uint64
    base: np.uint64
    values: list[tuple[int, np.uint64]]


class Steps:
    """Instructions with the places of their registers; `code` gives them in the form that the machine reads."""

    def __init__(self, placings: list[Placing], code: Callable[[list[Placing]], Integers]) -> None:
        self._placings, self._written = placings, code

    def __len__(self) -> int:
        return len(self._placings)

    @cached_property
    def _code(self) -> Integers:
        return self._written(self._placings)

    @property
    def address(self) -> int:
        """Where the instructions for the machine lie."""
        return self._code.ctypes.data

    def run(self, columns: Sequence[Column], lanes: int) -> None:
        """Runs them on the columns that `Program.begin` has made for some states."""
        global _by_numpy
        if on_machine():
            machine()["run"](self.address, len(self), 0, lanes)
            return
        _by_numpy += len(self._placings)
        for function, a, b, out in self._placings:
            function(columns[a], columns[b], columns[out])


_by_numpy = 0
"""Instructions that numpy has run in this process."""


def on_machine() -> bool:
    """Whether compiled code runs programs from now on."""
    return _by_numpy >= ENOUGH
