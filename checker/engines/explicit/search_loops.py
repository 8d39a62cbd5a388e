"""The inner loops of the search, as compiled code. They do not depend on any model.

*Dictionaries* give numbers to the parts of states. There is one dictionary for each word of a packed state. If states
have a single word, there is one dictionary for each of its halves. Further dictionaries give numbers to *pairs* of
numbers from other dictionaries, until only two numbers stand for the whole state. These two numbers are the *compressed
id* of the state. A dictionary has its values in blocks, in the order of their numbers, and a table to find them. An
entry of this table has 32 bits: four bits of the value's hash, then the value's number plus one. An empty entry is 0.
An entry lies at the slot that its hash gives or, if other entries lie there, in a later slot.

The states themselves are in another hash table, which is called *the table* below. It has one entry for each state, in
buckets of 64 bytes: 16 entries of 4 bytes, or 8 of 8. The id of a state chooses one of 2**7 partitions. The rest of the
id is a pair of numbers below two bounds. `permuted` maps this pair one to one to a number below the product of the
bounds. When this number is divided by the number of buckets, the remainder gives the state's *own bucket*. If this
bucket is full, the entry lies in one of the next buckets. The entry keeps the quotient (the *kept part* of the id), the
level of the state, and the distance from the state's own bucket. So a state can be computed from its entry and the
place of the entry, and no two states are confused.

Several workers insert at the same time without locks. Buckets are filled from their beginning. A worker that finds an
empty entry puts a state there with one compare-and-swap. If another worker has taken the entry first, this worker
looks at the bucket again. In a dictionary, a worker first takes an entry for a new value, and then writes the number of
the value into the entry. Meanwhile, other workers wait at this entry if their values have the same four bits of the
hash. Nothing is ever moved while workers are at work.
"""

# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call,misc,call-arg,var-annotated"

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from isrcheck.checker.kernel.intrinsics import (
    call_batch,
    call_expand,
    fetch_and_add,
    load,
    load_entry,
    look,
    look_wide,
    lowest_bit,
    prefetch,
    store,
    store_entry,
    take_entry,
    take_wide,
)
from isrcheck.checker.kernel.jit import Loop
from isrcheck.checker.kernel.layout import Integers, Words

TABLE: Final = 0
CAPACITY: Final = 1
"""Columns of a dictionary or a partition. `TABLE` has the address of the table. `CAPACITY` has the number of slots
(dictionary) or buckets (partition) in the table."""
ROOM: Final = 2
"""How many entries fit until the table must grow."""
FIRSTS: Final = 3
SECONDS: Final = 4
"""The two bounds of a partition. In the rest of an id, the first number is below the first bound, and the second number
is below the second bound."""
REST: Final = 5
"""How many bits of an id an entry keeps."""
SIZE: Final = 6
"""The bytes of an entry."""
FULL: Final = 7
"""1 if a partition must grow: a worker found no place in it, or its entries cannot represent the next level."""
DEEPEST: Final = 8
"""The last level that an entry of a partition can represent."""
COUNT: Final = 16
"""The number of used entries, in a cache line of its own."""
COLUMNS: Final = 24

PENDING: Final = 0
INSERTED: Final = 1
REJECTED: Final = 2
EXPANDED: Final = 3
CHUNK: Final = 4
NEW: Final = 5
FIRST: Final = 6
LAST: Final = 7
HELD: Final = 8
CURSOR: Final = 9
"""Entries of a worker's `cursor`; `CURSOR` is their number. `PENDING`: the number of successors of the present batch.
`INSERTED`: how many of these successors are done. A successor is done when it is in the table or, in a search by runs,
when its id is computed. `REJECTED`: how many successors were outside the constraints. `EXPANDED`: how many states were
expanded. `CHUNK`: the number of the chunk for the ids of new states, or -1. `NEW`: how many new states of the batch are
not evaluated yet. `HELD`: the number of the piece whose ids the worker has, or -1. `FIRST`, `LAST`: where the rest of
the worker's stretch begins and ends in this piece (`run_loops.gather`)."""

NEXT: Final = 0
PAUSE: Final = 8
UNTIL: Final = 9
TAKEN: Final = 16
SHARED: Final = 24
"""Entries that all workers share; `SHARED` is the length of their array. What workers write often is in a cache line of
its own. `NEXT`: the next batch or stretch (`run_loops`) to expand. `PAUSE`: 1 if the workers must pause. `UNTIL`: they
pause before this batch or stretch. `TAKEN`: how many of the free chunks were taken."""

