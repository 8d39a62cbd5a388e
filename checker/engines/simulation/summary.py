"""Turns the observations of random walks into data. The counts are numbers of walks, steps and visits of states.

Only `distinct_estimate` is about distinct states.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import numpy as np

from isrcheck.checker.engines.simulation import loops
from isrcheck.checker.engines.simulation.fingerprints import STANDARD_ERROR, estimate
from isrcheck.checker.engines.simulation.search import Sampled

ENDS: Final = {
    "at the depth": loops.AT_DEPTH,
    "nothing enabled": loops.STUCK,
    "all outside the constraints": loops.FENCED,
    "violation or error": loops.WRONG,
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
        "constraint_rejected": int(seen.cursor[loops.REJECTED]),
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
