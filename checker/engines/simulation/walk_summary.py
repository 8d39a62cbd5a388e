"""Turns the observations of random walks into data. The counts are numbers of walks, steps and visits of states.

Only `distinct_estimate` is about distinct states.

Estimates how many distinct states the walks have met, from a small table of fixed size.

The table is a HyperLogLog sketch: an array of *registers*, to which the hash of each state is added. The estimator is
by Otmar Ertl ("New cardinality estimation algorithms for HyperLogLog sketches", 2017). The estimator needs no
corrections for small or large counts.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from isrcheck.checker.engines.simulation import walk_loops
from isrcheck.checker.engines.simulation.random_search import Sampled
from isrcheck.checker.engines.simulation.walk_loops import FINGERPRINT_BITS

STANDARD_ERROR: Final = 1.04 / math.sqrt(1 << FINGERPRINT_BITS)


def estimate(registers: npt.NDArray[np.uint8]) -> int:
    """The estimated number of distinct hashes that were added to the registers."""
    size, most = len(registers), 64 - FINGERPRINT_BITS + 1
    counts = np.bincount(registers, minlength=most + 1).astype(float)
    z = size * _tau(1 - counts[most] / size)
    for k in range(most - 1, 0, -1):
        z = 0.5 * (z + counts[k])
    z += size * _sigma(counts[0] / size)
    return 0 if math.isinf(z) else round(size * size / (2 * math.log(2) * z))


def _sigma(x: float) -> float:
    if x == 1:
        return math.inf
    y, z, before = 1.0, x, -1.0
    while z != before:
        x, before = x * x, z
        z, y = z + x * y, y + y
    return z


def _tau(x: float) -> float:
    if x in (0, 1):
        return 0.0
    y, z, before = 1.0, 1 - x, -1.0
    while z != before:
        x, before, y = math.sqrt(x), z, 0.5 * y
        z -= (1 - x) ** 2 * y
    return z / 3


ENDS: Final = {
    "at the depth": walk_loops.AT_DEPTH,
    "nothing enabled": walk_loops.STUCK,
    "all outside the constraints": walk_loops.FENCED,
    "violation or error": walk_loops.WRONG,
}


def summary(sampled: Sampled, walks: int | None, off: Collection[str] = ()) -> dict[str, Any]:
    """The field `sampling` of a result's JSON. `walks` is the requested number of walks.

    `off` has the names of the goals that are switched off.
    """
    seen, system, verdicts = sampled.seen, sampled.start.system, sampled.kernel.verdicts
    taken = dict.fromkeys(system.actions, 0)
    for transition, number in zip(system.transitions, seen.taken.tolist(), strict=False):
        taken[transition.label.action] += number
    actions = zip(system.actions, seen.generated, strict=True)
    return {
        "seed": sampled.start.seed,
        "walks": seen.walks,
        "walks_asked": walks,
        "reproducible": sampled.ended is None,
        "depth_limit": sampled.start.depth,
        "states_visited": seen.states,
        "constraint_rejected": int(seen.cursor[walk_loops.REJECTED]),
        "distinct_estimate": estimate(seen.registers),
        "distinct_standard_error": round(STANDARD_ERROR, 4),
        "actions": {name: {"enabled": enabled, "taken": taken[name]} for name, enabled in actions},
        "actions_never_taken": [n for n, number in taken.items() if not number and n not in system.absent],
        "goals": {name: int(seen.reached[bit]) for name, bit in verdicts.goals.items()},
        "goals_never_reached": [n for n, bit in verdicts.goals.items() if not seen.reached[bit] and n not in off],
        "bounds": {name: int(seen.reached[bit]) for name, bit in verdicts.bounds.items()},
        "lengths": _distribution(seen.lengths),
        "ends": {words: int(seen.ends[kind]) for words, kind in ENDS.items()},
    }


def _distribution(lengths: np.typing.NDArray[np.int64]) -> dict[str, Any] | None:
    """The least, the quartiles, the greatest and the mean of the lengths (in states) of the ended walks."""
    total = int(lengths.sum())
    if not total:
        return None
    below = np.cumsum(lengths)

    def quantile(share: float) -> int:
        return int(np.searchsorted(below, max(1, share * total)))

    mean = float((lengths * np.arange(len(lengths))).sum() / total)
    return {
        "least": quantile(0),
        "quarter": quantile(0.25),
        "median": quantile(0.5),
        "three_quarters": quantile(0.75),
        "greatest": quantile(1),
        "mean": round(mean, 3),
    }