NUMBER_BITS: Final = 28
SEEN: Final = (1 << NUMBER_BITS) - 1
"""The number in an entry of a dictionary while the value is being written. The numbers of values are smaller."""
PAGE_BITS: Final = 10
"""Values of a dictionary lie in blocks of 2**10."""
PARTITION_BITS: Final = 7
FARTHEST: Final = 8
"""The entry of a state lies in the state's own bucket, or in one of the `FARTHEST` - 1 buckets after this bucket."""
AT_ONCE: Final = 256
"""How many states are translated and inserted at once. The data that they need is fetched ahead."""

NONE: Final = -1
LATER: Final = -2
"""Results of `taken` that are no numbers."""

FINISHED: Final = 0
PAUSED: Final = 1
"""Results of `advance`. `FINISHED`: no batch of the level is left to take. `PAUSED`: the workers have come to
the batch `UNTIL`, or `PAUSE` is set."""

OUTSIDE_BIT: Final = 2
"""The mask of the verdict bit that is set if a state is outside the constraints."""


class Codec(NamedTuple):
    """What translates packed states of `words` words into ids and back: the dictionaries, and how they are paired.

    `half` is the number of bits in the lower half of a single word. `pairs` has the two dictionaries of each pair; the
    last pair is the id itself. `dictionaries` has a row for each dictionary. `pages` has the addresses of its blocks.
    """

    words: int
    half: np.uint64
    pairs: Integers
    dictionaries: Words
    pages: Words


class CodecArrays(NamedTuple):
    """The arrays that a worker needs to compute ids.

    `scratch` is for the numbers of `AT_ONCE` states. `memo` has a few recent values of each dictionary, each with its
    number plus one. The memo saves searches in the tables, because most successors share most of their words with the
    last few states.
    """

    scratch: Words
    memo: Words


class FreeChunks(NamedTuple):
    """Chunks for the ids of new states, and what all workers share.

    `chunks` has the address and the size of each chunk, and `filled` the number of ids in it.
    """

    chunks: Words
    filled: Words
    shared: Integers


class WorkerArrays(NamedTuple):
    """The data of one worker.

    `states` has room for a batch, `rows` for the successors of a batch, and `verdicts` for their verdicts. `tally` has
    the counts that the kernel's `expand` updates. `totals` has the bits that are set in any verdict. `weight` counts
    states with symmetric ones.
    """

    cursor: Integers
    states: Words
    rows: Words
    verdicts: Words
    own: CodecArrays
    tally: Integers
    totals: Words
    weight: Words


# --- dictionaries ---------------------------------------------------------------------------------------------------

_NUMBER: Final = np.uint64(SEEN)
_TAG: Final = np.uint64(0xFFFFFFFF ^ SEEN)
_PAGE: Final = np.uint64((1 << PAGE_BITS) - 1)
_PARTITION: Final = np.uint64((1 << PARTITION_BITS) - 1)
NOWHERE: Final = np.uint64(0xFFFFFFFFFFFFFFFF)
NO_ROOM: Final = np.uint64(0xFFFFFFFF)


@Loop
def mixed(x):
    """A hash of 64 bits. Different integers have different hashes."""
    x = (x ^ (x >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(32))) * np.uint64(0xBF58476D1CE4E5B9)
    return x ^ (x >> np.uint64(29))


@Loop
def slot_of(h, capacity):
    """The first slot in which an entry with this hash may lie."""
    return ((h >> np.uint64(32)) * capacity) >> np.uint64(32)


@Loop
def value_address(pages, dictionary, number):
    """The address of a value of a dictionary."""
    return pages[dictionary, number >> np.uint64(PAGE_BITS)] + np.uint64(8) * (number & _PAGE)


