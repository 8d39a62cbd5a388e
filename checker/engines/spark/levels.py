"""Searches the levels of a dataset for the steps of traces and for errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from isrcheck.checker.datasets.manifests import Level
from isrcheck.checker.datasets.refusals import ClusterFailed
from isrcheck.checker.engines.spark import backwards, files, kernels, rows, steps
from isrcheck.checker.engines.spark.session import Spark
from isrcheck.checker.kernel.compile import Kernel
from isrcheck.checker.kernel.layout import Words
from isrcheck.checker.kernel.verdicts import FAILED
from isrcheck.model.language.system import TransitionSystem

SMALL = 20_000
"""Levels with at most this many states are always searched in this process, because a Spark job would take longer."""


class StoredLevels:
    """The packed states of committed levels. Spark searches large levels, and this process searches the others.

    If `spark` is None, this process searches all levels.
    """

    def __init__(
        self, system: TransitionSystem, kernel: Kernel, history: list[Level], spark: Spark | None, work: kernels.Work,
        owners: Callable[[], list[int]], threshold: int,
    ) -> None:  # fmt: skip
        self.system, self.kernel, self.history, self.spark = system, kernel, history, spark
        self.work, self._owners, self._threshold = work, owners, threshold

    @property
    def on_this_machine(self) -> bool:
        """True if all processes that search levels can access the folders of this machine."""
        return self.spark is None or str(self.spark.context.master).startswith("local")

    def leaves(self, states: Words) -> list[tuple[int, ...]]:
        """The leaves of each state."""
        return [tuple(row) for row in self.kernel.layout.unpack(states).tolist()]

    def level_states(self, level: int) -> Words:
        """All states of a level, read into this process."""
        work = {**self.work, **self.planned(level, rows.bounds(1))}
        kernels.at_hand(work, self.kernel.code)
        parts = [states for states, _ in steps.blocks(work, kernels.kernel_of(work), 0)]
        return np.concatenate(parts) if parts else np.empty((0, self.kernel.words), dtype=np.uint64)

    def planned(self, level: int, bounds: list[int]) -> kernels.Work:
        """The bounds of the owners' hashes, and a plan (`files.plan`): the files of a level that each owner reads."""
        return {"bounds": bounds, "plan": files.plan(self.history[level - 1].files, (), bounds)}

    # --- where evaluation failed first ------------------------------------------------------------------------------

    def failing_instance(self, level: int) -> tuple[tuple[int, ...], int]:
        """The leaves of a level's least state in which a transition fails, and the least transition failing there."""
        return self._least(level, {})

    def failing_predicate(self, level: int) -> tuple[int, ...]:
        """The leaves of the least state of a level in which a predicate cannot be evaluated.

        States outside the constraints are considered, too.
        """
        if level > 1:
            return self._least(level - 1, {"failed": FAILED})[0]
        packed = self.kernel.layout.pack(self.system.initial)
        failing = self.kernel.judge(packed)[:, 0] >> np.uint64(FAILED) & np.uint64(1) == 1
        return min(self.leaves(packed[failing]))

    def _least(self, level: int, question: dict[str, Any]) -> tuple[tuple[int, ...], int]:
        places = [[x.word, x.shift, x.width, x.low] for x in self.kernel.layout.places]
        found = self.asked(level, {**question, "places": places})
        leaves, instance = min(report["least"] for _, report in found if report["least"] is not None)
        return tuple(leaves), instance

    # --- looking through a level ------------------------------------------------------------------------------------

    def asked(self, level: int, question: dict[str, Any]) -> list[tuple[bytes, dict[str, Any]]]:
        """The owners' answers (rows and a report) to a question about the states of a level, in the owners' order."""
        work = {**self.work, "question": json.dumps(question).encode(), "level": level}
        if self.spark is None or self.history[level - 1].distinct <= max(self._threshold, SMALL):
            work |= self.planned(level, rows.bounds(1))
            return [backwards.looked(kernels.at_hand(work, self.kernel.code), 0)]
        bounds = self._owners()
        found = self.spark.look({**work, **self.planned(level, bounds)}, self.kernel.text)
        if sorted(owner for owner, _, _ in found) != list(range(len(bounds) - 1)):
            raise ClusterFailed("Spark has not given the answer of each owner once; ask again with --resume")
        return [(data, json.loads(report)) for _, data, report in sorted(found)]
