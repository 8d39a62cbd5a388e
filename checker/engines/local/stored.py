"""What a search wants of a store: states, level by level, under names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from isrcheck.checker.engines.local.names import Names
from isrcheck.checker.kernel.compile import Integers
from isrcheck.checker.kernel.layout import Words

Each = Callable[[Callable[[int], None], Iterable[int]], None]
"""Calls a function with each of some numbers, perhaps several at once."""


def one_by_one(function: Callable[[int], None], numbers: Iterable[int]) -> None:
    for number in numbers:
        function(number)


class Stored(Names):
    """The states of whole levels, and what is behind them.

    `sizes` has the states of each whole level, `shared` what workers have in common (`loops`).
    """

    sizes: list[int]
    shared: Integers

    @property
    def fresh(self) -> int:
        """How many states there are behind the last whole level, as far as that is known."""
        raise NotImplementedError

    @property
    def total(self) -> int:
        """How many states there are."""
        return sum(self.sizes) + self.fresh

    @property
    def depth(self) -> int:
        """How many whole levels there are."""
        return len(self.sizes)

    def insert(self, rows: Words) -> None:
        """States of the next level, as many as are new."""
        raise NotImplementedError

    def close(self) -> int:
        """The states behind the last whole level become one; where there are none, nothing does. How many there are."""
        raise NotImplementedError

    def blocks(self, level: int, largest: int) -> Iterator[Words]:
        """Copies of the states of a whole level, about so many at a time."""
        raise NotImplementedError

    def make_room(self, each: Each = one_by_one) -> None:
        """Let everything grow that is full, or nearly."""
        raise NotImplementedError

    def expect(self, states: int) -> None:
        """So many states are expected at the end; 0 where nothing is."""