@Loop
def number_of(value, h, slot, dictionaries, pages, dictionary, adding):
    """The number of a value in a dictionary. With `adding`, a new value is added.

    For a value that is not in the dictionary, returns `NO_ROOM` if the dictionary must grow first or if `adding` is
    false.
    """
    table, capacity = dictionaries[dictionary, TABLE], dictionaries[dictionary, CAPACITY]
    counter = np.uint64(dictionaries.ctypes.data) + np.uint64(8) * np.uint64(dictionary * COLUMNS + COUNT)
    tag = h & _TAG
    while True:
        at = table + np.uint64(4) * slot
        entry = load_entry(at)
        if entry == 0:
            if not adding or load(counter) >= dictionaries[dictionary, ROOM]:
                return NO_ROOM
            if take_entry(at, tag | _NUMBER):
                number = fetch_and_add(counter, np.uint64(1))
                store(value_address(pages, dictionary, number), value)
                store_entry(at, tag | (number + np.uint64(1)))
                return number
            continue
        if (entry & _TAG) == tag:
            while (entry & _NUMBER) == _NUMBER:
                entry = load_entry(at)
            number = (entry & _NUMBER) - np.uint64(1)
            if load(value_address(pages, dictionary, number)) == value:
                return number
        slot += np.uint64(1)
        if slot == capacity:
            slot = np.uint64(0)


@Loop
def refill(dictionaries, pages, dictionary):
    """Enters the numbers of all values of a dictionary into its table. The table must be empty."""
    table, capacity = dictionaries[dictionary, TABLE], dictionaries[dictionary, CAPACITY]
    for n in range(dictionaries[dictionary, COUNT]):
        number = np.uint64(n)
        h = mixed(load(value_address(pages, dictionary, number)))
        slot = slot_of(h, capacity)
        while load_entry(table + np.uint64(4) * slot) != 0:
            slot += np.uint64(1)
            if slot == capacity:
                slot = np.uint64(0)
        store_entry(table + np.uint64(4) * slot, (h & _TAG) | (number + np.uint64(1)))


@Loop
def place_in_memo(value, memo):
    """The position in `memo` where a worker remembers the number of a value."""
    return slot_of(value * np.uint64(0x9E3779B97F4A7C15), np.uint64(memo.shape[1]))


@Loop
def to_ids(rows, count, codec, own, adding):
    """Writes the ids of at most `AT_ONCE` states into `scratch[0]`. Returns False if a dictionary must grow first.

    Without `adding`, a value that is not in its dictionary gets the number `NO_ROOM`, which no value of a dictionary
    has. So the id of a state with such a value differs from the ids of all stored states.
    """
    words, pairs, scratch = codec.words, codec.pairs, own.scratch
    leaves, last = max(words, 2), len(pairs) - 1
    for d in range(leaves + last):
        if d >= leaves:
            together(scratch[3 + pairs[d - leaves, 0]], scratch[3 + pairs[d - leaves, 1]], count, scratch[1])
        else:
            parts(rows, words, count, codec.half, d, scratch[1])
        if not numbered(count, d, codec.dictionaries, codec.pages, scratch, own.memo, adding):
            return False
    together(scratch[3 + pairs[last, 0]], scratch[3 + pairs[last, 1]], count, scratch[0])
    return True


@Loop
def parts(rows, words, count, half, d, values):
    """Writes one part of each state into `values`: a word, or a half if states have a single word."""
    if words > 1:
        for k in range(count):
            values[k] = load(rows + np.uint64(8 * (words * k + d)))
    elif d == 0:
        for k in range(count):
            values[k] = load(rows + np.uint64(8 * k)) & ((np.uint64(1) << half) - np.uint64(1))
    else:
        for k in range(count):
            values[k] = load(rows + np.uint64(8 * k)) >> half


@Loop
def together(left, right, count, values):
    """Writes pairs of numbers into `values`, each pair as one 64-bit number."""
    for k in range(count):
        values[k] = left[k] << np.uint64(32) | right[k]


