"""The search's inner loops, compiled by Numba: independent of any model, and all in this one file.

Numba's cache notices a change in the file of a function, not in functions that it calls in other files. So whatever
is compiled here calls only what stands here, and the kernel by address.

A *partition* holds the states whose hash begins with its number: rows in blocks of `1 << block` rows, in the order in
which they were found, and a table. A row is a packed state of which the last word has just the bytes in use; rows are
unpacked into words, a batch at a time, before the kernel sees them. An entry of the table has 32 bits: seven more bits
of the hash, then the row plus one; 0 is empty. An entry lies at, or after, the slot `place * capacity >> 32`, where
`place` are the 32 bits of the hash after the partition's. Entries are never moved nor removed while workers are at
work.

Several workers insert at once and lock nothing: who finds an empty slot marks it as taken with one compare-and-swap,
writes the row, then puts its number into the slot. Whoever else comes to a marked slot with the same seven bits waits
for the number.
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
COLUMNS: Final = 8
"""Columns of `partitions`: address and slots of the table, rows in use, rows until something must grow; the others
keep partitions apart, each in a cache line of its own."""

PENDING: Final = 0
INSERTED: Final = 1
REJECTED: Final = 2
EXPANDED: Final = 3
"""Entries of a worker's `cursor`: successors in its batch, how many of them are in the store, successors outside the
constraints, states expanded."""

NEXT: Final = 0
PAUSE: Final = 8
SHARED: Final = 16
"""Entries of what all workers share, each in a cache line of its own: the next batch to expand, whether to pause."""

ROW_BITS: Final = 25
MARKED: Final = (1 << ROW_BITS) - 1
"""The row in an entry whose row is being written; the largest row a partition can have lies below."""

FINISHED: Final = 0
PAUSED: Final = 1
"""What `advance` returns: nothing of the level is left, or the given work is done, or some partition must grow."""

OUTSIDE_BIT: Final = 2
"""The mask of the verdict bit of states that are not counted."""


# --- memory and calls by address ------------------------------------------------------------------------------------


@intrinsic
def load(typingctx, address):
    """The unsigned 64-bit integer at an address."""

    def generate(context, builder, signature, arguments):
        return builder.load(builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()), align=1)

    return types.uint64(types.uint64), generate


@intrinsic
def store(typingctx, address, value):
    """Put an unsigned 64-bit integer at an address."""

    def generate(context, builder, signature, arguments):
        builder.store(arguments[1], builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64), generate


@intrinsic
def store_byte(typingctx, address, value):
    """Put the last 8 bits of an integer at an address."""

    def generate(context, builder, signature, arguments):
        i8 = ir.IntType(8)
        builder.store(builder.trunc(arguments[1], i8), builder.inttoptr(arguments[0], i8.as_pointer()))
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64), generate


@intrinsic
def load_entry(typingctx, address):
    """The 32 bits at an address that another thread may be writing, as 64."""

    def generate(context, builder, signature, arguments):
        pointer = builder.inttoptr(arguments[0], ir.IntType(32).as_pointer())
        return builder.zext(builder.load_atomic(pointer, "acquire", 4), ir.IntType(64))

    return types.uint64(types.uint64), generate


@intrinsic
def store_entry(typingctx, address, value):
    """Put 32 bits at an address, after everything that was stored before."""

    def generate(context, builder, signature, arguments):
        pointer = builder.inttoptr(arguments[0], ir.IntType(32).as_pointer())
        builder.store_atomic(builder.trunc(arguments[1], ir.IntType(32)), pointer, "release", 4)
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64), generate


@intrinsic
def take_entry(typingctx, address, value):
    """Put 32 bits at an address if it holds 0; whether it did."""

    def generate(context, builder, signature, arguments):
        i32 = ir.IntType(32)
        pointer = builder.inttoptr(arguments[0], i32.as_pointer())
        wanted = builder.trunc(arguments[1], i32)
        done = builder.cmpxchg(pointer, i32(0), wanted, ordering="acq_rel", failordering="acquire")
        return builder.extract_value(done, 1)

    return types.boolean(types.uint64, types.uint64), generate


@intrinsic
def load_fingerprint(typingctx, address):
    """The 64 bits at an address that another thread may be writing."""

    def generate(context, builder, signature, arguments):
        pointer = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        return builder.load_atomic(pointer, "monotonic", 8)

    return types.uint64(types.uint64), generate


@intrinsic
def take_fingerprint(typingctx, address, value):
    """Put 64 bits at an address if it holds 0; whether it did."""

    def generate(context, builder, signature, arguments):
        i64 = ir.IntType(64)
        pointer = builder.inttoptr(arguments[0], i64.as_pointer())
        done = builder.cmpxchg(pointer, i64(0), arguments[1], ordering="monotonic", failordering="monotonic")
        return builder.extract_value(done, 1)

    return types.boolean(types.uint64, types.uint64), generate


@intrinsic
def fetch_and_add(typingctx, address, amount):
    """Add to the 64-bit integer at an address; what it was before."""

    def generate(context, builder, signature, arguments):
        pointer = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        return builder.atomic_rmw("add", pointer, arguments[1], "monotonic")

    return types.uint64(types.uint64, types.uint64), generate


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
_ROW_MASK: Final = np.uint64(MARKED)
_TAG_BITS: Final = np.uint64(32 - ROW_BITS)


@_compiled
def slot_of(place, capacity):
    """The first slot in which an entry with this place may be."""
    return (place * capacity) >> np.uint64(32)


@_compiled
def place_of(h, shift):
    """The 32 bits of a hash after those of the partition."""
    return (h << (np.uint64(64) - shift)) >> np.uint64(32)


@_compiled
def tag_of(h, shift):
    """The bits of a hash after its place, where an entry has them."""
    return ((h << (np.uint64(96) - shift)) >> (np.uint64(64) - _TAG_BITS)) << np.uint64(ROW_BITS)


@_compiled
def row_address(blocks, block, partition, row, row_bytes):
    """Where a row of a partition lies."""
    mask = (np.uint64(1) << np.uint64(block)) - np.uint64(1)
    return blocks[partition, row >> np.uint64(block)] + (row & mask) * np.uint64(row_bytes)


@_compiled
def last_mask(words, row_bytes):
    """The bits of the last word that a row keeps. Up to 7 bytes behind a row are read with it, and masked out."""
    return ~np.uint64(0) >> np.uint64(8 * (8 * words - row_bytes))


@_compiled
def same(row, state, words, row_bytes):
    """Whether a row is a state's."""
    last = np.uint64(8 * (words - 1))
    for j in range(words - 1):
        at = np.uint64(8 * j)
        if load(row + at) != load(state + at):
            return False
    return (load(row + last) ^ load(state + last)) & last_mask(words, row_bytes) == 0


