"""Reads a partition's states of a level, and writes the steps of these states into a file if steps are stored."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from isrcheck.checker.engines.spark import state_files
from isrcheck.checker.engines.spark.executor_kernels import Kernel, Work

Array = Any


def blocks(work: Work, kernel: Kernel, partition: int) -> Iterator[tuple[Array, int]]:
    """Yields a partition's states of the level in blocks, each with the bytes read since the previous block."""
    low, high = work["bounds"][partition : partition + 2]
    for entry in state_files.mine(work, partition)["frontier"]:
        reader = state_files.Reader(work["root"], entry["path"], kernel.hashes)
        before = 0
        for states, _ in reader.between(low, high):
            for start in range(0, len(states), kernel.block):
                yield states[start : start + kernel.block], reader.read - before
                before = reader.read
        reader.close()


class Edges:
    """Writes the steps of a partition's states into a file. If there are no steps, there is no file."""

    def __init__(self, work: Work, kernel: Kernel, partition: int) -> None:
        self.kernel, self.root = kernel, work["root"]
        self.path = f"{work['steps']}/edges-{partition:05d}-{uuid.uuid4().hex}.parquet"
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
            self.stream = state_files.Written(self.root, self.path)
            self.writer = pq.ParquetWriter(self.stream, table.schema, compression="zstd", write_page_checksum=True)
        self.writer.write_table(table)
        self.rows += count

    def close(self) -> dict[str, Any] | None:
        if self.writer is None:
            return None
        self.writer.close()
        return {"path": self.path, "rows": self.rows, **self.stream.end()}
