"""Checks a stable property (once a condition is true, it stays true). Finds a shortest path to a violation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from isrcheck.checker.engines.local.levels import NativeLevels
from isrcheck.checker.exploration import Edges, Path
from isrcheck.checker.liveness.building import flag, members
from isrcheck.checker.liveness.region import Allowance
from isrcheck.checker.traces.canonical import back, walked


def broken(
    levels: NativeLevels, known: int, number: int, actors: Sequence[str], allowance: Allowance
) -> tuple[Path | None, int]:
    """The canonical path whose last step makes a condition false, and the number of states in which it is true.

    The condition is `region` of the question with this number. If no step makes the condition false, the path is None.
    Only states of the first `known` levels are examined and counted.
    """
    bit, states, path = levels.kernel.verdicts.questions[number][0], 0, None
    for level in range(1, known + 1):
        leaving = []
        for kept in levels.blocks(level):
            block = members(levels, kept)
            allowance.take(0)
            inside = block[flag(levels.kernel.judge(block), bit)]
            states += len(inside)
            if path is None:
                successors, source, label, _ = levels.kernel.expand(inside)
                out = ~flag(levels.kernel.judge(successors), bit)
                leaving.append((inside[source[out]], label[out], successors[out]))
        if path is None and any(len(label) for _, label, _ in leaving):
            path = _path(levels, level, leaving, actors)
    return path, states


def _path(levels: NativeLevels, level: int, leaving: Sequence[Sequence[Any]], actors: Sequence[str]) -> Path:
    rows, label, after = (np.concatenate(column) for column in zip(*leaving, strict=True))
    sources, source = np.unique(rows, axis=0, return_inverse=True)
    targets, target = np.unique(after, axis=0, return_inverse=True)
    last = Edges(sources, targets, source.reshape(-1), label, target.reshape(-1))
    return walked(levels, back(levels, last, level), actors)[0]
