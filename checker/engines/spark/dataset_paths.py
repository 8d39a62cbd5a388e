"""Finds canonical paths in a dataset: first backwards, level by level, and then forwards.

The search backwards finds the *backward slice* of each level (`backward_search.py`): the states of the level from which
the remaining steps of a path can lead to its end. Spark searches large levels. This process searches small levels, and
then goes forwards. The paths are the same as those that `isrcheck.checker.trace.canonical` finds. `canonical` holds
slices and their steps in memory. Here the slices are in files, so that no process must hold a large slice.

Searches the levels of a dataset for the steps of traces and for errors.
"""

from __future__ import annotations

import json
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import numpy as np

from isrcheck.checker.datasets.dataset import SLICES
from isrcheck.checker.datasets.manifests import Level
from isrcheck.checker.datasets.storage import Storage
from isrcheck.checker.engines.spark import backward_search, executor_kernels, row_order, state_files, step_files
from isrcheck.checker.engines.spark.session import Spark
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.kernel.layout import Words
from isrcheck.checker.kernel.verdict_bits import FAILED
from isrcheck.checker.results.errors import ClusterFailed
from isrcheck.checker.results.exploration import Path
from isrcheck.model.semantics.transition_system import TransitionSystem

SMALL = 20_000
"""Levels with at most this many states are always searched in this process, because a Spark job would take longer."""


class StoredLevels:
    """The packed states of committed levels. Spark searches large levels, and this process searches the others.

    If `spark` is None, this process searches all levels.
    """

    def __init__(
        self, system: TransitionSystem, kernel: Kernel, history: list[Level], spark: Spark | None, work:
        executor_kernels.Work, partitions: Callable[[], list[int]], threshold: int,
    ) -> None:  # fmt: skip
        self.system, self.kernel, self.history, self.spark = system, kernel, history, spark
        self.work, self._partitions, self._threshold = work, partitions, threshold

    @property
    def on_this_machine(self) -> bool:
        """True if all processes that search levels can access the folders of this machine."""
        return self.spark is None or str(self.spark.context.master).startswith("local")

    def leaves(self, states: Words) -> list[tuple[int, ...]]:
        """The leaves of each state."""
        return [tuple(row) for row in self.kernel.layout.unpack(states).tolist()]

    def level_states(self, level: int) -> Words:
        """All states of a level, read into this process."""
        work = {**self.work, **self.planned(level, row_order.bounds(1))}
        executor_kernels.at_hand(work, self.kernel.code)
        parts = [states for states, _ in step_files.blocks(work, executor_kernels.kernel_of(work), 0)]
        return np.concatenate(parts) if parts else np.empty((0, self.kernel.words), dtype=np.uint64)

    def planned(self, level: int, bounds: list[int]) -> executor_kernels.Work:
        """The bounds of the partitions' hashes, and a plan (`files.plan`): the files of a level for each partition."""
        return {"bounds": bounds, "plan": state_files.plan(self.history[level - 1].files, (), bounds)}

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
        failing = self.kernel.evaluate(packed)[:, 0] >> np.uint64(FAILED) & np.uint64(1) == 1
        return min(self.leaves(packed[failing]))

    def _least(self, level: int, question: dict[str, Any]) -> tuple[tuple[int, ...], int]:
        places = [[x.word, x.shift, x.width, x.low] for x in self.kernel.layout.places]
        found = self.asked(level, {**question, "places": places})
        leaves, instance = min(report["least"] for _, report in found if report["least"] is not None)
        return tuple(leaves), instance

    # --- looking through a level ------------------------------------------------------------------------------------

    def asked(self, level: int, question: dict[str, Any]) -> list[tuple[bytes, dict[str, Any]]]:
        """The partitions' answers (rows and a report) to a question about the states of a level, in order."""
        work = {**self.work, "question": json.dumps(question).encode(), "level": level}
        if self.spark is None or self.history[level - 1].distinct <= max(self._threshold, SMALL):
            work |= self.planned(level, row_order.bounds(1))
            return [backward_search.looked(executor_kernels.at_hand(work, self.kernel.code), 0)]
        bounds = self._partitions()
        found = self.spark.look({**work, **self.planned(level, bounds)}, self.kernel.text)
        if sorted(partition for partition, _, _ in found) != list(range(len(bounds) - 1)):
            raise ClusterFailed("Spark did not return exactly one result per partition; try again with --resume")
        return [(data, json.loads(report)) for _, data, report in sorted(found)]


Entries = list[dict[str, Any]]
Question = dict[str, Any]
WRITES: Final = (
    "{}; finding a trace writes files to the dataset folder; make it writable for the driver and the executors"
)


