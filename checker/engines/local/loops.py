"""The search's inner loops, compiled by Numba: independent of any model, and all in this one file.

Numba's cache notices a change in the file of a function, not in functions that it calls in other files. So whatever
is compiled here calls only what stands here, and the kernel by address.

A *partition* holds the states whose hash begins with its number: rows of packed states in chunks of `1 << CHUNK`
rows, in the order in which they were found, and a table. An entry of the table is 64 bits: 32 bits of the hash (those
after the partition's), then the row plus one; 0 is empty. An entry lies at, or after, the slot `tag * capacity >> 32`,
so the table is in the order of the hash, and moving it into a larger one reads and writes from front to back.
"""

# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call,misc,call-arg,var-annotated"

from __future__ import annotations

from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

TABLE: Final = 0
CAPACITY: Final = 1
COUNT: Final = 2
ROOM: Final = 3
"""Columns of `partitions`: address and slots of the table, rows in use, rows until something must grow."""

AT_PARTITION: Final = 0
AT_ROW: Final = 1
PENDING: Final = 2
INSERTED: Final = 3
REJECTED: Final = 4
EXPANDED: Final = 5
"""Entries of `cursor`: where the frontier is read next, successors in the batch, how many of them are in the store,
successors outside the constraints, states expanded."""

FINISHED: Final = -2
PAUSED: Final = -1
"""What `advance` returns when it needs no room: the level is done, or the given work is."""

OUTSIDE_BIT: Final = 2
"""The mask of the verdict bit of states that are not counted."""


# --- memory and calls by address ------------------------------------------------------------------------------------


@intrinsic
def load(typingctx, address):
    """The unsigned 64-bit integer at an address."""

    def generate(context, builder, signature, arguments):
        return builder.load(builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()))

    return types.uint64(types.uint64), generate


@intrinsic
def store(typingctx, address, value):
    """Put an unsigned 64-bit integer at an address."""

    def generate(context, builder, signature, arguments):
        builder.store(arguments[1], builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()))
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64), generate


@intrinsic
def prefetch(typingctx, address):
    """Begin to fetch the cache line at an address that will be written soon."""

    def generate(context, builder, signature, arguments):
        i32, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, i32, i32, i32])
        function = builder.module.globals.get("llvm.prefetch.p0") or ir.Function(
            builder.module, kind, name="llvm.prefetch.p0"
        )
        builder.call(function, [builder.inttoptr(arguments[0], pointer), i32(1), i32(3), i32(1)])
        return context.get_dummy_value()

    return types.void(types.uint64), generate


def _call(result: Any, count: int) -> Any:
    """Code for a call of the function whose address is the first argument, with `count` integers."""

    def generate(context, builder, signature, arguments):
        i64 = ir.IntType(64)
        kind = ir.FunctionType(i64 if result is types.int64 else ir.VoidType(), [i64] * count)
        value = builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])
        return value if result is types.int64 else context.get_dummy_value()

    return generate


@intrinsic
def call_expand(typingctx, function, states, n, successors, sources, transitions, tally):
    return types.int64(*[types.int64] * 7), _call(types.int64, 6)


@intrinsic
def call_batch(typingctx, function, states, n, out):
    """`hashes`, `judge` and `survey` alike."""
    return types.void(*[types.int64] * 4), _call(types.void, 3)


# --- the store ------------------------------------------------------------------------------------------------------

_compiled = njit(cache=True, nogil=True, boundscheck=False, error_model="numpy")


@_compiled
def slot_of(tag, capacity):
    """The first slot in which an entry with this tag may be."""
    return (tag * capacity) >> np.uint64(32)


@_compiled
def row_address(chunks, chunk, partition, row, row_bytes):
    """Where a row of a partition lies."""
    mask = (np.uint64(1) << np.uint64(chunk)) - np.uint64(1)
    return chunks[partition, row >> np.uint64(chunk)] + (row & mask) * row_bytes


@_compiled
def same(a, b, words):
    """Whether two rows are equal."""
    for j in range(words):
        at = np.uint64(8 * j)
        if load(a + at) != load(b + at):
            return False
    return True


@_compiled
def find(table, capacity, slot, tag):
    """The first slot from `slot` on that is empty or has this tag, and its entry."""
    entry = load(table + np.uint64(8) * slot)
    while entry != 0 and (entry >> np.uint64(32)) != tag:
        slot += np.uint64(1)
        if slot == capacity:
            slot = np.uint64(0)
        entry = load(table + np.uint64(8) * slot)
    return slot, entry


@_compiled
def locate(hashes, first, count, partitions, chunks, chunk, shift, row_bytes, slots):
    """Bring what `insert` will touch into the cache: the entries first, then the rows that they name."""
    for i in range(first, count):
        partition = hashes[i] >> shift
        tag = (hashes[i] << (np.uint64(64) - shift)) >> np.uint64(32)
        slots[i] = slot_of(tag, partitions[partition, CAPACITY])
        prefetch(partitions[partition, TABLE] + np.uint64(8) * slots[i])
    for i in range(first, count):
        partition = hashes[i] >> shift
        tag = (hashes[i] << (np.uint64(64) - shift)) >> np.uint64(32)
        slot, entry = find(partitions[partition, TABLE], partitions[partition, CAPACITY], slots[i], tag)
        slots[i] = slot
        if entry != 0:
            row = (entry & np.uint64(0xFFFFFFFF)) - np.uint64(1)
            prefetch(row_address(chunks, chunk, partition, row, row_bytes))