@Loop
def numbered(count, d, dictionaries, pages, scratch, memo, adding):
    """Finds the values in `scratch[1]` in dictionary `d`. Writes their numbers into `scratch[3 + d]`.

    Returns False if the dictionary must grow first. Fetches memory ahead for all values. The other parameters are those
    of `to_ids`.
    """
    hashes, values, rest, numbers = scratch[0], scratch[1], scratch[2], scratch[3 + d]
    table, capacity = dictionaries[d, TABLE], dictionaries[d, CAPACITY]
    places, remembered, left_over = scratch[0], np.uint64(memo[d].ctypes.data), np.uint64(0)
    for k in range(count):
        places[k] = remembered + np.uint64(16) * place_in_memo(values[k], memo)
    for k in range(count):
        prefetch(places[k])
    for k in range(count):
        value, number = load(places[k]), load(places[k] + np.uint64(8))
        numbers[k] = number - np.uint64(1)
        rest[left_over] = k
        left_over += np.uint64((value != values[k]) | (number == np.uint64(0)))
    for n in range(left_over):
        hashes[n] = mixed(values[rest[n]])
        prefetch(table + np.uint64(4) * slot_of(hashes[n], capacity))
    for n in range(left_over):
        entry = load_entry(table + np.uint64(4) * slot_of(hashes[n], capacity)) & _NUMBER
        if entry != 0 and entry != _NUMBER:
            prefetch(value_address(pages, d, entry - np.uint64(1)))
    for n in range(left_over):
        k, h = rest[n], hashes[n]
        number = number_of(values[k], h, slot_of(h, capacity), dictionaries, pages, d, adding)
        if number == NO_ROOM and adding:
            return False
        numbers[k] = number
        if number != NO_ROOM:
            at = place_in_memo(values[k], memo)
            memo[d, at, 0], memo[d, at, 1] = values[k], number + np.uint64(1)
    return True


@Loop
def from_ids(ids, count, words, half, pairs, pages, scratch, out):
    """Translates `count` ids back into packed states.

    The ids are at the address `ids`. The states are written to the address `out`. `count` is at most `AT_ONCE`.
    """
    leaves = max(words, 2)
    last = len(pairs) - 1
    low = np.uint64(0xFFFFFFFF)
    for k in range(count):
        id_ = load(ids + np.uint64(8 * k))
        scratch[3 + pairs[last, 0], k] = id_ >> np.uint64(32)
        scratch[3 + pairs[last, 1], k] = id_ & low
    for d in range(leaves + last - 1, leaves - 1, -1):
        numbers, left, right = scratch[3 + d], scratch[3 + pairs[d - leaves, 0]], scratch[3 + pairs[d - leaves, 1]]
        for k in range(count):
            value = load(value_address(pages, d, numbers[k]))
            left[k], right[k] = value >> np.uint64(32), value & low
    if words > 1:
        for d in range(leaves):
            numbers = scratch[3 + d]
            for k in range(count):
                store(out + np.uint64(8 * (words * k + d)), load(value_address(pages, d, numbers[k])))
    else:
        for k in range(count):
            first = load(value_address(pages, 0, scratch[3, k]))
            store(out + np.uint64(8 * k), first | load(value_address(pages, 1, scratch[4, k])) << half)


# --- the table ------------------------------------------------------------------------------------------------------


@Loop
def share_of(h, bound):
    """A number below `bound`, computed from a hash. `bound` must be below 2**32."""
    return ((h >> np.uint64(32)) * bound) >> np.uint64(32)


@Loop
def permuted(h, first, second, firsts, seconds):
    """Maps `first` and `second` one to one to a number below `firsts * seconds`, by three Feistel rounds.

    `first` is below `firsts`, and `second` is below `seconds`. `h` is `mixed(first)`.
    """
    second += share_of(h, seconds)
    if second >= seconds:
        second -= seconds
    first += share_of(mixed(second ^ np.uint64(0x5851F42D4C957F2D)), firsts)
    if first >= firsts:
        first -= firsts
    second += share_of(mixed(first ^ np.uint64(0x14057B7EF767814F)), seconds)
    if second >= seconds:
        second -= seconds
    return first * seconds + second


@Loop
def recovered(value, partition, firsts, seconds):
    """The id in this partition whose rest is mapped to `value` by `permuted`."""
    first, second = value // seconds, value % seconds
    away = share_of(mixed(first ^ np.uint64(0x14057B7EF767814F)), seconds)
    second = second - away if second >= away else second + seconds - away
    away = share_of(mixed(second ^ np.uint64(0x5851F42D4C957F2D)), firsts)
    first = first - away if first >= away else first + firsts - away
    away = share_of(mixed(first), seconds)
    second = second - away if second >= away else second + seconds - away
    second = second << np.uint64(PARTITION_BITS) | ((partition ^ mixed(first)) & _PARTITION)
    return first << np.uint64(32) | second