@_compiled
def write_row(row, state, words, row_bytes):
    """Put a state into its row, and nothing behind it: that is another's."""
    last = np.uint64(8 * (words - 1))
    for j in range(words - 1):
        at = np.uint64(8 * j)
        store(row + at, load(state + at))
    value = load(state + last)
    for j in range(row_bytes - 8 * (words - 1)):
        store_byte(row + last + np.uint64(j), value >> np.uint64(8 * j))


@_compiled
def unpack(row, count, words, row_bytes, out):
    """Copy rows that lie one behind the other to an address, as states of whole words."""
    mask, last = last_mask(words, row_bytes), np.uint64(8 * (words - 1))
    for _ in range(count):
        for j in range(words - 1):
            at = np.uint64(8 * j)
            store(out + at, load(row + at))
        store(out + last, load(row + last) & mask)
        row += np.uint64(row_bytes)
        out += np.uint64(8 * words)


@_compiled
def find(table, capacity, slot, tag):
    """The first slot from `slot` on that is empty or has this tag, and its entry."""
    entry = load_entry(table + np.uint64(4) * slot)
    while entry != 0 and (entry & ~_ROW_MASK) != tag:
        slot += np.uint64(1)
        if slot == capacity:
            slot = np.uint64(0)
        entry = load_entry(table + np.uint64(4) * slot)
    return slot, entry