@_compiled
def insert(rows, words, hashes, first, count, partitions, chunks, chunk, shift, slots):
    """Insert rows `first..count-1` of a batch that are new. Returns how far it came and the full partition, or -1."""
    row_bytes = np.uint64(8 * words)
    locate(hashes, first, count, partitions, chunks, chunk, shift, row_bytes, slots)
    for i in range(first, count):
        partition = hashes[i] >> shift
        tag = (hashes[i] << (np.uint64(64) - shift)) >> np.uint64(32)
        table, capacity = partitions[partition, TABLE], partitions[partition, CAPACITY]
        given = rows + np.uint64(i) * row_bytes
        slot = slots[i]
        while True:
            slot, entry = find(table, capacity, slot, tag)
            if entry == 0:
                row = partitions[partition, COUNT]
                if row >= partitions[partition, ROOM]:
                    return i, np.int64(partition)
                place = row_address(chunks, chunk, partition, row, row_bytes)
                for j in range(words):
                    store(place + np.uint64(8 * j), load(given + np.uint64(8 * j)))
                partitions[partition, COUNT] = row + np.uint64(1)
                store(table + np.uint64(8) * slot, (tag << np.uint64(32)) | (row + np.uint64(1)))
                break
            row = (entry & np.uint64(0xFFFFFFFF)) - np.uint64(1)
            if same(given, row_address(chunks, chunk, partition, row, row_bytes), words):
                break
            slot += np.uint64(1)
            if slot == capacity:
                slot = np.uint64(0)
    return count, np.int64(-1)


@_compiled
def move(table, capacity, larger, larger_capacity):
    """Copy the entries of a table into a larger, empty one."""
    for i in range(capacity):
        entry = load(np.uint64(table) + np.uint64(8 * i))
        if entry != 0:
            slot = slot_of(entry >> np.uint64(32), np.uint64(larger_capacity))
            while load(np.uint64(larger) + np.uint64(8) * slot) != 0:
                slot += np.uint64(1)
                if slot == np.uint64(larger_capacity):
                    slot = np.uint64(0)
            store(np.uint64(larger) + np.uint64(8) * slot, entry)


# --- a level --------------------------------------------------------------------------------------------------------


@_compiled
def keep_counted(rows, words, count, verdicts, verdict_words, totals):
    """Move the successors inside the constraints to the front; or the verdicts of the others into `totals`."""
    kept = 0
    for i in range(count):
        if verdicts[i, 0] & np.uint64(OUTSIDE_BIT):
            for j in range(verdict_words):
                totals[0, j] |= verdicts[i, j]
        else:
            for j in range(words):
                rows[kept, j] = rows[i, j]
            kept += 1
    return kept


@_compiled
def next_batch(cursor, ends, chunk, largest):
    """Partition, first row and number of rows to expand next; rows of one chunk. No rows when the level is done."""
    partition, row = cursor[AT_PARTITION], cursor[AT_ROW]
    count = min(largest, ends[1, partition] - row, ((row >> chunk) + 1 << chunk) - row)
    while count == 0 and partition + 1 < ends.shape[1]:
        partition += 1
        row = ends[0, partition]
        count = min(largest, ends[1, partition] - row, ((row >> chunk) + 1 << chunk) - row)
    cursor[AT_PARTITION], cursor[AT_ROW] = partition, row
    return partition, row, count


@_compiled
def advance(
    functions, words, constrained, partitions, chunks, chunk, shift, ends, cursor, buffers, tally, totals, work
):
    """Expand a level further, by about `work` states, until something must grow.

    `ends` has the first row of the level and the row after its last in each partition. `functions` are the addresses
    of `expand`, `hashes` and `judge`. Returns PAUSED, FINISHED, or the partition that must grow before the next call.
    """
    rows, hashes, slots, verdicts, largest = buffers
    until = cursor[EXPANDED] + work
    while True:
        if cursor[INSERTED] < cursor[PENDING]:
            done, full = insert(
                np.uint64(rows.ctypes.data), words, hashes, cursor[INSERTED], cursor[PENDING],
                partitions, chunks, chunk, shift, slots,
            )  # fmt: skip
            cursor[INSERTED] = done
            if full >= 0:
                return full
        if cursor[EXPANDED] >= until:
            return PAUSED
        partition, row, count = next_batch(cursor, ends, chunk, largest)
        if count == 0:
            return FINISHED
        states = row_address(chunks, chunk, np.uint64(partition), np.uint64(row), np.uint64(8 * words))
        found = call_expand(functions[0], states, count, rows.ctypes.data, 0, 0, tally.ctypes.data)
        if constrained:
            call_batch(functions[2], rows.ctypes.data, found, verdicts.ctypes.data)
            kept = keep_counted(rows, words, found, verdicts, verdicts.shape[1], totals)
            cursor[REJECTED] += found - kept
            found = kept
        call_batch(functions[1], rows.ctypes.data, found, hashes.ctypes.data)
        cursor[AT_ROW] += count
        cursor[EXPANDED] += count
        cursor[PENDING] = found
        cursor[INSERTED] = 0


# --- looking up many states among some ------------------------------------------------------------------------------


@_compiled
def index_rows(hashes, index):
    """Fill an empty table, a power of two of slots and larger than the hashes are many, with positions plus one."""
    mask = np.uint64(len(index) - 1)
    for i in range(len(hashes)):
        slot = hashes[i] & mask
        while index[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        index[slot] = i + 1


@_compiled
def positions(index, rows, hashes, wanted, wanted_hashes):
    """For each wanted row its position among the indexed rows, or -1."""
    mask = np.uint64(len(index) - 1)
    found = np.empty(len(wanted), dtype=np.int64)
    for i in range(len(wanted)):
        slot = wanted_hashes[i] & mask
        found[i] = -1
        while index[slot] != 0:
            at = index[slot] - 1
            if hashes[at] == wanted_hashes[i] and (rows[at] == wanted[i]).all():
                found[i] = at
                break
            slot = (slot + np.uint64(1)) & mask
    return found