@Loop
def placed(bucket, key, partitions, p, level):
    """Puts the kept part of an id into the bucket of the id, or into one of the next buckets.

    Returns 1 if the id is new, 0 if it is known, and 2 if there is no room.
    """
    buckets, rest = partitions[p, CAPACITY], partitions[p, REST]
    mask = (np.uint64(1) << (rest + np.uint64(3))) - np.uint64(1)
    entry = level << (rest + np.uint64(3))
    wide = partitions[p, SIZE] == np.uint64(8)
    for _ in range(FARTHEST):
        line = partitions[p, TABLE] + np.uint64(64) * bucket
        while True:
            seen = look_wide(line, key, mask) if wide else look(line, key, mask)
            if seen & np.uint64(0xFFFF) != 0:
                return 0
            if seen == 0:
                break
            at = lowest_bit(seen >> np.uint64(32))
            if wide:
                if take_wide(line + np.uint64(8) * at, entry | key):
                    return 1
            elif take_entry(line + np.uint64(4) * at, entry | key):
                return 1
        key += np.uint64(1) << rest
        bucket += np.uint64(1)
        if bucket == buckets:
            bucket = np.uint64(0)
    return 2


@Loop
def prepared(ids, count, partitions, scratch):
    """Computes the partition, the bucket and the kept part of each id, and fetches the buckets into the cache.

    If a number in the rest of an id is not below its bound in the partition, the bucket of this id is `NOWHERE`.
    """
    parts, buckets, keys = scratch[1], scratch[2], scratch[3]
    low = np.uint64(0xFFFFFFFF)
    for k in range(count):
        first, second = ids[k] >> np.uint64(32), ids[k] & low
        h = mixed(first)
        p = (second ^ h) & _PARTITION
        second = second >> np.uint64(PARTITION_BITS)
        parts[k], buckets[k] = p, NOWHERE
        if first < partitions[p, FIRSTS] and second < partitions[p, SECONDS]:
            value = permuted(h, first, second, partitions[p, FIRSTS], partitions[p, SECONDS])
            buckets[k], keys[k] = value % partitions[p, CAPACITY], value // partitions[p, CAPACITY]
            prefetch(partitions[p, TABLE] + np.uint64(64) * buckets[k])


@Loop
def enter(count, partitions, level, scratch, states, first, kept, chunk):
    """Enters the ids in `scratch` into the table. Stops at the first id whose partition has no room for it.

    Returns how many ids were entered or known. `states` has the address of states and the number of words of each.
    The ids are those of the states from row `first` on. For each new state, the id is added to the chunk, and the
    state's row is moved behind the first `kept[0]` rows. `chunk` has the address of the chunk and the number of its
    ids. The chunk must have room for all ids.
    """
    (rows, words), (address, filled) = states, chunk
    ids, parts, buckets, keys = scratch[0], scratch[1], scratch[2], scratch[3]
    prepared(ids, count, partitions, scratch)
    counts = np.uint64(partitions.ctypes.data) + np.uint64(8 * COUNT)
    for k in range(count):
        p = parts[k]
        counter = counts + p * np.uint64(8 * COLUMNS)
        outcome = 2
        if buckets[k] != NOWHERE and load(counter) < partitions[p, ROOM]:
            outcome = placed(buckets[k], keys[k], partitions, p, level)
        if outcome == 2:
            partitions[p, FULL] = np.uint64(1)
            return k
        if outcome == 1:
            fetch_and_add(counter, np.uint64(1))
            store(address + np.uint64(8) * filled[0], ids[k])
            filled[0] += np.uint64(1)
            for j in range(words):
                from_row = np.uint64(8 * (words * (first + k) + j))
                store(rows + np.uint64(8 * (words * kept[0] + j)), load(rows + from_row))
            kept[0] += 1
    return count