@_compiled
def locate(hashes, first, count, partitions, blocks, block, shift, row_bytes, slots):
    """Bring what `insert` will touch into the cache: the entries first, then the rows that they name."""
    for i in range(first, count):
        partition = hashes[i] >> shift
        slots[i] = slot_of(place_of(hashes[i], shift), partitions[partition, CAPACITY])
        prefetch(partitions[partition, TABLE] + np.uint64(4) * slots[i])
    for i in range(first, count):
        partition, tag = hashes[i] >> shift, tag_of(hashes[i], shift)
        slot, entry = find(partitions[partition, TABLE], partitions[partition, CAPACITY], slots[i], tag)
        slots[i] = slot
        row = entry & _ROW_MASK
        if entry != 0 and row != _ROW_MASK:
            place = row_address(blocks, block, partition, row - np.uint64(1), row_bytes)
            prefetch(place)
            prefetch(place + np.uint64(row_bytes - 1))


@_compiled
def insert(states, words, row_bytes, hashes, first, count, partitions, blocks, block, shift, slots):
    """Insert states `first..count-1` of a batch that are new; how far it came before a partition was full."""
    counts = np.uint64(partitions.ctypes.data + 8 * COUNT)
    locate(hashes, first, count, partitions, blocks, block, shift, row_bytes, slots)
    for i in range(first, count):
        partition, tag = hashes[i] >> shift, tag_of(hashes[i], shift)
        table, capacity = partitions[partition, TABLE], partitions[partition, CAPACITY]
        counter = counts + partition * np.uint64(8 * COLUMNS)
        given = states + np.uint64(8 * words * i)
        slot = slots[i]
        while True:
            slot, entry = find(table, capacity, slot, tag)
            at = table + np.uint64(4) * slot
            if entry == 0:
                if load(counter) >= partitions[partition, ROOM]:
                    return i
                if take_entry(at, tag | _ROW_MASK):
                    row = fetch_and_add(counter, np.uint64(1))
                    write_row(row_address(blocks, block, partition, row, row_bytes), given, words, row_bytes)
                    store_entry(at, tag | (row + np.uint64(1)))
                    break
                continue
            while (entry & _ROW_MASK) == _ROW_MASK:
                entry = load_entry(at)
            row = (entry & _ROW_MASK) - np.uint64(1)
            if same(row_address(blocks, block, partition, row, row_bytes), given, words, row_bytes):
                break
            slot += np.uint64(1)
            if slot == capacity:
                slot = np.uint64(0)
    return count


@_compiled
def rebuild(function, table, capacity, blocks, block, partition, count, words, row_bytes, shift, states, hashes):
    """Fill an empty table with the rows of a partition; `states` and `hashes` have room for those of a block."""
    for first in range(0, count, 1 << block):
        size = min(count - first, 1 << block)
        row = row_address(blocks, block, np.uint64(partition), np.uint64(first), row_bytes)
        unpack(row, size, words, row_bytes, np.uint64(states.ctypes.data))
        call_batch(function, states.ctypes.data, size, hashes.ctypes.data)
        for i in range(size):
            prefetch(np.uint64(table) + np.uint64(4) * slot_of(place_of(hashes[i], shift), np.uint64(capacity)))
        for i in range(size):
            slot = slot_of(place_of(hashes[i], shift), np.uint64(capacity))
            while load_entry(np.uint64(table) + np.uint64(4) * slot) != 0:
                slot += np.uint64(1)
                if slot == np.uint64(capacity):
                    slot = np.uint64(0)
            store_entry(np.uint64(table) + np.uint64(4) * slot, tag_of(hashes[i], shift) | np.uint64(first + i + 1))


# --- hash compaction ------------------------------------------------------------------------------------------------


