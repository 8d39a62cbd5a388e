"""The executors' part in answering questions about a dataset: they read its files, and compile a kernel only if needed.

Executors get this module by value. A *query* is a dictionary with the root of the dataset, the list of its files with
their levels, and the place of each leaf. A *leaf* is one of the integers that encode a state. The place
`[word, shift, width, low]` says that `width` bits of word `word`, from bit `shift` on, store the leaf minus `low`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from isrcheck.checker.engines.spark import executor_kernels, state_files

Array = Any
Query = dict[str, Any]


def each_file(query: Query, batches: Iterable[Any]) -> Iterator[tuple[int, Array]]:
    """The level and the states of some files, slab by slab. The batches have the files' positions in the query."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            level, path, sha256 = query["files"][number]
            state_files.require_whole(query["root"], path, sha256)
            reader = state_files.Reader(query["root"], path, lambda rows: rows[:, 0])
            for slab in reader.all():
                yield level, slab
            reader.close()


def damaged(root: str, listed: list[tuple[str, str]]) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A function for `mapInArrow`: it takes positions in `listed`, and gives the paths of missing or changed files.

    `listed` has the path and the SHA-256 of each file.
    """

    def whole(path: str, sha256: str) -> bool:
        try:
            return state_files.is_whole(root, path, sha256)
        except FileNotFoundError:
            return False

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                if not whole(*listed[number]):
                    yield table({"path": [listed[number][0]]})

    return run


def leaf(states: Array, place: list[int]) -> Array:
    """The values of one leaf in some states, as integers."""
    word, shift, width, low = place
    stored = states[:, word] >> np.uint64(shift) & np.uint64((1 << width) - 1)
    return stored.astype(np.int64) + low


def table(columns: dict[str, Any]) -> Any:
    return pa.RecordBatch.from_pydict(columns)


def distributions(query: Query) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A function for `mapInArrow` that gives (level, leaf, value, number of states) for the leaves in the query.

    Each number counts only the states of one slab of a file, so the caller must add up the numbers.
    """

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        for level, states in each_file(query, batches):
            for number in query["leaves"]:
                values, counts = np.unique(leaf(states, query["places"][number]), return_counts=True)
                same = np.ones(len(values), dtype=np.int32)
                yield table({"level": same * level, "leaf": same * number, "value": values, "states": counts})

    return run


def degrees(query: Query) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A function for `mapInArrow` that gives (level, out-degree, number of states with this out-degree).

    Each number counts only the states of one block, so the caller must add up the numbers.
    """

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        kernel = executor_kernels.kernel_of(query)
        for level, slab in each_file(query, batches):
            for start in range(0, len(slab), kernel.block):
                states = slab[start : start + kernel.block]
                found = len(kernel.expand(states, kernel.tally(), traced=True))
                counts = np.bincount(np.bincount(kernel.source[:found], minlength=len(states)))
                degree = np.flatnonzero(counts)
                same = np.ones(len(degree), dtype=np.int32)
                yield table({"level": same * level, "degree": degree.astype(np.int32), "states": counts[degree]})

    return run


def projected(query: Query, states: Array) -> Array:
    """Packs, for each state, the variables that two compared datasets have in common.

    If the states lack a leaf, `query["from"]` has -1 for this leaf, and `query["fill"]` has its value.
    """
    packed = np.zeros((len(states), query["key_words"]), dtype=np.uint64)
    for source, value, (word, shift, _, low) in zip(query["from"], query["fill"], query["to"], strict=True):
        column = leaf(states, query["places"][source]) if source >= 0 else np.int64(value)
        packed[:, word] |= (column - low).astype(np.uint64) << np.uint64(shift)
    return packed


def projections(query: Query) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A function for `mapInArrow` that gives a pair (key, level) for each state. Equal pairs of a slab are given once.

    A key is a packed state with only the common variables (see `projected`).
    """

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        for level, states in each_file(query, batches):
            keys = np.unique(projected(query, states), axis=0)
            for start in range(0, len(keys), 1 << 16):
                part = keys[start : start + (1 << 16)]
                levels = pa.array(np.full(len(part), level, dtype=np.int32))
                yield pa.RecordBatch.from_arrays([_bytes(part), levels], ["key", "level"])

    return run


def edges(query: Query) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A function for `mapInArrow` that gives (key before, key after, action) for each step.

    Steps to states outside the constraints are left out. Keys are as in `projections`. Equal results of a block of
    states are given once.
    """

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        kernel, actions = executor_kernels.kernel_of(query), np.array(query["actions"], dtype=np.uint64)
        words = query["key_words"]
        for _, slab in each_file(query, batches):
            for start in range(0, len(slab), kernel.block):
                states = slab[start : start + kernel.block]
                after = kernel.expand(states, kernel.tally(), traced=True)
                source, transition = kernel.source[: len(after)], kernel.transition[: len(after)]
                if query["kernel"]["constrained"]:
                    inside = kernel.evaluate(after)[:, 0] >> np.uint64(query["outside"]) & np.uint64(1) == 0
                    after, source, transition = after[inside], source[inside], transition[inside]
                before = projected(query, states)[source]
                found = np.concatenate([before, projected(query, after), actions[transition, None]], axis=1)
                found = np.unique(found, axis=0)
                keys = [_bytes(found[:, :words]), _bytes(found[:, words:-1])]
                numbers = pa.array(found[:, -1].astype(np.int32))
                yield pa.RecordBatch.from_arrays([*keys, numbers], ["before", "key", "action"])

    return run


def _bytes(rows: Array) -> Any:
    """A column with the bytes of each row."""
    part = np.ascontiguousarray(rows)
    kind = pa.binary(part.shape[1] * 8)
    return pa.FixedSizeBinaryArray.from_buffers(kind, len(part), [None, pa.py_buffer(part)]).cast(pa.binary())


def least(query: Query) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A function for `mapInArrow` that gives, for each slab, the leaves of the least state with a wanted key.

    `query["wanted"]` has the wanted keys (see `projections`). States are compared by their leaves. For a slab without
    a wanted key, the function gives nothing.
    """

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        wanted = set(query["wanted"])
        for _, states in each_file(query, batches):
            keys = np.ascontiguousarray(projected(query, states))
            mine = np.array([row.tobytes() in wanted for row in keys], dtype=np.bool_)
            if mine.any():
                leaves = np.stack([leaf(states[mine], place) for place in query["places"]], axis=1)
                first = leaves[np.lexsort(leaves.T[::-1])[0]]
                yield pa.RecordBatch.from_arrays([pa.array([first.tolist()], pa.list_(pa.int64()))], ["leaves"])

    return run
