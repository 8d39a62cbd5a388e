"""The interface of a store, which keeps the states of a search by name, level by level."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from isrcheck.checker.engines.local.names import Names
from isrcheck.checker.kernel.compile import Integers
from isrcheck.checker.kernel.layout import Words

Each = Callable[[Callable[[int], None], Iterable[int]], None]
"""A function that calls another function once for each of some numbers. Several of these calls may run in parallel."""


def one_by_one(function: Callable[[int], None], numbers: Iterable[int]) -> None:
    for number in numbers:
        function(number)


class Stored(Names):
    """The states of whole levels, and the new states after them.

    `sizes` has the number of states of each whole level. `shared` is the data that workers share (`loops`).
    """

    sizes: list[int]
    shared: Integers

    @property
    def fresh(self) -> int:
        """The number of new states after the last whole level, as far as it is known."""
        raise NotImplementedError

    @property
    def total(self) -> int:
        """The number of states."""
        return sum(self.sizes) + self.fresh

    @property
    def depth(self) -> int:
        """The number of whole levels."""
        return len(self.sizes)

    def insert(self, rows: Words) -> None:
        """Inserts states of the next level, unless they are known."""
        raise NotImplementedError

    def close(self) -> int:
        """Turns the states after the last whole level, if there are any, into a new level. Returns their number."""
        raise NotImplementedError

    def blocks(self, level: int, largest: int) -> Iterator[Words]:
        """Copies of the states of a whole level, about `largest` at a time."""
        raise NotImplementedError

    def make_room(self, each: Each = one_by_one) -> None:
        """Enlarges everything that is full or nearly full."""
        raise NotImplementedError