@_compiled
def fingerprint(state, words):
    """64 bits of a state that have nothing to do with its hash, never 0; those of one word differ (SplitMix64)."""
    h = np.uint64(0)
    for j in range(words):
        h ^= load(state + np.uint64(8 * j))
        h = (h ^ h >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        h = (h ^ h >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        h ^= h >> np.uint64(31)
    return max(h, np.uint64(1))


@_compiled
def take_place(table, capacity, value):
    """Whether a fingerprint was not in a table, where it now is; it lies at or after its place, as an entry does."""
    slot = slot_of(value >> np.uint64(32), capacity)
    while True:
        at = table + np.uint64(8) * slot
        entry = load_fingerprint(at)
        if entry == value:
            return False
        if entry == 0:
            if take_fingerprint(at, value):
                return True
            continue
        slot += np.uint64(1)
        if slot == capacity:
            slot = np.uint64(0)


@_compiled
def insert_fingerprints(states, words, row_bytes, hashes, first, count, partitions, blocks, block, shift, slots):
    """As `insert`, where a table has fingerprints and no rows: a state whose fingerprint is there counts as known."""
    counts = np.uint64(partitions.ctypes.data + 8 * COUNT)
    for i in range(first, count):
        partition = hashes[i] >> shift
        slots[i] = fingerprint(states + np.uint64(8 * words * i), words)
        slot = slot_of(slots[i] >> np.uint64(32), partitions[partition, CAPACITY])
        prefetch(partitions[partition, TABLE] + np.uint64(8) * slot)
    for i in range(first, count):
        partition = hashes[i] >> shift
        counter = counts + partition * np.uint64(8 * COLUMNS)
        if load(counter) >= partitions[partition, ROOM]:
            return i
        if take_place(partitions[partition, TABLE], partitions[partition, CAPACITY], slots[i]):
            row = fetch_and_add(counter, np.uint64(1))
            place = row_address(blocks, block, partition, row, row_bytes)
            write_row(place, states + np.uint64(8 * words * i), words, row_bytes)
    return count


@_compiled
def move_fingerprints(old, old_capacity, table, capacity):
    """Fill an empty table with the fingerprints of another."""
    for slot in range(old_capacity):
        value = load_fingerprint(np.uint64(old) + np.uint64(8 * slot))
        if value != 0:
            take_place(np.uint64(table), np.uint64(capacity), value)


@_compiled
def fingerprint_rows(table, capacity, blocks, block, partition, count, words, row_bytes, state):
    """Fill an empty table with the fingerprints of the rows of a partition; `state` has room for one."""
    at = np.uint64(state.ctypes.data)
    for row in range(count):
        unpack(row_address(blocks, block, np.uint64(partition), np.uint64(row), row_bytes), 1, words, row_bytes, at)
        take_place(np.uint64(table), np.uint64(capacity), fingerprint(at, words))


# --- rows of all partitions -----------------------------------------------------------------------------------------


@_compiled
def gather(blocks, block, words, row_bytes, begin, end, at, out):
    """Copy rows `begin[p]..end[p]-1` of each partition into `out` until it is full; `at` says where to go on."""
    count = 0
    while at[0] < len(begin):
        partition = at[0]
        row = max(begin[partition], at[1])
        if row >= end[partition]:
            at[0], at[1] = partition + 1, 0
            continue
        if count == len(out):
            break
        size = min(end[partition] - row, len(out) - count, ((row >> block) + 1 << block) - row)
        first = row_address(blocks, block, np.uint64(partition), np.uint64(row), row_bytes)
        unpack(first, size, words, row_bytes, np.uint64(out.ctypes.data + 8 * words * count))
        count += size
        at[1] = row + size
    return count


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
def batch(number, starts, ends, bits):
    """Partition, first row and number of rows of a batch: batches begin at multiples of their size, in each partition.

    `starts[p]` batches of `1 << bits` rows lie in the partitions before p.
    """
    low, high = 0, len(starts) - 1
    while low + 1 < high:
        middle = (low + high) >> 1
        if starts[middle] <= number:
            low = middle
        else:
            high = middle
    base = (ends[0, low] >> bits) + number - starts[low] << bits
    first = max(base, ends[0, low])
    return low, first, min(base + (1 << bits), ends[1, low]) - first


@_compiled
def advance(
    functions, words, row_bytes, compact, constrained, partitions, blocks, block, shift, ends, starts, bits, shared,
    cursor, buffers, tally, totals, work,
):  # fmt: skip
    """One worker's part of the expansion of a level, of about `work` states, or until a partition must grow.

    `ends` has the first row of the level and the row after its last in each partition, `starts` the batches (`batch`).
    `functions` are the addresses of `expand`, `hashes` and `judge`, then that of `representatives` or 0.
    """
    states, rows, hashes, slots, verdicts = buffers
    until = cursor[EXPANDED] + work
    here = np.uint64(shared.ctypes.data)
    while True:
        if cursor[INSERTED] < cursor[PENDING]:
            if compact:
                cursor[INSERTED] = insert_fingerprints(
                    np.uint64(rows.ctypes.data), words, row_bytes, hashes, cursor[INSERTED], cursor[PENDING],
                    partitions, blocks, block, shift, slots,
                )  # fmt: skip
            else:
                cursor[INSERTED] = insert(
                    np.uint64(rows.ctypes.data), words, row_bytes, hashes, cursor[INSERTED], cursor[PENDING],
                    partitions, blocks, block, shift, slots,
                )  # fmt: skip
            if cursor[INSERTED] < cursor[PENDING]:
                store(here + np.uint64(8 * PAUSE), np.uint64(1))
                return PAUSED
        if cursor[EXPANDED] >= until or load(here + np.uint64(8 * PAUSE)) != 0:
            return PAUSED
        number = np.int64(fetch_and_add(here + np.uint64(8 * NEXT), np.uint64(1)))
        if number >= starts[-1]:
            return FINISHED
        partition, row, count = batch(number, starts, ends, bits)
        first = row_address(blocks, block, np.uint64(partition), np.uint64(row), row_bytes)
        unpack(first, count, words, row_bytes, np.uint64(states.ctypes.data))
        found = call_expand(functions[0], states.ctypes.data, count, rows.ctypes.data, 0, 0, tally.ctypes.data)
        if constrained:
            call_batch(functions[2], rows.ctypes.data, found, verdicts.ctypes.data)
            kept = keep_counted(rows, words, found, verdicts, verdicts.shape[1], totals)
            cursor[REJECTED] += found - kept
            found = kept
        if functions[3] != 0:
            call_batch(functions[3], rows.ctypes.data, found, rows.ctypes.data)
        call_batch(functions[1], rows.ctypes.data, found, hashes.ctypes.data)
        cursor[EXPANDED] += count
        cursor[PENDING] = found
        cursor[INSERTED] = 0


@_compiled
def survey(function, words, row_bytes, blocks, block, ends, starts, bits, shared, states, totals):
    """One worker's part of looking at rows: what `survey` of the kernel says of all of them is or-ed into `totals`."""
    here = np.uint64(shared.ctypes.data)
    while True:
        number = np.int64(fetch_and_add(here + np.uint64(8 * NEXT), np.uint64(1)))
        if number >= starts[-1]:
            return
        partition, row, count = batch(number, starts, ends, bits)
        first = row_address(blocks, block, np.uint64(partition), np.uint64(row), row_bytes)
        unpack(first, count, words, row_bytes, np.uint64(states.ctypes.data))
        call_batch(function, states.ctypes.data, count, totals.ctypes.data)


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
            same_row = hashes[at] == wanted_hashes[i]
            for w in range(rows.shape[1]):
                same_row &= rows[at, w] == wanted[i, w]
            if same_row:
                found[i] = at
                break
            slot = (slot + np.uint64(1)) & mask
    return found