class StoredPaths:
    """Finds paths in the levels of a dataset. `actors` names the actor of each instance of the system."""

    def __init__(self, levels: StoredLevels, actors: Sequence[str]) -> None:
        self._levels, self._kernel = levels, levels.kernel
        names = sorted(set(actors))
        self._actors = [names.index(actor) for actor in actors]
        self._root = self._folder = ""

    @property
    def _expanding(self) -> executor_kernels.Kernel:
        """The kernel in the form that tasks use, made available in this process."""
        return executor_kernels.kernel_of(executor_kernels.at_hand(self._levels.work, self._kernel.code))

    def to_violation(self, invariant: str, length: int) -> Path:
        with self._slices():
            bit = self._kernel.verdicts.invariants[invariant]
            return self._path(length, [], {"bit": bit})

    def to_deadlock(self, length: int) -> Path:
        with self._slices():
            last = self._slice(length, {"stuck": True})
            return self._path(length, [last], {"into": last})

    def to_state(self, leaves: tuple[int, ...], length: int) -> Path:
        with self._slices():
            state = self._kernel.layout.pack([leaves])
            last = [self._written(backward_search.with_costs(state, np.zeros((1, max(self._actors, default=0) + 1))))]
            return self._path(length, [last], {"into": last})

    @contextmanager
    def _slices(self) -> Iterator[None]:
        """A context with a folder for the slices of a path. The folder is removed at the end.

        The folder is in the dataset or, if the dataset cannot be written, on this machine. Other machines cannot access
        a folder on this machine. So `OSError` is raised if Spark runs on them and the dataset cannot be written.
        """
        with ExitStack() as leaving:
            self._root, self._folder = self._levels.work["root"], f"{SLICES}-{uuid.uuid4().hex}"
            try:
                Storage(self._root).make(self._folder)
            except OSError as error:
                if not self._levels.on_this_machine:
                    raise OSError(WRITES.format(error)) from None
                self._root = leaving.enter_context(tempfile.TemporaryDirectory(prefix="isrcheck-"))
                Storage(self._root).make(self._folder)
            leaving.callback(Storage(self._root).remove, self._folder)
            yield

    # --- backwards --------------------------------------------------------------------------------------------------

    def _path(self, length: int, known: list[Entries], last: Question) -> Path:
        """Finds the path of `length` states. `last` is the question about the slice of level `length - 1`.

        `known` has the slice of level `length`, or is empty if the path ends in a violation.
        """
        slices, question = list(known), last
        for level in range(length - 1, 0, -1):
            slices.append(self._slice(level, question))
            question = {"into": slices[-1]}
        return self._canonical_walk(slices[::-1], length, last)

    def _slice(self, level: int, question: Question) -> Entries:
        """Finds the slice of a level, and returns the entries of its files. Small parts are written into one file."""
        where = {"root": self._root, "cones": self._folder}
        found = self._levels.asked(level, {**question, "actors": self._actors, **where})
        small, large = b"".join(data for data, _ in found), [r["entry"] for _, r in found if r["entry"] is not None]
        if not small:
            return large
        rows = np.frombuffer(small, dtype=np.uint64).reshape(sum(r["rows"] for _, r in found if r["entry"] is None), -1)
        return [self._written(rows), *large]

    def _written(self, rows: Words) -> dict[str, Any]:
        return backward_search.written(self._root, self._folder, rows, self._expanding)

    # --- forwards ---------------------------------------------------------------------------------------------------

    def _canonical_walk(self, slices: list[Entries], length: int, last: Question) -> Path:
        """The path that begins in the least state of the first slice, and has the fewest changes of actor from there.

        If several steps allow this number of changes, the path takes the first step in the order of the transitions.
        """
        here = self._least(slices[0])
        start, instances, previous = self._levels.leaves(here)[0], list[int](), -1
        kernel, actors = self._expanding, np.array(self._actors, dtype=np.int64)
        for level in range(1, length):
            question = {"into": slices[level]} if level < len(slices) else last
            after = kernel.expand(here, kernel.tally(), traced=True).copy()
            transition = kernel.transition[: len(after)].copy()
            acting = actors[transition]
            weight = backward_search.target_of(question, self._root, kernel).after(after, acting)
            changes = weight + ((acting != previous) & (previous >= 0))
            best = int(np.lexsort((transition, changes))[0])
            assert weight[best] < backward_search.UNREACHED, "a state of a cone has a step into the next one"
            instances.append(int(transition[best]))
            here, previous = after[best : best + 1], int(acting[best])
        return Path(start, tuple(instances))

    def _least(self, slice_: Entries) -> Words:
        """The least state of a slice. States are compared by their leaves."""
        states: Words = backward_search.rows_of(self._root, slice_)[:, : self._kernel.words]
        leaves = self._levels.leaves(states)
        least = min(range(len(leaves)), key=leaves.__getitem__)
        return states[least : least + 1]
