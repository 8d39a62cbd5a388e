"""Decodes packed states and steps into tables with names and types. Executors get this module by value.

A *shape* (`isrcheck.checker.datasets.variables`) describes how a value is stored. It is one of

    [flag | number | broker, place]   [enum, place, names]   [set, place, number of brokers]   [record, names, shapes]
    [per, shapes]   [sequence, place of the length, a shape for each slot]   [messages | bag, places, elements, type]

A place says where a leaf is in a packed state: `[word, shift, width, low]`, see `executor_queries.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from isrcheck.checker.datasets.places import located
from isrcheck.checker.engines.spark import executor_kernels, state_files
from isrcheck.checker.engines.spark.executor_queries import Query, each_file, leaf

Array = Any
ROWS = 1 << 14
"""The most rows in a batch. A decoded state may be a hundred times as large as a packed state."""


def built(shape: list[Any], states: Array) -> Any:
    """The values of a variable in packed states, as an Arrow array. `shape` says where its leaves are packed.

    `states` has a row for each state and a column for each word.
    """
    kind, first, *rest = shape
    if kind == "record":
        return pa.StructArray.from_arrays([built(part, states) for part in rest[0]], first)
    if kind == "per":
        return _listed(np.ones((len(states), len(first)), dtype=np.bool_), [built(part, states) for part in first])
    if kind == "messages":
        there = np.stack([leaf(states, place) == 1 for place in first], axis=1)
        return _chosen(there, pa.array(rest[0], _arrow(rest[1])))
    if kind == "bag":
        return _counted(np.stack([leaf(states, place) for place in first], axis=1), pa.array(rest[0], _arrow(rest[1])))
    values = leaf(states, first)
    if kind == "sequence":
        return _listed(np.arange(len(rest[0])) < values[:, None], [built(part, states) for part in rest[0]])
    if kind == "set":
        return _chosen(values[:, None] >> np.arange(rest[0]) & 1 == 1, pa.array(range(rest[0]), pa.int64()))
    if kind == "enum":
        return pa.array(rest[0], pa.string()).take(pa.array(values))
    if kind == "flag":
        return pa.array(values == 1)
    return pa.array(values, mask=values < 0) if kind == "broker" else pa.array(values)


def _listed(there: Array, slots: list[Any]) -> Any:
    """For each row, the list of the values in its existing slots. The array `there` (rows, slots) marks these slots."""
    row, slot = np.nonzero(there)
    return _lists(there, pa.concat_arrays(slots).take(pa.array(slot * len(there) + row)))


def _chosen(there: Array, elements: Any) -> Any:
    """For each row, the list of its elements. The array `there` (rows, elements) marks the elements that a row has."""
    return _lists(there, elements.take(pa.array(np.nonzero(there)[1])))


def _counted(times: Array, elements: Any) -> Any:
    """For each row, the list of its elements, each as often as the array `times` (rows, elements) says."""
    which = np.tile(np.arange(times.shape[1]), len(times))
    return _lists(times, elements.take(pa.array(np.repeat(which, times.ravel()))))


def _lists(there: Array, values: Any) -> Any:
    """Divides the values into lists, one for each row of `there`. The sum of a row is the length of its list."""
    offsets = np.concatenate(([0], np.cumsum(there.sum(axis=1)))).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values)


def _arrow(kind: Any) -> Any:
    """The Arrow type for the name of an SQL type, for `[type]` (a list), or for a dictionary of types (a record)."""
    if isinstance(kind, list):
        return pa.list_(_arrow(kind[0]))
    if isinstance(kind, dict):
        return pa.struct([(name, _arrow(inner)) for name, inner in kind.items()])
    return {"boolean": pa.bool_(), "bigint": pa.int64(), "string": pa.string()}[kind]


def table_of(query: Query, states: Array, kernel: executor_kernels.Kernel) -> Any:
    """States as an Arrow batch: the packed words, the query's columns, and whether each invariant is violated."""
    names, arrays = ["state"], [packed(states)]
    for name, _, shape in query["columns"]:
        names.append(name)
        arrays.append(built(shape, states))
    verdicts = kernel.evaluate(states)
    for name, bit in query["invariants"].items():
        names.append(f"violates.{name}")
        arrays.append(pa.array(verdicts[:, bit // 64] >> np.uint64(bit % 64) & np.uint64(1) == 1))
    return pa.RecordBatch.from_arrays(arrays, names)


def packed(states: Array) -> Any:
    """An Arrow column with the bytes of packed states."""
    part = np.ascontiguousarray(states)
    kind = pa.binary(part.shape[1] * 8)
    return pa.FixedSizeBinaryArray.from_buffers(kind, len(part), [None, pa.py_buffer(part)]).cast(pa.binary())


def decoded(query: Query) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A function for `mapInArrow` that gives the level and the columns of each state.

    The files are given to the function as positions in `query["files"]`.
    """

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        kernel = executor_kernels.kernel_of(query)
        for level, slab in each_file(query, batches):
            for start in range(0, len(slab), ROWS):
                table = table_of(query, slab[start : start + ROWS], kernel)
                yield table.add_column(0, "level", pa.array(np.full(len(table), level, dtype=np.int32)))

    return run


def steps(query: Query) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A function for `mapInArrow` that gives each step with its action and actor.

    The files are given to the function as positions in `query["files"]`.
    """

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        texts = {name: pa.array([row[name] for row in query["steps"]]) for name in ("action", "actor", "step")}
        for batch in batches:
            for number in batch.column(0).to_pylist():
                level, path, sha256 = query["files"][number]
                state_files.require_whole(query["root"], path, sha256)
                filesystem, place = located(query["root"], path)
                with filesystem.open_input_file(place) as stream:
                    file = pq.ParquetFile(stream, page_checksum_verification=True)
                    for rows in file.iter_batches(1 << 16):
                        columns = {"level": pa.array(np.full(len(rows), level, dtype=np.int32))}
                        columns |= {end: rows[end].cast(pa.binary()) for end in ("source", "target")}
                        columns |= {name: names.take(rows["transition"]) for name, names in texts.items()}
                        yield pa.RecordBatch.from_pydict({**columns, "counted": rows["counted"]})

    return run
