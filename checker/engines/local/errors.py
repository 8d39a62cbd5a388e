"""Finds the failed evaluation that is reported. The search itself only counts failures.

Of several failures, the one in the least state is reported. States are compared by their leaves, as tuples.
"""

from __future__ import annotations

import numpy as np

from isrcheck.checker.engines.local.levels import NativeLevels
from isrcheck.checker.kernel.compile import Integers
from isrcheck.checker.kernel.layout import Words
from isrcheck.checker.kernel.verdicts import FAILED

Found = tuple[tuple[int, ...], int]


def failing_instance(levels: NativeLevels, level: int) -> Found:
    """Finds the least state of `level` in which an instance fails.

    Returns the leaves of this state, and the first instance that fails in it.
    """
    least: list[Found] = []
    for states in levels.blocks(level):
        source, _ = levels.kernel.failures(states)
        if len(source):
            states = levels.members(states[np.unique(source)])
            source, transition = levels.kernel.failures(states)
            least.append(_least(levels.kernel.layout.unpack(states[source]), transition))
    return min(least)


def failing_predicate(levels: NativeLevels, level: int) -> tuple[int, ...]:
    """Among the successors of the level before `level`, finds the least state in which a predicate is undefined.

    If `level` is 1, searches the initial states instead. The state may be outside the constraints. Returns its leaves.
    """
    kernel, least = levels.kernel, list[tuple[int, ...]]()
    if level == 1:
        return _failing(levels, kernel.layout.pack(levels.system.initial))[0]
    for states in levels.blocks(level - 1):
        least += _failing(levels, kernel.expand(states)[0])
    return min(least)


def _failing(levels: NativeLevels, states: Words) -> list[tuple[int, ...]]:
    """Among `states`, finds the least state in which a predicate is undefined. Returns its leaves, in a list.

    The list is empty if there is no such state. Under symmetry, all states in the orbits of `states` are compared.
    """
    failing = states[levels.kernel.judge(states)[:, 0] >> np.uint64(FAILED) & np.uint64(1) == 1]
    rows = levels.kernel.layout.unpack(levels.members(failing))
    return [_least(rows, np.zeros(len(rows), dtype=np.int64))[0]] if len(rows) else []


def _least(rows: Integers, other: Integers) -> Found:
    """The least row, with its entry in `other` (one entry for each row). Of equal rows, takes the least entry."""
    order = np.lexsort((other, *rows.T[::-1]))
    return tuple(rows[order[0]].tolist()), int(other[order[0]])