@Loop
def slots(partitions, p):
    """How many entries a partition has room for."""
    return np.int64(partitions[p, CAPACITY] * (np.uint64(64) // partitions[p, SIZE]))


@Loop
def entries_of(partitions, p, at, levels, values, found):
    """Reads the entries of a partition from entry `at` on, and takes those of levels `levels[0]` to `levels[1]`.

    Puts the permuted rest of each id (see `permuted`) into `values`, and the level into `found`, until `values` is
    full. Returns the next entry to read, and how many entries were taken.
    """
    buckets, rest = partitions[p, CAPACITY], partitions[p, REST]
    size, table = partitions[p, SIZE], partitions[p, TABLE]
    each, end = np.uint64(64) // size, slots(partitions, p)
    mask = (np.uint64(1) << rest) - np.uint64(1)
    count = 0
    while at < end and count < len(values):
        entry = load(table + np.uint64(8) * np.uint64(at)) if size == 8 else load_entry(table + np.uint64(4 * at))
        level = entry >> (rest + np.uint64(3))
        if entry != 0 and levels[0] <= level and level <= levels[1]:
            behind = (entry >> rest) & np.uint64(FARTHEST - 1)
            bucket = np.uint64(at) // each
            bucket = bucket - behind if bucket >= behind else bucket + buckets - behind
            values[count], found[count] = (entry & mask) * buckets + bucket, level
            count += 1
        at += 1
    return at, count


@Loop
def moved(old, new, number, scratch):
    """Copies the states of a partition into a new, empty table. Returns whether all of them found a place there."""
    at, low = 0, np.uint64(0xFFFFFFFF)
    every = (np.uint64(0), ~np.uint64(0))
    values, levels, buckets, keys = scratch[0], scratch[1], scratch[2], scratch[3]
    end, firsts, seconds = slots(old, 0), new[0, FIRSTS], new[0, SECONDS]
    same_bounds = firsts == old[0, FIRSTS] and seconds == old[0, SECONDS]
    while at < end:
        at, count = entries_of(old, 0, at, every, values, levels)
        for k in range(count):
            value = values[k]
            if not same_bounds:
                id_ = recovered(value, number, old[0, FIRSTS], old[0, SECONDS])
                first, second = id_ >> np.uint64(32), (id_ & low) >> np.uint64(PARTITION_BITS)
                value = permuted(mixed(first), first, second, firsts, seconds)
            buckets[k], keys[k] = value % new[0, CAPACITY], value // new[0, CAPACITY]
            prefetch(new[0, TABLE] + np.uint64(64) * buckets[k])
        for k in range(count):
            if placed(buckets[k], keys[k], new, 0, levels[k]) != 1:
                return False
    return True


@Loop
def counted(partitions, first, last, levels, scratch, counts):
    """Counts the states of each level from `levels[0]` to `levels[1]` in the partitions `first` to `last - 1`.

    Adds the numbers to `counts`.
    """
    for p in range(first, last):
        at, end = 0, slots(partitions, p)
        while at < end:
            at, count = entries_of(partitions, p, at, levels, scratch[0], scratch[1])
            for k in range(count):
                counts[scratch[1, k] - levels[0]] += 1


@Loop
def of_levels(partitions, first, last, levels, scratch, starts, out):
    """Writes the ids of the states that `counted` counts into `out`.

    For each level, `starts` has the position in `out` where the level's next id goes. This position advances.
    """
    for p in range(first, last):
        at, end = 0, slots(partitions, p)
        while at < end:
            at, count = entries_of(partitions, p, at, levels, scratch[0], scratch[1])
            for k in range(count):
                where = scratch[1, k] - levels[0]
                out[starts[where]] = recovered(
                    scratch[0, k], np.uint64(p), partitions[p, FIRSTS], partitions[p, SECONDS]
                )  # fmt: skip
                starts[where] += 1


# --- places in the table --------------------------------------------------------------------------------------------


@Loop
def place_in(bucket, key, partitions, p):
    """The number of the entry with this kept part of an id, or -1. The search begins at the bucket of the id."""
    buckets, rest = partitions[p, CAPACITY], partitions[p, REST]
    mask = (np.uint64(1) << (rest + np.uint64(3))) - np.uint64(1)
    wide = partitions[p, SIZE] == np.uint64(8)
    for _ in range(FARTHEST):
        line = partitions[p, TABLE] + np.uint64(64) * bucket
        seen = look_wide(line, key, mask) if wide else look(line, key, mask)
        found = seen & np.uint64(0xFFFF)
        if found != 0:
            return np.int64(bucket * (np.uint64(64) // partitions[p, SIZE]) + lowest_bit(found))
        if seen != 0:
            return np.int64(-1)
        key += np.uint64(1) << rest
        bucket += np.uint64(1)
        if bucket == buckets:
            bucket = np.uint64(0)
    return np.int64(-1)


@Loop
def places_of(rows, codec, partitions, stride, own, places, ids):
    """Finds states in the table: puts their places into `places`, and their ids into `ids`.

    The packed states are at the address `rows`. A place is the number of an entry. Entries are numbered through all
    partitions as if each partition had `stride` entries. No partition has more. The place of a state that is not in the
    table is -1.
    """
    scratch = own.scratch
    for first in range(0, len(places), AT_ONCE):
        count = min(len(places) - first, AT_ONCE)
        to_ids(rows + np.uint64(8 * codec.words * first), count, codec, own, False)
        prepared(scratch[0], count, partitions, scratch)
        for k in range(count):
            p, bucket = np.int64(scratch[1, k]), scratch[2, k]
            at = np.int64(-1) if bucket == NOWHERE else place_in(bucket, scratch[3, k], partitions, p)
            places[first + k], ids[first + k] = at if at < 0 else p * stride + at, scratch[0, k]


@Loop
def ids_at(places, partitions, stride, ids, levels):
    """Writes the id and the level of the state at each place.

    If there is no state at a place, the level is 0 and no id is written.
    """
    for start in range(0, len(places), AT_ONCE):
        end = min(start + AT_ONCE, len(places))
        for k in range(start, end):
            p = places[k] // stride
            levels[k] = p  # kept until the next loop
            prefetch(partitions[p, TABLE] + partitions[p, SIZE] * np.uint64(places[k] - p * stride))
        for k in range(start, end):
            p = levels[k]
            buckets, rest, size = partitions[p, CAPACITY], partitions[p, REST], partitions[p, SIZE]
            at, entry, wide = np.uint64(places[k] - p * stride), np.uint64(0), size == np.uint64(8)
            bucket = at >> np.uint64(3 if wide else 4)
            if bucket < buckets:
                address = partitions[p, TABLE] + size * at
                entry = load(address) if wide else load_entry(address)
            levels[k] = entry >> (rest + np.uint64(3))
            if entry != 0:
                behind = (entry >> rest) & np.uint64(FARTHEST - 1)
                bucket = bucket - behind if bucket >= behind else bucket + buckets - behind
                value = (entry & ((np.uint64(1) << rest) - np.uint64(1))) * buckets + bucket
                ids[k] = recovered(value, np.uint64(p), partitions[p, FIRSTS], partitions[p, SECONDS])


@Loop
def insert(rows, count, codec, partitions, level, queue, cursor, own):
    """Inserts the first `count` states at `rows`, unless they are known. Returns False if something must grow first.

    `cursor` says where the next call continues, and how many states were new. The rows of new states are moved to the
    front.
    """
    here, chunks, filled = np.uint64(queue.shared.ctypes.data), queue.chunks, queue.filled
    while cursor[INSERTED] < count:
        size = min(count - cursor[INSERTED], AT_ONCE)
        chunk = cursor[CHUNK]
        if chunk < 0 or filled[chunk] + np.uint64(size) > chunks[chunk, 1]:
            chunk = np.int64(fetch_and_add(here + np.uint64(8 * TAKEN), np.uint64(1)))
            if chunk >= len(chunks):
                return False
            cursor[CHUNK] = chunk
        first = rows + np.uint64(8 * codec.words * cursor[INSERTED])
        if not to_ids(first, size, codec, own, True):
            return False
        done = enter(
            size, partitions, level, own.scratch, (rows, codec.words), cursor[INSERTED], cursor[NEW : NEW + 1],
            (chunks[chunk, 0], filled[chunk : chunk + 1]),
        )  # fmt: skip
        cursor[INSERTED] += done
        if done < size:
            return False
    return True


# --- a level --------------------------------------------------------------------------------------------------------


@Loop
def keep_counted(rows, words, count, verdicts, verdict_words, totals):
    """Moves the successors inside the constraints to the front, and returns their number.

    Adds the verdicts of the other successors to `totals`.
    """
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


@Loop
def batch(number, starts, counts, bits):
    """The chunk of a batch, the batch's first position in the chunk, and the batch's size.

    Chunk c begins with batch `starts[c]`.
    """
    low, high = 0, len(starts) - 1
    while low + 1 < high:
        middle = (low + high) >> 1
        if starts[middle] <= number:
            low = middle
        else:
            high = middle
    first = number - starts[low] << bits
    return low, first, min(np.int64(counts[low]) - first, 1 << bits)


@Loop
def taken(shared, count):
    """Takes the next of `count` batches or stretches. `shared` is the address of the shared entries.

    Returns its number, `NONE` if all were taken, or `LATER` if the workers have come to `UNTIL`.
    """
    place = shared + np.uint64(8 * NEXT)
    if np.int64(load(place)) >= count:
        return NONE
    if load(place) >= load(shared + np.uint64(8 * UNTIL)):
        return LATER
    number = np.int64(fetch_and_add(place, np.uint64(1)))
    return number if number < count else NONE


@Loop
def advance(functions, constrained, codec, partitions, level, work, queue, worker):
    """Does one worker's part of expanding a level. Returns `FINISHED` or `PAUSED`.

    Pauses before the batch `UNTIL`, or when any worker finds that something must grow.

    `work` has the ids to expand (`table_store.Work`). `queue` has the chunks for the ids of new states. `level` is
    the level of the new states. `functions` are the addresses of `expand`, `evaluate`, `survey`, `representatives` and
    `weights`. The last two are 0 without symmetry.
    """
    cursor, states, rows, verdicts = worker.cursor, worker.states, worker.rows, worker.verdicts
    words, half, pairs, pages = codec.words, codec.half, codec.pairs, codec.pages
    here = np.uint64(queue.shared.ctypes.data)
    while True:
        if not insert(
            np.uint64(rows.ctypes.data), cursor[PENDING], codec, partitions, level, queue, cursor, worker.own
        ):  # fmt: skip
            store(here + np.uint64(8 * PAUSE), np.uint64(1))
            return PAUSED
        look_over(functions, rows, cursor, worker.totals, worker.weight)
        if load(here + np.uint64(8 * PAUSE)) != 0:
            return PAUSED
        number = taken(here, work.starts[-1])
        if number < 0:
            return FINISHED if number == NONE else PAUSED
        chunk, first, count = batch(number, work.starts, work.counts, work.bits)
        ids = work.chunks[chunk] + np.uint64(8 * first)
        from_ids(ids, count, words, half, pairs, pages, worker.own.scratch, np.uint64(states.ctypes.data))
        found = call_expand(functions[0], states.ctypes.data, count, rows.ctypes.data, 0, 0, worker.tally.ctypes.data)
        if constrained:
            call_batch(functions[1], rows.ctypes.data, found, verdicts.ctypes.data)
            kept = keep_counted(rows, words, found, verdicts, verdicts.shape[1], worker.totals)
            cursor[REJECTED] += found - kept
            found = kept
        if functions[3] != 0:
            call_batch(functions[3], rows.ctypes.data, found, rows.ctypes.data)
        cursor[EXPANDED] += count
        cursor[PENDING] = found
        cursor[INSERTED] = 0


@Loop
def look_over(functions, rows, cursor, totals, weight):
    """Evaluates the new rows: `survey` adds to `totals` and, under symmetry, `weights` adds to `weight`."""
    call_batch(functions[2], rows.ctypes.data, cursor[NEW], totals.ctypes.data)
    if functions[4] != 0:
        call_batch(functions[4], rows.ctypes.data, cursor[NEW], weight.ctypes.data)
    cursor[NEW] = 0


# --- looking up many states among some ------------------------------------------------------------------------------


@Loop
def index_rows(hashes, index):
    """Fills an empty hash table: the entry for a hash is 1 plus the position of the hash in `hashes`.

    The size of the table is a power of two greater than the number of hashes.
    """
    mask = np.uint64(len(index) - 1)
    for i in range(len(hashes)):
        slot = hashes[i] & mask
        while index[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        index[slot] = i + 1


@Loop
def positions(index, rows, wanted, hashes, found):
    """Writes the position of each wanted row in `rows` into `found`, or -1 if the row is not there.

    `index` is the table that `index_rows` fills for the hashes of `rows`. `hashes` has the hashes of the wanted rows.
    """
    mask, words = np.uint64(len(index) - 1), rows.shape[1]
    slots, entries = np.uint64(index.ctypes.data), np.uint64(rows.ctypes.data)
    for first in range(0, len(wanted), AT_ONCE):
        last = min(first + AT_ONCE, len(wanted))
        for i in range(first, last):
            prefetch(slots + np.uint64(4) * (hashes[i] & mask))
        for i in range(first, last):
            at = index[hashes[i] & mask] - 1
            if at >= 0:
                prefetch(entries + np.uint64(8 * words * at))
        for i in range(first, last):
            slot = hashes[i] & mask
            found[i] = -1
            while index[slot] != 0:
                at = index[slot] - 1
                same_row = True
                for w in range(words):
                    same_row &= rows[at, w] == wanted[i, w]
                if same_row:
                    found[i] = at
                    break
                slot = (slot + np.uint64(1)) & mask
