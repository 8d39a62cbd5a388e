"""The steps from the states of a level: kept as edges, or looked for where a trace is wanted."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from isrcheck.checker.engines.spark import files, rows
from isrcheck.checker.engines.spark.kernels import Kernel, Work, kernel_of

Array = Any


def blocks(work: Work, kernel: Kernel, owner: int) -> Iterator[tuple[Array, int]]:
    """The states of the level that an owner has, as many as the kernel takes at once, and the bytes read for them."""
    low, high = work["bounds"][owner : owner + 2]
    for entry in files.mine(work, owner)["frontier"]:
        reader = files.Reader(work["root"], entry["path"], kernel.hashes)
        before = 0
        for states, _ in reader.between(low, high):
            for start in range(0, len(states), kernel.block):
                yield states[start : start + kernel.block], reader.read - before
                before = reader.read
        reader.close()


class Edges:
    """The steps of an owner's states, as a file."""

    def __init__(self, work: Work, kernel: Kernel, owner: int) -> None:
        self.kernel, self.root = kernel, work["root"]
        self.path = f"{work['steps']}/edges-{owner:05d}-{uuid.uuid4().hex}.parquet"
        self.writer: Any = None
        self.stream: Any = None
        self.rows = 0

    def add(self, states: Array, successors: Array, inside: Array | None) -> None:
        count, kind = len(successors), pa.binary(8 * self.kernel.words)
        sources = np.ascontiguousarray(states[self.kernel.source[:count]])
        table = pa.table({
            "source": pa.FixedSizeBinaryArray.from_buffers(kind, count, [None, pa.py_buffer(sources)]),
            "transition": pa.array(self.kernel.transition[:count].astype(np.int32)),
            "target": pa.FixedSizeBinaryArray.from_buffers(kind, count, [None, pa.py_buffer(successors.copy())]),
            "counted": pa.array(np.ones(count, dtype=np.bool_) if inside is None else inside),
        })  # fmt: skip
        if self.writer is None:
            self.stream = files.Written(self.root, self.path)
            self.writer = pq.ParquetWriter(self.stream, table.schema, compression="zstd", write_page_checksum=True)
        self.writer.write_table(table)
        self.rows += count

    def close(self) -> dict[str, Any] | None:
        if self.writer is None:
            return None
        self.writer.close()
        return {"path": self.path, "rows": self.rows, **self.stream.end()}


def scan(work: Work, owner: int) -> tuple[bytes, bytes, bytes]:
    """States of a level that answer the question of a work: sources, transitions, successors.

    The question is `bit` (successors with this verdict bit), `into` (successors among these), `stuck` (states without
    a successor) or `failing` (instances without meaning).
    """
    kernel, ask = kernel_of(work), work["ask"]
    sources, transitions, targets = [], [], []
    into = hashes = None
    if "into" in ask:
        into = np.frombuffer(files.shared(ask["into"]), dtype=np.uint64).reshape(-1, kernel.words)
        into, hashes = rows.distinct(into, kernel.hashes(into))
    for states, _ in blocks(work, kernel, owner):
        if "failing" in ask:
            source, transition = kernel.failures(states)
            sources.append(states[source])
            transitions.append(transition.copy())
            continue
        successors = kernel.expand(states, kernel.tally(), traced=True)
        source, transition = kernel.source[: len(successors)], kernel.transition[: len(successors)]
        if "stuck" in ask:
            sources.append(states[np.bincount(source, minlength=len(states)) == 0])
            continue
        if into is not None:
            wanted = rows.positions(successors, kernel.hashes(successors), into, hashes) >= 0
        else:
            wanted = kernel.judge(successors)[:, ask["bit"] // 64] >> np.uint64(ask["bit"] % 64) & np.uint64(1) == 1
        sources.append(states[source[wanted]])
        transitions.append(transition[wanted])
        targets.append(successors[wanted])
    return tuple(np.concatenate(x).tobytes() if x else b"" for x in (sources, transitions, targets))  # type: ignore[return-value]


def scanning(work: Work) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A function for `mapInArrow`: owners in; sources, transitions and targets out."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            for owner in batch.column(0).to_pylist():
                columns = [pa.array([data], pa.binary()) for data in scan(work, owner)]
                yield pa.RecordBatch.from_arrays(columns, ["sources", "transitions", "targets"])

    return run
