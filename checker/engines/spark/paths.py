"""Finds canonical paths in a dataset: first backwards, level by level, and then forwards.

The search backwards finds the *cone* of each level (`backwards.py`): the states of the level from which the remaining
steps of a path can lead to its end. Spark searches large levels. This process searches small levels, and then goes
forwards. The paths are the same as those that `isrcheck.checker.traces.canonical` finds. `canonical` holds cones and
their steps in memory. Here the cones are in files, so that no process must hold a large cone.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import numpy as np

from isrcheck.checker.datasets.dataset import CONES
from isrcheck.checker.datasets.storage import Storage
from isrcheck.checker.engines.spark import backwards, kernels
from isrcheck.checker.engines.spark.levels import StoredLevels
from isrcheck.checker.exploration import Path
from isrcheck.checker.kernel.layout import Words

Entries = list[dict[str, Any]]
Question = dict[str, Any]
WRITES: Final = "{}; a trace is looked for through files in the dataset's folder: let driver and executors write there"


class StoredPaths:
    """Finds paths in the levels of a dataset. `actors` names the actor of each instance of the system."""

    def __init__(self, levels: StoredLevels, actors: Sequence[str]) -> None:
        self._levels, self._kernel = levels, levels.kernel
        names = sorted(set(actors))
        self._actors = [names.index(actor) for actor in actors]
        self._root = self._folder = ""

    @property
    def _expanding(self) -> kernels.Kernel:
        """The kernel in the form that tasks use, made available in this process."""
        return kernels.kernel_of(kernels.at_hand(self._levels.work, self._kernel.code))

    def to_violation(self, invariant: str, length: int) -> Path:
        with self._cones():
            bit = self._kernel.verdicts.invariants[invariant]
            return self._path(length, [], {"bit": bit})

    def to_deadlock(self, length: int) -> Path:
        with self._cones():
            last = self._cone(length, {"stuck": True})
            return self._path(length, [last], {"into": last})

    def to_state(self, leaves: tuple[int, ...], length: int) -> Path:
        with self._cones():
            state = self._kernel.layout.pack([leaves])
            last = [self._written(backwards.with_costs(state, np.zeros((1, max(self._actors, default=0) + 1))))]
            return self._path(length, [last], {"into": last})

    @contextmanager
    def _cones(self) -> Iterator[None]:
        """A context with a folder for the cones of a path. The folder is removed at the end.

        The folder is in the dataset or, if the dataset cannot be written, on this machine. Other machines cannot access
        a folder on this machine. So `OSError` is raised if Spark runs on them and the dataset cannot be written.
        """
        with ExitStack() as leaving:
            self._root, self._folder = self._levels.work["root"], f"{CONES}-{uuid.uuid4().hex}"
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
        """Finds the path of `length` states. `last` is the question about the cone of level `length - 1`.

        `known` has the cone of level `length`, or is empty if the path ends in a violation.
        """
        cones, question = list(known), last
        for level in range(length - 1, 0, -1):
            cones.append(self._cone(level, question))
            question = {"into": cones[-1]}
        return self._walked(cones[::-1], length, last)

    def _cone(self, level: int, question: Question) -> Entries:
        """Finds the cone of a level, and returns the entries of its files. Small parts are written into one file."""
        where = {"root": self._root, "cones": self._folder}
        found = self._levels.asked(level, {**question, "actors": self._actors, **where})
        small, large = b"".join(data for data, _ in found), [r["entry"] for _, r in found if r["entry"] is not None]
        if not small:
            return large
        rows = np.frombuffer(small, dtype=np.uint64).reshape(sum(r["rows"] for _, r in found if r["entry"] is None), -1)
        return [self._written(rows), *large]

    def _written(self, rows: Words) -> dict[str, Any]:
        return backwards.written(self._root, self._folder, rows, self._expanding)

    # --- forwards ---------------------------------------------------------------------------------------------------

    def _walked(self, cones: list[Entries], length: int, last: Question) -> Path:
        """The path that begins in the least state of the first cone, and has the fewest changes of actor from there.

        If several steps allow this number of changes, the path takes the first step in the order of the transitions.
        """
        here = self._least(cones[0])
        start, instances, previous = self._levels.leaves(here)[0], list[int](), -1
        kernel, actors = self._expanding, np.array(self._actors, dtype=np.int64)
        for level in range(1, length):
            question = {"into": cones[level]} if level < len(cones) else last
            after = kernel.expand(here, kernel.tally(), traced=True).copy()
            transition = kernel.transition[: len(after)].copy()
            acting = actors[transition]
            weight = backwards.aim_of(question, self._root, kernel).after(after, acting)
            changes = weight + ((acting != previous) & (previous >= 0))
            best = int(np.lexsort((transition, changes))[0])
            assert weight[best] < backwards.UNREACHED, "a state of a cone has a step into the next one"
            instances.append(int(transition[best]))
            here, previous = after[best : best + 1], int(acting[best])
        return Path(start, tuple(instances))

    def _least(self, cone: Entries) -> Words:
        """The least state of a cone. States are compared by their leaves."""
        states: Words = backwards.rows_of(self._root, cone)[:, : self._kernel.words]
        leaves = self._levels.leaves(states)
        least = min(range(len(leaves)), key=leaves.__getitem__)
        return states[least : least + 1]
