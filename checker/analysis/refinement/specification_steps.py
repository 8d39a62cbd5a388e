"""Decides whether the steps of a specification lead from one state to another.

Applies a mapping to arrays of packed states of a model, and numbers the resulting specification states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.kernel.layout import Integers, Layout, Words
from isrcheck.model.semantics.expressions import TRUE, Expression, Leaf
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.transition_system import Label, Transition, TransitionSystem

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


MOST: Final = 1 << 22
"""The greatest number of specification states in memory at a time. If more are needed, the answer stays unknown."""
SOME: Final = 32
"""If the number of steps is not limited, each round of `leads` up to `ROUNDS` expands at most this many states."""
ROUNDS: Final = 64
"""The last round of `leads` (counted from 0) that is limited to `SOME` states. Each later round doubles the limit."""


class TooMany(Exception):
    """Raised if the searches from all states together reach more than `MOST` states."""


@dataclass
class _Reach:
    """The states that a search from one state has reached: all (`seen`), and those not yet expanded (`open`).

    `rounds` counts the rounds of the search. If the number of steps is limited, each round takes one step.
    """

    seen: set[bytes]
    open: Words
    rounds: int = 0


class Allowed:
    """Decides whether at most `steps` steps (None: any number) of a specification lead from one state to another."""

    def __init__(self, system: TransitionSystem, interpreter: Interpreter, steps: int | None) -> None:
        self.system, self._interpreter, self._steps = system, interpreter, steps
        self.kernel = Kernel(system)
        self._reaches: dict[bytes, _Reach] = {}
        written = {leaf for t in system.transitions for leaf in t.updates}
        self._kept = np.zeros(self.kernel.words, dtype=np.uint64)
        for i, place in enumerate(self.kernel.layout.places):
            if i not in written:
                self._kept[place.word] |= np.uint64(place.mask)

    def leads(self, a: Words, b: Words) -> bool:
        """Whether the packed state b equals a or is reached from a.

        Raises `TooMany` if the search needs too many states, and `EvaluationError` if it meets an undefined step.
        """
        if ((a ^ b) & self._kept).any():
            return False  # they differ in a leaf that no action writes
        reach, wanted, rounds = self._reach(a), b.tobytes(), 0
        while wanted not in reach.seen:
            if self._is_whole(reach):
                return False
            self._go_on(reach, b, SOME << max(0, rounds - ROUNDS))
            rounds += 1
        return True

    def seen_from(self, a: Words) -> Words:
        """All states that are reached from a, including a. Raises the errors of `leads`."""
        reach = self._reach(a)
        while not self._is_whole(reach):
            self._go_on(reach, a, MOST)
        return self._rows(reach.seen)

    def _is_whole(self, reach: _Reach) -> bool:
        return not len(reach.open) or reach.rounds == self._steps

    def _reach(self, a: Words) -> _Reach:
        key = a.tobytes()
        if key not in self._reaches:
            self._reaches[key] = _Reach({key}, a[np.newaxis])
        return self._reaches[key]

    def _go_on(self, reach: _Reach, b: Words, count: int) -> None:
        """Expands open states: all of them if steps are limited, else the `count` states that are most like b.

        Preferring these states saves time. For example, a commit of many records may be one step of a model, but many
        steps of the specification. A search in another order would visit every possible log.
        """
        chosen, rest = reach.open, reach.open[:0]
        if self._steps is None and count < len(reach.open):
            unpack = self.kernel.layout.unpack
            unlike = (unpack(reach.open) != unpack(b[np.newaxis])).sum(axis=1)
            chosen, rest = np.split(reach.open[np.argsort(unlike, kind="stable")], [count])
        positions, transitions = self.kernel.failures(chosen)
        if len(positions):
            self._raise(chosen[positions[0]], int(transitions[0]))
        found = {row.tobytes() for row in self.kernel.expand(chosen)[0]} - reach.seen
        reach.seen |= found
        reach.rounds += 1
        if sum(len(each.seen) for each in self._reaches.values()) > MOST:
            self._reaches.clear()  # frees memory; a later `seen_from` searches again, for one state only
            raise TooMany
        reach.open = np.concatenate([rest, self._rows(found)])

    def _rows(self, states: set[bytes]) -> Words:
        """The given packed states as a sorted array."""
        return np.frombuffer(b"".join(sorted(states)), dtype=np.uint64).reshape(-1, self.kernel.words)

    def _raise(self, row: Words, transition: int) -> None:
        """Raises `EvaluationError` for an instance of the specification that is undefined in a state."""
        leaves = map(int, self.kernel.layout.unpack(row[np.newaxis])[0])
        number = self._interpreter.labels.index(self.system.transitions[transition].label)
        self._interpreter.step(self.system.decode(leaves), number)
        raise AssertionError("the kernel finds an error that the reference semantics does not")
