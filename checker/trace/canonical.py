"""Chooses the canonical trace: one of the shortest traces to the given targets, the same for every engine.

Level 1 has the initial states. Level k+1 has the states that a step from level k reaches, except those of earlier
levels. A target is, for example, a state that violates an invariant. Let L be the first level with a target. T(L-1) is
the set of states of level L-1 with a step to a target. T(k) is the set of states of level k with a step into T(k+1).

States are compared by their leaves (the integers that encode a state), in lexicographic order. If L is 1, the path is
the least target alone. Otherwise the path starts at the least state of T(1). Each step of the path leads to a state in
the next set T, and the last step leads to a target. If several instances lead to such states, the path takes one with
which the whole path can have the fewest changes of actor. A *change of actor* is a step whose actor differs from the
actor of the previous step. Of several instances with the fewest changes, the path takes the first in the order of the
system's transitions.

The engine only finds the steps between the sets T. This module chooses the path.

Chooses the counterexample for a file that can show only one trace, such as an ITF file or a diagram.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from isrcheck.checker.results.exploration import Edges, Levels, Path

Costs = npt.NDArray[np.int64]
UNREACHED = np.iinfo(np.int64).max // 2


class CanonicalPaths:
    """The canonical paths in the levels of an engine. `actors` names the actor of each instance."""

    def __init__(self, levels: Levels, actors: Sequence[str]) -> None:
        self.levels, self.actors = levels, actors

    def to_violation(self, invariant: str, length: int) -> Path:
        return to_violation(self.levels, length, invariant, self.actors)

    def to_deadlock(self, length: int) -> Path:
        return to_states(self.levels, length, self.levels.deadlocked(length), self.actors)

    def to_state(self, leaves: tuple[int, ...], length: int) -> Path:
        return to_states(self.levels, length, self.levels.state(leaves), self.actors)


def to_violation(levels: Levels, length: int, invariant: str, actors: Sequence[str]) -> Path:
    """The canonical path to a violation of the invariant. It has `length` states, at least 2."""
    return canonical_walk(levels, back(levels, levels.edges_into_violation(length - 1, invariant), length - 1), actors)[
        0
    ]


def to_states(levels: Levels, length: int, targets: Any, actors: Sequence[str]) -> Path:
    """The canonical path of `length` states to one of the targets, which are states in the engine's own form."""
    if length == 1:
        return Path(min(levels.leaves(targets)), ())
    return canonical_walk(levels, back(levels, levels.edges_into(length - 1, targets), length - 1), actors)[0]


def back(levels: Levels, last: Edges, level: int) -> list[Edges]:
    """For each level k from 1 to `level`, the steps from T(k) to T(k+1) (see the top of this file).

    `last` has the steps from T(`level`) to the targets.
    """
    chain = [last]
    for k in range(level - 1, 0, -1):
        chain.append(levels.edges_into(k, chain[-1].sources))
    return chain[::-1]


def canonical_walk(levels: Levels, chain: list[Edges], actors: Sequence[str]) -> tuple[Path, int]:
    """The canonical path through the steps of a chain, and the position of its last state in `chain[-1].targets`.

    In the chain of a lasso (`checker/analysis/liveness/lasso.py`), the sources of a level may have two entries for one
    state: as a state of the region (see `checker/analysis/liveness/region.py`), and as a state before the path enters
    the region. Then the path may continue with the steps of both entries.
    """
    names = sorted(set(actors))
    actor_of = np.array([names.index(actor) for actor in actors], dtype=np.int64)
    weights = _weights(chain, actor_of, len(names))
    starts = levels.leaves(chain[0].sources)
    start, instances, previous = min(starts), list[int](), -1
    here = np.array([k for k, each in enumerate(starts) if each == start])
    for edges, weight in zip(chain, weights, strict=True):
        mine = np.flatnonzero(np.isin(edges.source, here))
        acting = actor_of[edges.transition[mine]]
        changes = weight[mine] + ((acting != previous) & (previous >= 0))
        best = mine[np.lexsort((edges.transition[mine], changes))[0]]
        instances.append(int(edges.transition[best]))
        here = np.unique(edges.target[mine[edges.transition[mine] == instances[-1]]])
        previous = int(actor_of[instances[-1]])
    return Path(start, tuple(instances)), int(here[0])


def _weights(chain: list[Edges], actor_of: npt.NDArray[np.int64], actors: int) -> list[Costs]:
    """For each level and each step from this level, the fewest changes of actor that must come after the step."""
    after: Costs | None = None
    weights = []
    for edges in reversed(chain):
        acting = actor_of[edges.transition]
        weight = np.zeros(len(edges.source), dtype=np.int64) if after is None else after[edges.target, acting]
        # For each source and actor, the least weight of a step by this actor.
        by_actor = np.full((len(edges.sources), actors), UNREACHED, dtype=np.int64)
        np.minimum.at(by_actor, (edges.source, acting), weight)
        # For each source and actor, the fewest changes after a step into the source by this actor.
        after = np.minimum(by_actor, by_actor.min(axis=1, keepdims=True) + 1)
        weights.append(weight)
    return weights[::-1]
