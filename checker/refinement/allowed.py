"""Which states of a specification its steps lead to from which: asked a few times, and answered once each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from isrcheck.checker.engines.interpreter import Interpreter
from isrcheck.checker.kernel.compile import Kernel
from isrcheck.checker.kernel.layout import Words
from isrcheck.model.language.system import TransitionSystem

MOST: Final = 1 << 22
"""States of a specification that are held at once; beyond, the answer is not known."""


class TooMany(Exception):
    """The specification has more states than can be held."""


@dataclass
class _Reach:
    """What steps lead to from a state: all that was seen in so many rounds, and what was new in the last."""

    seen: set[bytes]
    last: Words
    rounds: int = 0


class Allowed:
    """Whether a specification leads from one state to another by at most `steps` of its steps; None is any number."""

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
        """Whether b is a, or is reached from a; both are packed. `TooMany` where that would have to be given up."""
        if ((a ^ b) & self._kept).any():
            return False  # no action writes a leaf in which they differ
        reach, wanted = self._reach(a), b.tobytes()
        while wanted not in reach.seen:
            if not len(reach.last) or reach.rounds == self._steps:
                return False
            self._go_on(reach)
        return True

    def seen_from(self, a: Words) -> Words:
        """All states that are reached from a, itself included."""
        reach = self._reach(a)
        while len(reach.last) and reach.rounds != self._steps:
            self._go_on(reach)
        return np.frombuffer(b"".join(sorted(reach.seen)), dtype=np.uint64).reshape(-1, self.kernel.words)

    def _reach(self, a: Words) -> _Reach:
        key = a.tobytes()
        if key not in self._reaches:
            self._reaches[key] = _Reach({key}, a[np.newaxis])
        return self._reaches[key]

    def _go_on(self, reach: _Reach) -> None:
        """One step more."""
        positions, transitions = self.kernel.failures(reach.last)
        if len(positions):
            self._raise(reach.last[positions[0]], int(transitions[0]))
        found = {row.tobytes() for row in self.kernel.expand(reach.last)[0]} - reach.seen
        reach.seen |= found
        reach.rounds += 1
        if sum(len(each.seen) for each in self._reaches.values()) > MOST:
            raise TooMany
        rows = np.frombuffer(b"".join(sorted(found)), dtype=np.uint64)
        reach.last = rows.reshape(-1, self.kernel.words)

    def _raise(self, row: Words, transition: int) -> None:
        """Raises `EvaluationError` for an instance of the specification that has no meaning in a state."""
        leaves = map(int, self.kernel.layout.unpack(row[np.newaxis])[0])
        number = self._interpreter.labels.index(self.system.transitions[transition].label)
        self._interpreter.step(self.system.decode(leaves), number)
        raise AssertionError("the reference semantics finds nothing wrong where the kernel does")
