"""What executors do for one level: expand an owner's states, then keep what is new of an owner's candidates.

A *work* is a dictionary that says everything: where the dataset lies, the kernel, the files of the level to expand
and of the states known so far, where each owner's hashes begin. Nothing is written under a name that another attempt
of the same task could use, and nothing counts before the driver commits the level.
"""

from __future__ import annotations

import gc
import itertools
import json
import sys
import time
import types
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from checker.engines.spark import files, rows
from checker.kernel import native

Array = Any
Work = dict[str, Any]
Message = tuple[int, bytes, str]
"""The owner it goes to, packed states, and a report (empty where there is none)."""
CHUNK_BYTES = 1 << 25
"""Successors gathered before duplicates are removed and the rest is sent: the longer, the fewer are sent."""
BLOCK_ROWS = 1 << 19
"""Room for the successors of one call of the kernel."""
MOST_KERNELS = 4
LARGEST = np.iinfo(np.int64).max
LEAST, GREATEST, FAILURES, ACTIONS = 0, 1, 2, 3


# --- the kernel -----------------------------------------------------------------------------------------------------


def kept() -> dict[str, Any]:
    """What a Python process keeps between tasks: functions that are sent by value have no module of their own."""
    module = sys.modules.setdefault("isrcheck_kept", types.ModuleType("isrcheck_kept"))
    kernels: dict[str, Any] = module.__dict__.setdefault("kernels", {})
    return kernels


class Kernel:
    """The compiled functions for arrays, with the sizes that a work gives."""

    def __init__(self, work: Work, code: Any) -> None:
        self.code, self.sizes = code, dict(work["kernel"])
        self.words, self.transitions = self.sizes["words"], max(self.sizes["transitions"], 1)
        self.block = max(8, BLOCK_ROWS // self.transitions)
        room = self.block * self.transitions + 8
        self.room = np.empty((room, self.words), dtype=np.uint64)
        self.source, self.transition = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)

    def tally(self) -> Array:
        tally = np.zeros(ACTIONS + self.sizes["actions"], dtype=np.int64)
        tally[LEAST] = LARGEST
        return tally

    def expand(self, states: Array, tally: Array, traced: bool = False) -> Array:
        """The successors of at most `block` states, in a buffer that the next call overwrites."""
        states = np.ascontiguousarray(states)
        traces = (self.source.ctypes.data, self.transition.ctypes.data) if traced else (0, 0)
        arguments = (states.ctypes.data, len(states), self.room.ctypes.data, *traces, tally.ctypes.data)
        return self.room[: self.code.calls["expand"](*arguments)]

    def failures(self, states: Array) -> tuple[Array, Array]:
        states = np.ascontiguousarray(states)
        arguments = (states.ctypes.data, len(states), self.source.ctypes.data, self.transition.ctypes.data)
        count = self.code.calls["failures"](*arguments)
        return self.source[:count], self.transition[:count]

    def hashes(self, states: Array) -> Array:
        states, out = np.ascontiguousarray(states), np.empty(len(states), dtype=np.uint64)
        self.code.calls["hashes"](states.ctypes.data, len(states), out.ctypes.data)
        return out

    def judge(self, states: Array) -> Array:
        """The verdict bits of each state: shape (states, words of a verdict)."""
        states, out = np.ascontiguousarray(states), np.empty((len(states), self.sizes["verdict_words"]), np.uint64)
        self.code.calls["judge"](states.ctypes.data, len(states), out.ctypes.data)
        return out


def keep(work: Work, code: Any) -> None:
    """Makes compiled code the kernel of a work; of others only the last few stay."""
    kernels = kept()
    while len(kernels) >= MOST_KERNELS:
        del kernels[next(iter(kernels))]
    kernels[work["kernel"]["digest"]] = Kernel(work, code)


def at_hand(work: Work, code: Any) -> Work:
    """The work, to be done by this process, which has the compiled code already."""
    if work["kernel"]["digest"] not in kept():
        keep(work, code)
    return work


def kernel_of(work: Work) -> Kernel:
    """The kernel of a work: compiled once in every Python process."""
    digest = work["kernel"]["digest"]
    if digest not in kept():
        from pyspark import SparkFiles

        with open(SparkFiles.get(work["kernel"]["file"]), encoding="utf-8") as text:
            keep(work, native.Code(text.read()))
        # PySpark collects garbage after every task: 50 ms through what was loaded once and stays.
        gc.freeze()
    kernel: Kernel = kept()[digest]
    return kernel


# --- expanding ------------------------------------------------------------------------------------------------------


def blocks(work: Work, kernel: Kernel, owner: int) -> Iterator[tuple[Array, int]]:
    """The states of the level that an owner has, as many as the kernel takes at once, and the bytes read for them."""
    low, high = work["bounds"][owner : owner + 2]
    for entry in files.overlapping(work["frontier"], low, high):
        reader = files.Reader(f"{work['root']}/{entry['path']}", kernel.hashes)
        before = 0
        for states, _ in reader.between(low, high):
            for start in range(0, len(states), kernel.block):
                yield states[start : start + kernel.block], reader.read - before
                before = reader.read
        reader.close()


