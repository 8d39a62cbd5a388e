"""Applies a mapping to arrays of packed states of a model, and numbers the resulting specification states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from isrcheck.checker.kernel.compile import Integers, Kernel
from isrcheck.checker.kernel.layout import Layout, Words
from isrcheck.model.language.expressions import TRUE, Expression, Leaf
from isrcheck.model.language.system import Label, Transition, TransitionSystem

STANDS_FOR = "stands-for"


class Abstraction:
    """Maps each state of a system to the number of the specification state that it represents.

    The mapping is compiled as if it were an action that is always enabled and writes the specification's leaves
    (scalars of the state). The action belongs to an artificial system, which has the leaves of the model and of the
    specification. `rows` has the packed specification states in the order of their numbers.
    """

    def __init__(
        self, system: TransitionSystem, leaves: Sequence[Leaf], nodes: Sequence[Expression], failure: Expression
    ) -> None:
        own = len(system.leaves)
        theirs = [replace(x, index=own + i, path=f"the specification's {x.path}") for i, x in enumerate(leaves)]
        step = Transition(Label(STANDS_FOR, (), ()), "", False, TRUE, dict(enumerate(nodes, own)), failure)
        self._kernel = Kernel(_system((*system.leaves, *theirs), step))
        self._layout, self._mask = Layout(leaves), np.zeros(self._kernel.words, dtype=np.uint64)
        self._own, self._leaves = own, len(leaves)
        for place in self._kernel.layout.places[own:]:
            self._mask[place.word] |= np.uint64(place.mask)
        self._numbers: dict[bytes, int] = {}
        self.rows: list[Words] = []

    def compile(self) -> None:
        """Compiles the mapping to machine code. This saves time only if many states are mapped afterwards."""
        assert self._kernel.code

    def of(self, states: Words, layout: Layout) -> Integers:
        """For each state, the number of the specification state that it represents, or -1 if it represents none.

        `layout` says how the states are packed. A search may pack states differently from the artificial system.
        """
        found, source, _, _ = self._kernel.expand(layout.moved(states, self._kernel.layout))
        numbers = np.full(len(states), -1, dtype=np.int64)
        if len(found):
            rows, which = self._distinct(found & self._mask)
            values = self._kernel.layout.unpack(rows)[:, self._own :]
            numbers[source] = np.array([self.number(row) for row in self._layout.pack(values)], dtype=np.int64)[which]
        return numbers

    def number(self, row: Words) -> int:
        """The number of a packed state of the specification."""
        key = row.tobytes()
        if key not in self._numbers:
            self._numbers[key] = len(self.rows)
            self.rows.append(row)
        return self._numbers[key]

    def leaves(self, number: int) -> tuple[int, ...]:
        """The integers of the leaves of the specification state with this number."""
        return tuple(map(int, self._layout.unpack(self.rows[number][np.newaxis])[0]))

    def _distinct(self, rows: Words) -> tuple[Words, Integers]:
        """The distinct rows, and the index of each row among them.

        The rows' hashes are compared. If different rows have the same hash, the rows themselves are compared.
        """
        _, first, which = np.unique(self._kernel.hashes(rows), return_index=True, return_inverse=True)
        if (rows[first][which] == rows).all():
            return rows[first], which
        found, which = np.unique(rows, axis=0, return_inverse=True)
        return found, which.reshape(-1)


def _system(leaves: Sequence[Leaf], step: Transition) -> TransitionSystem:
    return TransitionSystem(
        model=STANDS_FOR,
        settings={},
        variables=(),
        leaves=tuple(leaves),
        initial=(),
        actions=(STANDS_FOR,),
        transitions=(step,),
        constraints=(),
        invariants=(),
        goals=(),
        bounds=(),
    )
