"""Decides whether the steps of a specification lead from one state to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from isrcheck.checker.engines.interpreter import Interpreter
from isrcheck.checker.kernel.compile import Kernel
from isrcheck.checker.kernel.layout import Words
from isrcheck.model.language.system import TransitionSystem

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
        raise AssertionError("the reference semantics finds nothing wrong where the kernel does")
