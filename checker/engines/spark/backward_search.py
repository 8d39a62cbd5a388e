"""The work of tasks in the search for a trace: finding the slice of a level, or the least state that has a failure.

A trace of n states leads to a wanted end, such as a violation. The *backward slice* of level k has the states of this
level from which n - k steps can lead to the end. A *change of actor* is a step by another actor than the step before. A
trace should have as few changes of actor as possible. So a slice has a *cost* for each of its states and each actor.
The cost is the fewest changes of actor up to the end, if this actor took the step to the state.

Slices are stored in files, so that no process must hold a large slice. The files have the form of files of states
(`state_files.py`), but each row also has the costs of the state, after its words. A task finds one partition's part of
a slice. The task writes a large part into a file. It returns a small part together with its report, and the driver
writes all small parts into one file.

A *question* is JSON. A question about a slice has `actors` (the actor of each transition), `root` (the dataset or
another folder), `slices` (the folder for slices, below `root`), and one entry that says which states are in the slice:

* `bit`: the states with a step to a state that has this verdict bit
* `into`: the states with a step into the slice of the next level (the entry lists the files of this slice)
* `stuck`: the states without a step

A question about a failure has `places` (where each leaf is in a packed state, see `executor_queries.py`). If the
question also has `failed` (a verdict bit), it asks for the least successor that has this bit. Otherwise, it asks for
the least state in which a transition cannot be evaluated, and for the first such transition. States are compared by
their leaves.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from isrcheck.checker.engines.spark import executor_queries, state_files
from isrcheck.checker.engines.spark import row_order as rows
from isrcheck.checker.engines.spark.executor_kernels import Kernel, Work, kernel_of
from isrcheck.checker.engines.spark.step_files import blocks

Array = Any
INLINE = 1 << 14
"""The largest part of a slice, in bytes, that a task returns to the driver. So 4,096 tasks return at most 64 MiB."""
HELD = 1 << 20
"""A slice with at most this many states is read whole. Of a larger slice, only the needed slabs are read."""
CHUNK_BYTES = 1 << 25
"""Successors are looked up in a slice in batches of about this many bytes."""
UNREACHED = 2**31 - 1


# --- slices ---------------------------------------------------------------------------------------------------------


def with_costs(states: Array, after: Array) -> Array:
    """The rows of a slice: the words of each state, then its costs. A word holds two costs.

    `after` has the costs as an array (states, actors).
    """
    numbers = np.zeros((len(after), -(-after.shape[1] // 2) * 2), dtype=np.uint32)
    numbers[:, : after.shape[1]] = after
    return np.concatenate([states, numbers.view(np.uint64)], axis=1)


def costs(found: Array, words: int) -> Array:
    """The costs in the rows of a slice. `words` is the number of words of a state."""
    return np.ascontiguousarray(found[:, words:]).view(np.uint32)


class BackwardSlice:
    """Looks up states in the files of a slice."""

    def __init__(self, root: str, entries: list[dict[str, Any]], kernel: Kernel) -> None:
        self._root, self._kernel = root, kernel
        self._paths = [entry["path"] for entry in entries]
        self._held: tuple[Array, Array] | None = None
        if sum(entry["rows"] for entry in entries) <= HELD:
            found = rows_of(root, entries)
            hashes = self._hashes(found)
            order = rows.order_of(hashes)
            self._held = found.take(order, axis=0), hashes.take(order)

    def _hashes(self, found: Array) -> Array:
        return self._kernel.hashes(found[:, : self._kernel.words])

    def _reader(self, path: str) -> state_files.Reader:
        return state_files.Reader(self._root, path, self._hashes)

    def after(self, states: Array, acting: Array) -> Array:
        """For each state, the fewest changes of actor up to the end of the trace.

        `acting` has the actor of the step to each state. The result is UNREACHED for a state outside the slice.
        """
        found, words = np.full(len(states), UNREACHED, dtype=np.int64), self._kernel.words
        hashes = self._kernel.hashes(states)
        order = rows.order_of(hashes)
        in_order, wanted = states.take(order, axis=0), hashes.take(order)
        for known, known_hashes, a, b in self._around(wanted):
            at = rows.positions(in_order[a:b], wanted[a:b], known[:, :words], known_hashes)
            there = np.flatnonzero(at >= 0)
            of = order[a:b][there]
            found[of] = costs(known[at[there]], words)[np.arange(len(of)), acting[of]]
        return found

    def _around(self, wanted: Array) -> Iterator[tuple[Array, Array, int, int]]:
        if self._held is not None:
            yield *self._held, 0, len(wanted)
            return
        for path in self._paths:
            reader = self._reader(path)
            yield from reader.around(wanted)
            reader.close()


def rows_of(root: str, entries: list[dict[str, Any]]) -> Array:
    """All rows of a slice. The slice must not be empty."""
    found = []
    for entry in entries:
        reader = state_files.Reader(root, entry["path"], lambda rows: rows[:, 0])
        found += list(reader.all())
        reader.close()
    return np.concatenate(found)


class Goal:
    """The states that have a given verdict bit. A trace may end in each of these states."""

    def __init__(self, bit: int, kernel: Kernel) -> None:
        self._bit, self._kernel = bit, kernel

    def after(self, states: Array, acting: Array) -> Array:
        """Like `BackwardSlice.after`. Gives 0 for a state with the verdict bit, and UNREACHED for other states."""
        return np.where(has_bit(self._kernel, states, self._bit), 0, UNREACHED)


def target_of(question: dict[str, Any], root: str, kernel: Kernel) -> BackwardSlice | Goal:
    """The slice or the goal of a question. The question asks for the states with a step into this slice or goal."""
    return BackwardSlice(root, question["into"], kernel) if "into" in question else Goal(question["bit"], kernel)


def has_bit(kernel: Kernel, states: Array, bit: int) -> Array:
    return kernel.evaluate(states)[:, bit // 64] >> np.uint64(bit % 64) & np.uint64(1) == 1


def sliced(work: Work, partition: int) -> tuple[bytes, dict[str, Any]]:
    """Finds a partition's part of a slice. Returns its rows and a report.

    If the rows have more than `INLINE` bytes, they are written into a file and not returned. The report then has the
    file's entry.
    """
    kernel, question = kernel_of(work), json.loads(state_files.shared(work["question"]))
    actors = np.array(question["actors"], dtype=np.int64)
    number = int(actors.max(initial=0)) + 1
    parts = [np.empty((0, kernel.words + -(-number // 2)), dtype=np.uint64)]
    if "stuck" in question:
        parts += [with_costs(x, np.zeros((len(x), number))) for x in without_steps(work, kernel, partition)]
    else:
        aim = target_of(question, question["root"], kernel)
        for states, source, transition, after in chunks(work, kernel, partition):
            acting = actors[transition]
            parts.append(reached(states, source, acting, aim.after(after, acting), number))
    return given_back(question["root"], question["cones"], kernel, partition, np.concatenate(parts))


def reached(states: Array, source: Array, acting: Array, weight: Array, actors: int) -> Array:
    """The rows of a slice: the states that have a step into the next slice or to the goal, with their costs.

    `source`, `acting` and `weight` have an entry for each step: the position of its source in `states`, its actor, and
    the fewest changes of actor after the step (UNREACHED if the step does not lead into the next slice or to the goal).
    """
    by_actor = np.full((len(states), actors), UNREACHED, dtype=np.int64)
    np.minimum.at(by_actor, (source, acting), weight)
    least = by_actor.min(axis=1, keepdims=True)
    there = np.flatnonzero(least[:, 0] < UNREACHED)
    # If the next step has another actor than the step to the state, there is one more change of actor.
    return with_costs(states[there], np.minimum(by_actor, least + 1)[there])


def given_back(root: str, folder: str, kernel: Kernel, partition: int, found: Array) -> tuple[bytes, dict[str, Any]]:
    report: dict[str, Any] = {"owner": partition, "rows": len(found), "entry": None}
    if found.nbytes <= INLINE:
        return found.tobytes(), report
    return b"", {**report, "entry": written(root, folder, found, kernel)}


def written(root: str, folder: str, found: Array, kernel: Kernel) -> dict[str, Any]:
    """Sorts rows of a slice and writes them into a new file. Returns an entry about the file, as in a manifest."""
    path = f"{folder}/{uuid.uuid4().hex}.parquet"
    hashes = kernel.hashes(found[:, : kernel.words])
    order = rows.order_of(hashes)
    return {
        "path": path,
        **state_files.write(root, path, [(found.take(order, axis=0), hashes.take(order))], found.shape[1]),
    }


def chunks(work: Work, kernel: Kernel, partition: int) -> Iterator[tuple[Array, Array, Array, Array]]:
    """Yields a partition's states in chunks, with the steps of each chunk.

    For each step: the position of its source in the chunk, the number of its transition, and its successor.
    """
    pending: list[tuple[Array, Array, Array, Array]] = []
    count = size = 0
    for states, _ in blocks(work, kernel, partition):
        after = kernel.expand(states, kernel.tally(), traced=True).copy()
        source, transition = kernel.source[: len(after)] + count, kernel.transition[: len(after)].copy()
        pending.append((states, source, transition, after))
        count, size = count + len(states), size + after.nbytes
        if size > CHUNK_BYTES:
            yield tuple(np.concatenate(column) for column in zip(*pending, strict=True))  # type: ignore[misc]
            pending, count, size = [], 0, 0
    if pending:
        yield tuple(np.concatenate(column) for column in zip(*pending, strict=True))  # type: ignore[misc]


def without_steps(work: Work, kernel: Kernel, partition: int) -> Iterator[Array]:
    for states, _ in blocks(work, kernel, partition):
        found = len(kernel.expand(states, kernel.tally(), traced=True))
        yield states[np.bincount(kernel.source[:found], minlength=len(states)) == 0]


# --- where evaluation failed ----------------------------------------------------------------------------------------


def failing(work: Work, partition: int) -> tuple[bytes, dict[str, Any]]:
    """Finds the least of a partition's states in which a transition fails, and the first transition that fails there.

    If the question has `failed`, finds the least successor with this verdict bit instead, and gives transition 0. The
    report has the state (as leaves) and the transition, or None if there is no such state.
    """
    kernel, question = kernel_of(work), json.loads(state_files.shared(work["question"]))
    least: tuple[list[int], int] | None = None
    for states, _ in blocks(work, kernel, partition):
        if "failed" in question:
            after = kernel.expand(states, kernel.tally())
            where = after[has_bit(kernel, after, question["failed"])]
            instances = np.zeros(len(where), dtype=np.int64)
        else:
            source, instances = kernel.failures(states)
            where = states[source]
        if len(where):
            columns = [executor_queries.leaf(where, place) for place in question["places"]]
            first = np.lexsort((instances, *columns[::-1]))[0]
            mine = [int(column[first]) for column in columns], int(instances[first])
            least = mine if least is None else min(least, mine)
    return b"", {"owner": partition, "least": least}


# --- as a function over Arrow batches -------------------------------------------------------------------------------


def looking(work: Work) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A function for `mapInArrow`: it takes partitions, and gives each partition's number, rows and report."""

    def look(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            for partition in batch.column(0).to_pylist():
                data, report = looked(work, partition)
                columns = [pa.array([partition], pa.int32()), pa.array([data], pa.binary())]
                yield pa.RecordBatch.from_arrays(
                    [*columns, pa.array([json.dumps(report)])], ["owner", "rows", "report"]
                )

    return look


def looked(work: Work, partition: int) -> tuple[bytes, dict[str, Any]]:
    """A partition's answer to the question in `work`: rows and a report."""
    question = json.loads(state_files.shared(work["question"]))
    return failing(work, partition) if "places" in question else sliced(work, partition)
