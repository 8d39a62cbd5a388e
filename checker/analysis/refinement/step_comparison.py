"""Compares every step of an exploration, level by level, with the steps of a specification."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from isrcheck.checker.analysis.refinement.specification_steps import Abstraction, Allowed, TooMany
from isrcheck.checker.engines.explicit.levels import NativeLevels
from isrcheck.checker.kernel.layout import Integers, Words
from isrcheck.checker.results.exploration import Edges, Stop

Flags = npt.NDArray[np.bool_]
FEW: Final = 1 << 19
"""The mapping is compiled after this many compared steps. For fewer steps, compiling takes longer than it saves."""


@dataclass(frozen=True)
class Refused:
    """The mistakes at which a search stops.

    If the mistakes are refused steps, `edges` has these steps, and `level` is the level into which they lead. Otherwise
    `targets` has the wrong states, and `level` is their level. The wrong states are initial states that the
    specification does not allow, or states that represent no state of the specification. If there are several mistakes,
    the trace shows the first in canonical order (`checker/trace/canonical.py`). `whole` is false if some steps into the
    level were not compared. Then a mistake that was not found may come earlier in this order than the shown mistake.
    """

    level: int
    edges: Edges | None = None
    targets: Words | None = None
    whole: bool = True


class Watching:
    """Compares the steps into each level of a search. The search ends with the level of the first mistake (`Refused`).

    `refused` has the initial states or the steps that the specification does not allow. `nothing` has the states that
    represent no state of the specification. `whole` is the last level that was compared completely or in which a
    mistake was found. With `exchanged`, the search keeps one of all states that differ only by an exchange of members
    of a scalarset (such as brokers). The mapping does not tell these members apart.
    """

    def __init__(
        self, abstraction: Abstraction, allowed: Allowed, until: float | None, exchanged: bool = False
    ) -> None:
        self.abstraction, self.allowed, self._until, self._exchanged = abstraction, allowed, until, exchanged
        self.refused: Refused | None = None
        self.nothing: Refused | None = None
        self.ended: Stop | None = None
        self.whole = 0
        self._compared: dict[int, bool] = {}
        self._steps = 0

    @property
    def pairs(self) -> int:
        """The number of compared pairs of two different states.

        A pair has the specification's states before and after a step of the model.
        """
        return sum(1 for pair in self._compared if pair >> 32 != pair & 0xFFFFFFFF)

    def __call__(self, levels: NativeLevels, level: int) -> Stop | None:
        """Compares all steps into a level. For level 1, it compares the initial states.

        Returns the reason why the search must stop there, or None if the search goes on.
        """
        if level <= self.whole:  # compared already: a second search continues from the levels of the first
            return None
        self.ended = self._begin(levels) if level == 1 else self._compare(levels, level)
        if self.ended not in ("memory", "time"):
            self.whole = level
        return self.ended

    def _begin(self, levels: NativeLevels) -> Stop | None:
        layout = levels.kernel.layout
        rows = layout.pack(levels.system.initial)  # also initial states outside the constraints
        numbers = self.abstraction.of(rows, layout)
        if (numbers < 0).any():
            self.nothing = Refused(1, targets=rows[numbers < 0])
            return "error"
        initial = {row.tobytes() for row in self.allowed.kernel.layout.pack(self.allowed.system.initial)}
        wrong = np.array([self.abstraction.rows[n].tobytes() not in initial for n in numbers], dtype=np.bool_)
        if wrong.any():
            self.refused = Refused(1, targets=rows[wrong])
            return "violation"
        return None

    def _compare(self, levels: NativeLevels, level: int) -> Stop | None:
        """Compares the steps into a level. Under symmetry (`exchanged`), compares only the steps from the kept states.

        These steps are enough, because the mapping does not tell the exchanged members apart. But the trace shows the
        mistake that is first in canonical order, and the step of this mistake may begin in a state that is not kept. So
        if there is a mistake, compares also the steps from all states that differ from the kept states by an exchange.
        """
        stop = self._compared_from(levels, level, lambda states: states)
        if not self._exchanged or stop not in ("violation", "error"):
            return stop
        if self._compared_from(levels, level, levels.members) != stop and self.refused is not None:
            self.refused = replace(self.refused, whole=False)
        return stop

    def _compared_from(self, levels: NativeLevels, level: int, every: Callable[[Words], Words]) -> Stop | None:
        bad, lost, whole = list[tuple[Words, Integers, Words]](), list[Words](), True
        layout = levels.kernel.layout
        for states in map(every, levels.blocks(level - 1)):
            successors, source, label, _ = levels.kernel.expand(states)
            here, after = self.abstraction.of(states, layout)[source], self.abstraction.of(successors, layout)
            if (after < 0).any():
                lost.append(successors[after < 0])
                continue
            if self._steps <= FEW < self._steps + len(source):
                self.abstraction.compile()
            self._steps += len(source)
            wrong, known = self._are_refused(here, after)
            if wrong.any():
                bad.append((states[source[wrong]], label[wrong], successors[wrong]))
            if not known:
                whole = False
                break
            # After a mistake, the rest of the level is compared too, to find the first mistake in canonical order.
            if not bad and not lost and self._until is not None and time.perf_counter() > self._until:
                return "time"
        if lost:
            self.nothing = Refused(level, targets=np.unique(np.concatenate(lost), axis=0), whole=whole)
            return "error"
        if not bad:
            return None if whole else "memory"
        rows, instance, targets = (np.concatenate(column) for column in zip(*bad, strict=True))
        self.refused = Refused(level, _edges(rows, instance, targets), whole=whole)
        return "violation"

    def _are_refused(self, here: Integers, after: Integers) -> tuple[Flags, bool]:
        """For each step of the model, whether the specification refuses it. The second result says if all were decided.

        `here` and `after` have the numbers of the specification states. A step that was not decided counts as not
        refused.
        """
        pairs, which = np.unique((here << 32) | after, return_inverse=True)
        known = True
        try:
            for pair in pairs.tolist():
                if pair not in self._compared:
                    a, b = (self.abstraction.rows[n] for n in (pair >> 32, pair & 0xFFFFFFFF))
                    self._compared[pair] = self.allowed.leads(a, b)
        except TooMany:
            known = False
        return np.array([not self._compared.get(pair, True) for pair in pairs.tolist()], dtype=np.bool_)[which], known


def _edges(rows: Words, instance: Integers, after: Words) -> Edges:
    sources, source = np.unique(rows, axis=0, return_inverse=True)
    targets, target = np.unique(after, axis=0, return_inverse=True)
    return Edges(sources, targets, source.reshape(-1), instance, target.reshape(-1))