def expand(work: Work, owner: int) -> Iterator[Message]:
    """Every owner's share of the successors, duplicates removed as far as they are seen; a report at the end."""
    begin, kernel = time.perf_counter(), kernel_of(work)
    compiled, tally, read, sent, rejected, expanded = time.perf_counter(), kernel.tally(), 0, 0, 0, 0
    outside = np.zeros(kernel.sizes["verdict_words"], dtype=np.uint64)
    edges = Edges(work, kernel, owner) if work["transitions"] else None
    pending: list[Array] = []
    for states, size in blocks(work, kernel, owner):
        successors = kernel.expand(states, tally, traced=edges is not None)
        read, expanded = read + size, expanded + len(states)
        inside = None
        if kernel.sizes["constrained"]:
            verdicts = kernel.judge(successors)
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
    yield owner, b"", json.dumps(report)


def shares(work: Work, kernel: Kernel, pending: list[Array]) -> Iterator[Message]:
    """What each owner gets of some successors."""
    if not pending:
        return
    found = np.concatenate(pending)
    found, hashes = rows.distinct(found, kernel.hashes(found))
    edges = rows.cuts(hashes, work["bounds"])
    for owner, (begin, end) in enumerate(itertools.pairwise(edges)):
        if begin < end:
            yield owner, found[begin:end].tobytes(), ""


def bits(words: Array) -> int:
    """Verdict words as one integer of many bits."""
    return sum(int(word) << 64 * i for i, word in enumerate(words))


class Edges:
    """The steps of an owner's states, as a file."""

    def __init__(self, work: Work, kernel: Kernel, owner: int) -> None:
        self.kernel, self.name = kernel, f"edges-{owner:05d}-{uuid.uuid4().hex}.parquet"
        self.path = f"{work['root']}/{work['staging']}/{self.name}"
        self.writer: Any = None
        self.rows = 0

    def add(self, states: Array, successors: Array, inside: Array | None) -> None:
        import pyarrow.parquet as pq

        count, kind = len(successors), pa.binary(8 * self.kernel.words)
        sources = np.ascontiguousarray(states[self.kernel.source[:count]])
        table = pa.table({
            "source": pa.FixedSizeBinaryArray.from_buffers(kind, count, [None, pa.py_buffer(sources)]),
            "transition": pa.array(self.kernel.transition[:count].astype(np.int32)),
            "target": pa.FixedSizeBinaryArray.from_buffers(kind, count, [None, pa.py_buffer(successors.copy())]),
            "counted": pa.array(np.ones(count, dtype=np.bool_) if inside is None else inside),
        })  # fmt: skip
        if self.writer is None:
            filesystem, place = files.located(self.path)
            self.writer = pq.ParquetWriter(place, table.schema, filesystem=filesystem, compression="zstd")
        self.writer.write_table(table)
        self.rows += count

    def close(self) -> dict[str, Any] | None:
        if self.writer is None:
            return None
        self.writer.close()
        return {"name": self.name, "rows": self.rows}


# --- keeping what is new --------------------------------------------------------------------------------------------


def merge(work: Work, owner: int, payloads: list[bytes]) -> dict[str, Any]:
    """Writes what is new of an owner's candidates; a report of counts, verdicts and files."""
    begin, kernel = time.perf_counter(), kernel_of(work)
    low, high = work["bounds"][owner : owner + 2]
    given = [np.frombuffer(p, dtype=np.uint64).reshape(-1, kernel.words) for p in payloads]
    found = np.concatenate(given) if given else np.empty((0, kernel.words), dtype=np.uint64)
    del given, payloads[:]
    received = found.nbytes
    found, hashes = rows.distinct(found, kernel.hashes(found))
    mine, read = files.overlapping(work["known"], low, high), 0
    new = np.ones(len(found), dtype=np.bool_)
    for entry in mine:
        read += forget_known(f"{work['root']}/{entry['path']}", kernel, new, found, hashes)
    found, hashes = found[new], hashes[new]
    name = f"part-{owner:05d}-{uuid.uuid4().hex}.parquet"
    written = files.write(f"{work['root']}/{work['staging']}/{name}", [(found, hashes)], kernel.words, work["group"])
    part = {**written, "name": name} if written["rows"] else None
    merged = compact(work, kernel, [e for e in mine if within(e, low, high)], low, high)
    return {
        "owner": owner, "distinct": len(found), "counts": counts(kernel, found), "part": part, "merged": merged,
        "received": received, "read": read, "written": written["bytes"] + sum(m["entry"]["bytes"] for m in merged),
        "seconds": time.perf_counter() - begin,
    }  # fmt: skip


