"""The executors' part in a level: expand a partition's states, then keep the new states among a partition's candidates.

A *work* is a dictionary with everything that a task needs, such as the root of the dataset, the name of the kernel's
file, the first hash of each partition, and a plan. A *partition* has all states whose hashes are in its range. Its
*candidates* are all successors whose hashes are in its range, new or known. The plan names, for each partition, the
files that may have its states: files of the level to expand, and files of the states known so far. Each attempt of a
task writes files with new names, and no file counts before the driver commits the level.
"""

from __future__ import annotations

import itertools
import json
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from isrcheck.checker.engines.spark import row_order, state_files
from isrcheck.checker.engines.spark.executor_kernels import BLOCK_ROWS, Kernel, Work, kernel_of
from isrcheck.checker.engines.spark.step_files import Edges, blocks

Array = Any
Message = tuple[int, bytes, str]
"""A message to a partition: (partition, packed states, report). Either the states or the report is empty."""
CHUNK_BYTES = 1 << 25
"""Duplicates are removed from batches of about this many bytes of successors. Larger batches have more duplicates,
so less is sent."""
PIECE_BYTES = 1 << 22
"""A message to a partition has at most this many bytes of states."""


# --- expanding ------------------------------------------------------------------------------------------------------


def expand(work: Work, partition: int) -> Iterator[Message]:
    """Expands a partition's states of the level. Yields messages with the successors, then a report.

    Successors outside the constraints are not sent.
    """
    begin, kernel = time.perf_counter(), kernel_of(work)
    compiled, tally, read, sent, rejected, expanded = time.perf_counter(), kernel.tally(), 0, 0, 0, 0
    outside = np.zeros(kernel.sizes["verdict_words"], dtype=np.uint64)
    edges = Edges(work, kernel, partition) if work["transitions"] else None
    pending: list[Array] = []
    for states, size in blocks(work, kernel, partition):
        successors = kernel.expand(states, tally, traced=edges is not None)
        read, expanded = read + size, expanded + len(states)
        inside = None
        if kernel.sizes["constrained"]:
            verdicts = kernel.evaluate(successors)
            inside = verdicts[:, 0] & np.uint64(2) == 0
            outside |= np.bitwise_or.reduce(verdicts[~inside], axis=0)
            rejected += int(len(inside) - inside.sum())
        if edges is not None:
            edges.add(states, successors, inside)
        pending.append(successors.copy() if inside is None else successors[inside])
        if sum(part.nbytes for part in pending) > CHUNK_BYTES:
            for message in shares(work, kernel, pending):
                sent += len(message[1])
                yield message
            pending = []
    for message in shares(work, kernel, pending):
        sent += len(message[1])
        yield message
    report = {
        "expanded": expanded, "tally": tally.tolist(), "rejected": rejected, "outside": bits(outside), "read": read,
        "sent": sent, "compile": compiled - begin, "seconds": time.perf_counter() - begin,
        "transitions": edges.close() if edges is not None else None,
    }  # fmt: skip
    yield partition, b"", json.dumps(report)


