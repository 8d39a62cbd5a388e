"""The levels of a dataset, for those who look for traces and for errors in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from isrcheck.checker.datasets.manifests import Level
from isrcheck.checker.engines.spark import files, kernels, rows, steps
from isrcheck.checker.engines.spark.session import Spark
from isrcheck.checker.exploration import Edges
from isrcheck.checker.kernel.compile import Integers, Kernel
from isrcheck.checker.kernel.layout import Words
from isrcheck.checker.kernel.verdicts import FAILED
from isrcheck.model.language.system import TransitionSystem

SMALL = 20_000
"""Levels with at most so many states are always looked through in this process: a job takes longer."""


class StoredLevels:
    """Packed states of committed levels; a large level is looked through by Spark, a small one here."""

    def __init__(
        self, system: TransitionSystem, kernel: Kernel, history: list[Level], spark: Spark | None, work: kernels.Work,
        owners: Callable[[], list[int]], threshold: int,
    ) -> None:  # fmt: skip
        self.system, self.kernel, self._history, self._spark = system, kernel, history, spark
        self._work, self._owners, self._threshold = work, owners, threshold

    def edges_into_violation(self, level: int, invariant: str) -> Edges:
        """Every step from a state of `level` to a state where the invariant is false, counted or not."""
        sources, transition, found = self._scan(level, {"bit": self.kernel.verdicts.invariants[invariant]})
        targets, target = _distinct(found)
        return _edges(sources, targets, transition, target)

    def edges_into(self, level: int, targets: Words) -> Edges:
        """Every step from a state of `level` to one of `targets`, counted or not."""
        targets = np.ascontiguousarray(targets, dtype=np.uint64).reshape(-1, self.kernel.words)
        sources, transition, found = self._scan(level, {"into": targets.tobytes()})
        known, hashes = rows.distinct(targets, self.kernel.hashes(targets))
        # From a target in the order of hashes to its position in what was given.
        given = {row: i for i, row in enumerate(map(tuple, targets.tolist()))}
        order = np.array([given[row] for row in map(tuple, known.tolist())], dtype=np.int64)
        at = rows.positions(found, self.kernel.hashes(found), known, hashes)
        return _edges(sources, targets, transition, order[at])

    def deadlocked(self, level: int) -> Words:
        """The states of `level` without an enabled instance."""
        return self._scan(level, {"stuck": True})[0]

    def state(self, leaves: tuple[int, ...]) -> Words:
        """The state with these leaves, counted or not, as targets for `edges_into`."""
        return self.kernel.layout.pack([leaves])

    def leaves(self, states: Words) -> list[tuple[int, ...]]:
        """The leaves of each state."""
        return [tuple(row) for row in self.kernel.layout.unpack(states).tolist()]

    def level_states(self, level: int) -> Words:
        """All states of a level, read into this process."""
        work = {**self._work, **self._planned(level, rows.bounds(1))}
        kernels.at_hand(work, self.kernel.code)
        parts = [states for states, _ in steps.blocks(work, kernels.kernel_of(work), 0)]
        return np.concatenate(parts) if parts else np.empty((0, self.kernel.words), dtype=np.uint64)

    # --- where evaluation failed first ------------------------------------------------------------------------------

    def failing_instance(self, level: int) -> tuple[tuple[int, ...], int]:
        """The least leaves of a state of a level in which an instance fails, and its least failing transition."""
        states, transition, _ = self._scan(level, {"failing": True})
        return min(zip(self.leaves(states), transition.tolist(), strict=True))

    def failing_predicate(self, level: int) -> tuple[int, ...]:
        """The least leaves of a state, counted or not, that is reached at a level and in which a predicate fails."""
        if level > 1:
            return min(self.leaves(self._scan(level - 1, {"bit": FAILED})[2]))
        packed = self.kernel.layout.pack(self.system.initial)
        failing = self.kernel.judge(packed)[:, 0] >> np.uint64(FAILED) & np.uint64(1) == 1
        return min(self.leaves(packed[failing]))

    # --- looking through a level ------------------------------------------------------------------------------------

    def _scan(self, level: int, ask: dict[str, Any]) -> tuple[Words, Integers, Words]:
        """Sources, transitions and successors of the steps asked for."""
        stored = self._history[level - 1]
        work = {**self._work, "ask": ask, "level": level}
        if self._spark is not None and stored.distinct > max(self._threshold, SMALL):
            answers = self._spark.scan({**work, **self._planned(level, self._owners())}, self.kernel.text)
        else:
            work |= self._planned(level, rows.bounds(1))
            answers = [steps.scan(kernels.at_hand(work, self.kernel.code), 0)]
        sources, transitions, targets = (b"".join(column) for column in zip(*answers, strict=True))
        return self._rows(sources), np.frombuffer(transitions, dtype=np.int64), self._rows(targets)

    def _planned(self, level: int, bounds: list[int]) -> kernels.Work:
        return {"bounds": bounds, "plan": files.plan(self._history[level - 1].files, (), bounds)}

    def _rows(self, data: bytes) -> Words:
        return np.frombuffer(data, dtype=np.uint64).reshape(-1, self.kernel.words)


def _distinct(states: Words) -> tuple[Words, Integers]:
    """The distinct rows, and the position of each row among them."""
    if not len(states):
        return states, np.empty(0, dtype=np.int64)
    found, position = np.unique(states, axis=0, return_inverse=True)
    return found, position.reshape(-1).astype(np.int64)


def _edges(sources: Words, targets: Words, transition: Integers, target: Integers) -> Edges:
    distinct, source = _distinct(sources)
    return Edges(distinct, targets, source, transition, target)
