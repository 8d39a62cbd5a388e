"""Which steps of a shortest trace are to blame: those without which the violation would not come so soon.

Step k is a *culprit* iff from the state before it no path of at most the remaining length violates the invariant
without that action instance. Where a trace is as short as can be, each such path has just the remaining length, and
its states lie in the levels that the states of the trace lie in, or there would be a shorter one from the start. So
the steps between the Ts (see `canonical`) are all that need to be looked at, and there is nothing to guess.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isrcheck.checker.exploration import Edges


def culprits(chain: Sequence[Edges], positions: Sequence[int], instances: Sequence[int]) -> tuple[bool, ...]:
    """Whether each step of a trace is a culprit.

    `chain` has all steps of all shortest ways, by level; the targets of one level are the sources of the next.
    `positions` says where the trace passes: which source of each level. `instances` are the transitions it takes.
    """
    return tuple(not _avoidable(chain[k:], positions[k], instance) for k, instance in enumerate(instances))


def _avoidable(chain: Sequence[Edges], start: int, instance: int) -> bool:
    """Whether some path from a source of the first level to the end of the chain never takes the instance."""
    here = np.array([start], dtype=np.int64)
    for edges in chain:
        taken = np.isin(edges.source, here) & (edges.transition != instance)
        here = np.unique(edges.target[taken])
        if not len(here):
            return False
    return True