def forget_known(path: str, kernel: Kernel, new: Array, found: Array, hashes: Array) -> int:
    """Clears `new` for the states that a file has; the bytes read."""
    reader = files.Reader(path, kernel.hashes)
    for known, known_hashes, a, b in reader.around(hashes):
        rows.mark_known(new[a:b], found[a:b], hashes[a:b], known, known_hashes)
    reader.close()
    return reader.read


def counts(kernel: Kernel, states: Array) -> list[int]:
    """In how many states each verdict bit is set."""
    total = [0] * int(kernel.sizes["verdict_bits"])
    for start in range(0, len(states), BLOCK_ROWS):
        verdicts = kernel.judge(states[start : start + BLOCK_ROWS])
        seen = bits(np.bitwise_or.reduce(verdicts, axis=0))
        for bit in range(seen.bit_length()):
            if seen >> bit & 1:
                column = verdicts[:, bit // 64] >> np.uint64(bit % 64) & np.uint64(1)
                total[bit] += int(np.count_nonzero(column))
    return total


def within(entry: dict[str, Any], low: int, high: int) -> bool:
    return low <= int(entry["hashes"][0], 16) and int(entry["hashes"][1], 16) < high


def compact(work: Work, kernel: Kernel, runs: list[dict[str, Any]], low: int, high: int) -> list[dict[str, Any]]:
    """Where an owner has many files of known states, the smaller ones become one: none is rewritten often."""
    if len(runs) <= work["most_runs"]:
        return []
    chosen = sorted(runs, key=lambda e: (e["rows"], e["path"]))[: len(runs) // 2 + 1]
    path = f"runs/{uuid.uuid4().hex}.parquet"
    readers = [files.Reader(f"{work['root']}/{e['path']}", kernel.hashes) for e in chosen]
    pieces = -(-sum(e["rows"] for e in chosen) // (files.SLAB * files.GROUP))
    edges = [low + (high - low) * i // pieces for i in range(pieces + 1)]
    slabs = (together(readers, a, b) for a, b in itertools.pairwise(edges))
    entry = {**files.write(f"{work['root']}/{path}", slabs, kernel.words, work["group"]), "path": path}
    for reader in readers:
        reader.close()
    return [{"entry": entry, "replaced": [e["path"] for e in chosen]}]


def together(readers: list[files.Reader], low: int, high: int) -> tuple[Array, Array]:
    """The states of several files from `low` to before `high`, in order."""
    parts = [part for reader in readers for part in reader.between(low, high)]
    if not parts:
        return np.empty((0, 1), dtype=np.uint64), np.empty(0, dtype=np.uint64)
    return rows.distinct(np.concatenate([p for p, _ in parts]), np.concatenate([h for _, h in parts]))


# --- looking for steps ----------------------------------------------------------------------------------------------


def scan(work: Work, owner: int) -> tuple[bytes, bytes, bytes]:
    """States of a level that answer the question of a work: sources, transitions, successors.

    The question is `bit` (successors with this verdict bit), `into` (successors among these), `stuck` (states without
    a successor) or `failing` (instances without meaning).
    """
    kernel, ask = kernel_of(work), work["ask"]
    sources, transitions, targets = [], [], []
    into = hashes = None
    if "into" in ask:
        into = np.frombuffer(ask["into"], dtype=np.uint64).reshape(-1, kernel.words)
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


# --- as functions over Arrow batches --------------------------------------------------------------------------------


def expanding(work: Work) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A function for `mapInArrow`: owners in; owner, rows and report out."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            for owner in batch.column(0).to_pylist():
                for to, data, report in expand(work, owner):
                    columns = [pa.array([to], pa.int32()), pa.array([data], pa.binary()), pa.array([report])]
                    yield pa.RecordBatch.from_arrays(columns, ["owner", "rows", "report"])

    return run


def merging(work: Work) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A function for `mapInArrow`: what `expanding` gives in; one report for each owner out."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        payloads: dict[int, list[bytes]] = {}
        reports: dict[int, list[Any]] = {}
        for batch in batches:
            for to, data, report in zip(*(batch.column(i).to_pylist() for i in range(3)), strict=True):
                payloads.setdefault(to, []).extend([data] if data else [])
                reports.setdefault(to, []).extend([json.loads(report)] if report else [])
        for owner in sorted(payloads):
            answer = {"expand": reports[owner], "merge": merge(work, owner, payloads[owner])}
            yield pa.RecordBatch.from_arrays([pa.array([json.dumps(answer)])], ["report"])

    return run


def scanning(work: Work) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A function for `mapInArrow`: owners in; sources, transitions and targets out."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            for owner in batch.column(0).to_pylist():
                columns = [pa.array([data], pa.binary()) for data in scan(work, owner)]
                yield pa.RecordBatch.from_arrays(columns, ["sources", "transitions", "targets"])

    return run