def shares(work: Work, kernel: Kernel, pending: list[Array]) -> Iterator[Message]:
    """Yields messages that send the successors in `pending` to their partitions, without duplicates."""
    if not pending:
        return
    found = np.concatenate(pending)
    found, hashes = row_order.distinct(found, kernel.hashes(found))
    edges = row_order.cuts(hashes, work["bounds"])
    piece = max(PIECE_BYTES // found[:1].nbytes, 1) if len(found) else 1
    for partition, (begin, end) in enumerate(itertools.pairwise(edges)):
        for start in range(begin, end, piece):
            yield partition, found[start : min(start + piece, end)].tobytes(), ""


def bits(words: Array) -> int:
    """The words of a verdict as one large integer."""
    return sum(int(word) << 64 * i for i, word in enumerate(words))


# --- keeping what is new --------------------------------------------------------------------------------------------


def merge(work: Work, partition: int, payloads: list[bytes]) -> dict[str, Any]:
    """Writes the new states among a partition's candidates into a file. `payloads` has the candidates in sorted parts.

    Also merges files of known states (see `compact`). Returns a report of counts and files. Empties `payloads`, to free
    its memory early.
    """
    begin, kernel = time.perf_counter(), kernel_of(work)
    low, high = work["bounds"][partition : partition + 2]
    given = [np.frombuffer(p, dtype=np.uint64).reshape(-1, kernel.words) for p in payloads]
    received = sum(part.nbytes for part in given)
    found, hashes = row_order.together([(part, kernel.hashes(part)) for part in given], kernel.words, low, high)
    del given, payloads[:]
    mine, read = state_files.mine(work, partition)["known"], 0
    new = np.ones(len(found), dtype=np.bool_)
    # The newest files are read first, because most known candidates were found recently. Whenever more than half of the
    # remaining candidates are known, the known ones are removed, so that they need no further look-up.
    for entry in reversed(mine):
        read += forget_known(work["root"], entry["path"], kernel, new, found, hashes)
        if 2 * np.count_nonzero(new) < len(new):
            found, hashes, new = only(new, found, hashes)
    found, hashes, _ = only(new, found, hashes)
    path = f"{work['states']}/part-{partition:05d}-{uuid.uuid4().hex}.parquet"
    written = state_files.write(work["root"], path, [(found, hashes)], kernel.words, work["group"])
    part = {"path": path, **written, "owner": partition_name(low, high)} if written["rows"] else None
    merged = compact(work, kernel, [e for e in mine if e["owner"] == partition_name(low, high)], low, high)
    return {
        "owner": partition, "distinct": len(found), "counts": counts(kernel, found), "part": part, "merged": merged,
        "received": received, "read": read, "written": written["bytes"] + sum(m["entry"]["bytes"] for m in merged),
        "seconds": time.perf_counter() - begin,
    }  # fmt: skip


def only(new: Array, found: Array, hashes: Array) -> tuple[Array, Array, Array]:
    """Keeps only the states that are marked as new. Returns the kept states, their hashes and their marks."""
    kept = np.flatnonzero(new)
    return found.take(kept, axis=0), hashes.take(kept), np.ones(len(kept), dtype=np.bool_)


def forget_known(root: str, path: str, kernel: Kernel, new: Array, found: Array, hashes: Array) -> int:
    """Clears `new` for the states that a file has. Returns the number of bytes read."""
    reader = state_files.Reader(root, path, kernel.hashes)
    for known, known_hashes, a, b in reader.around(hashes):
        row_order.mark_known(new[a:b], found[a:b], hashes[a:b], known, known_hashes)
    reader.close()
    return reader.read


def counts(kernel: Kernel, states: Array) -> list[int]:
    """The number of states in which each verdict bit is set."""
    total = [0] * int(kernel.sizes["verdict_bits"])
    for start in range(0, len(states), BLOCK_ROWS):
        verdicts = kernel.evaluate(states[start : start + BLOCK_ROWS])
        seen = bits(np.bitwise_or.reduce(verdicts, axis=0))
        for bit in range(seen.bit_length()):
            if seen >> bit & 1:
                column = verdicts[:, bit // 64] >> np.uint64(bit % 64) & np.uint64(1)
                total[bit] += int(np.count_nonzero(column))
    return total


def partition_name(low: int, high: int) -> str:
    """The name of a partition, made of its range of hashes. A partition merges only files with its own name."""
    return f"{low:x}-{high:x}"


def compact(work: Work, kernel: Kernel, runs: list[dict[str, Any]], low: int, high: int) -> list[dict[str, Any]]:
    """If `runs` has more than `most_runs` files, merges the smallest of them (just over half) into one file.

    Returns a list with the new file's entry and the paths of the replaced files, or an empty list if nothing is merged.
    Because large files are left alone, no state is rewritten often.
    """
    if len(runs) <= work["most_runs"]:
        return []
    chosen = sorted(runs, key=lambda e: (e["rows"], e["path"]))[: len(runs) // 2 + 1]
    path = f"runs/{uuid.uuid4().hex}.parquet"
    readers = [state_files.Reader(work["root"], e["path"], kernel.hashes) for e in chosen]
    pieces = -(-sum(e["rows"] for e in chosen) // (state_files.SLAB * state_files.GROUP))
    edges = [low + (high - low) * i // pieces for i in range(pieces + 1)]
    slabs = (together(readers, kernel.words, a, b) for a, b in itertools.pairwise(edges))
    entry = {
        **state_files.write(work["root"], path, slabs, kernel.words, work["group"]),
        "path": path,
        "owner": partition_name(low, high),
    }
    for reader in readers:
        reader.close()
    return [{"entry": entry, "replaced": [e["path"] for e in chosen]}]


def together(readers: list[state_files.Reader], words: int, low: int, high: int) -> tuple[Array, Array]:
    """The distinct states of several files, in order. Takes only states with hashes from `low` to `high - 1`."""
    return row_order.together([part for reader in readers for part in reader.between(low, high)], words, low, high)


# --- as functions over Arrow batches --------------------------------------------------------------------------------


def expanding(work: Work) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A function for `mapInArrow`: it takes partitions, and gives messages (partition, rows, report)."""

    def expand_partitions(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            for partition in batch.column(0).to_pylist():
                for to, data, report in expand(work, partition):
                    columns = [pa.array([to], pa.int32()), pa.array([data], pa.binary()), pa.array([report])]
                    yield pa.RecordBatch.from_arrays(columns, ["owner", "rows", "report"])

    return expand_partitions


def merging(work: Work) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A function for `mapInArrow`: it takes the output of `expanding`, and gives one report for each partition."""

    def merge_partitions(batches: Iterable[Any]) -> Iterator[Any]:
        payloads: dict[int, list[bytes]] = {}
        reports: dict[int, list[Any]] = {}
        for batch in batches:
            for to, data, report in zip(*(batch.column(i).to_pylist() for i in range(3)), strict=True):
                payloads.setdefault(to, []).extend([data] if data else [])
                reports.setdefault(to, []).extend([json.loads(report)] if report else [])
        for partition in sorted(payloads):
            answer = {"expand": reports.get(partition, []), "merge": merge(work, partition, payloads[partition])}
            yield pa.RecordBatch.from_arrays([pa.array([json.dumps(answer)])], ["report"])

    return merge_partitions
