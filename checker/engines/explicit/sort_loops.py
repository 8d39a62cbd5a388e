"""The loops that sort compressed ids and remove duplicates. They call no loops of other modules."""

# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call,misc,call-arg,var-annotated"

from __future__ import annotations

from typing import Any, Final

import numpy as np

from isrcheck.checker.kernel.jit import Loop

_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
BUCKET: Final = 14
"""A bucket has at most about 2**BUCKET ids, unless ids are distributed unevenly or there are very many ids."""
MOST_BUCKETS: Final = 11
"""Ids are distributed into at most 2**MOST_BUCKETS buckets at a time. If these would have very unequal sizes,
`bucket_sort.Buckets` may use up to 2**MOST_BITS buckets."""
PARTS: Final = 4
"""Ids are taken from this many parts of the array in turn. Neighbouring ids often belong to the same bucket. If
neighbours were counted in succession, the processor would have to finish counting the first before the second."""
FEW: Final = 32
"""Up to this many numbers are sorted by insertion."""
DIGIT: Final = 14
"""Numbers are sorted digit by digit. A digit has at most this many bits. So the counters of its values fit into the
second-level cache."""


def sorting_room() -> tuple[Any, Any, Any]:
    """The `counters` of `sorted_distinct`: `ends` and `into` (see `counted`), and counters for a digit's values."""
    buckets = 1 << MOST_BUCKETS
    return np.empty(buckets, np.int64), np.empty((buckets, PARTS), np.int64), np.empty(1 << DIGIT, np.int32)


@Loop
def sorted_distinct(ids, other, counters):
    """Brings the distinct ids to the front, in ascending order. Returns their number.

    Each half of an id is a number of few bits. The *key* of an id consists of these bits only. The first bits of the
    key give the bucket of the id. A bucket has only the remaining bits of each key. If these are at most 32 bits, they
    are stored as a 32-bit integer. A bucket fits into a cache and is sorted digit by digit, the least significant digit
    first. `other` is room for sorting, at least as long as `ids`. `counters` comes from `sorting_room`.
    """
    if len(ids) == 0:
        return 0
    every = np.uint64(0)
    for id_ in ids:
        every |= id_
    low, high = _bits(every & _LOW), _bits(every >> _HALF)
    first = min(max(_bits(np.uint64(len(ids) >> BUCKET)), 1), MOST_BUCKETS)
    rest = max(low + high - first, 0)
    if rest > 32:
        return _bucketed(ids, other, ids, np.uint64(low), first, rest, counters)
    narrow = other[: len(ids)].view(np.uint32)
    return _bucketed(ids, narrow[: len(ids)], narrow[len(ids) :], np.uint64(low), first, rest, counters)


@Loop
def _bits(number):
    """How many bits a number has."""
    bits = 0
    while number >> np.uint64(bits // 2) >> np.uint64(bits - bits // 2) != 0:  # avoids a shift by 64
        bits += 1
    return bits


@Loop
def _bucketed(ids, here, there, low, first, rest, counters):
    """Does what `sorted_distinct` does, with the buckets in `here`.

    `there` is an array for sorting, as large as `here`, and may be `ids` itself. A key has `first` bits that give the
    bucket, and then `rest` other bits. Its last `low` bits come from the lower half of the id.
    """
    ends, into, counts = counters
    into = into[: 1 << first]
    counted(ids, low, rest, ends, into)
    distributed(ids, here, low, rest, into)
    count = begin = 0
    for bucket in range(1 << first):
        end = ends[bucket]
        some, room = here[begin:end], there[begin:end]
        ascending = room if _sorted_elsewhere(some, room, rest, counts) else some
        count = _written_back(ascending, bucket, low, rest, ids, count)
        begin = end
    return count


@Loop
def counted(ids, low, rest, ends, into):
    """Counts the ids in each bucket. Puts the end of each bucket into `ends`.

    `into` has a row for each bucket, and a column for each of the `PARTS` parts of `ids`. Each entry gets the position
    where the bucket's ids from that part begin.
    """
    each, shift = len(ids) // PARTS, np.uint64(rest)
    into[:] = 0
    for i in range(each):
        for part in range(PARTS):
            into[_key(ids[part * each + i], low) >> shift, part] += 1
    for i in range(PARTS * each, len(ids)):
        into[_key(ids[i], low) >> shift, 0] += 1
    before = np.int64(0)
    for bucket in range(len(into)):
        for part in range(PARTS):
            into[bucket, part], before = before, before + into[bucket, part]
        ends[bucket] = before


@Loop
def distributed(ids, here, low, rest, into):
    """Puts the keys of ids, without their first bits, into the buckets in `here`. `into` comes from `counted`."""
    each, shift = len(ids) // PARTS, np.uint64(rest)
    for i in range(each):
        for part in range(PARTS):
            _put(_key(ids[part * each + i], low), shift, into, part, here)
    for i in range(PARTS * each, len(ids)):
        _put(_key(ids[i], low), shift, into, 0, here)


@Loop
def _written_back(ascending, bucket, low, rest, ids, count):
    """Puts the distinct ids of a bucket behind the first `count` entries of `ids`. Returns the new count."""
    bits, mask = np.uint64(bucket) << np.uint64(rest), (np.uint64(1) << low) - np.uint64(1)
    last = np.uint64(0) if len(ascending) == 0 else ~(bits | np.uint64(ascending[0]))
    for number in ascending:
        key = bits | np.uint64(number)  # read it first, because the write may overwrite it
        ids[count] = (key & ~mask) << (_HALF - low) | key & mask
        count += key != last
        last = key
    return count


@Loop
def from_buckets(slices, begin, end, low, rest, sorting, ids):
    """Writes the distinct ids of the buckets `begin` to `end - 1` into `ids`, in ascending order. Returns the number.

    Ids were distributed to the buckets in slices (see `Buckets`). `slices` has three arrays: the keys of the ids,
    the position there where the buckets of each slice begin, and a row for each slice with the ends of its buckets.
    `sorting` also has three arrays. The first two have the entry type of the keys. Each of the two has room for all
    ids of the largest bucket, whatever slice they come from. The third has `1 << DIGIT` counters.
    """
    here, there, counts = sorting
    room, places, ends = slices
    count = 0
    for bucket in range(begin, end):
        size = 0
        for k in range(len(places)):
            first = ends[k, bucket - 1] if bucket > 0 else 0
            for at in range(places[k] + first, places[k] + ends[k, bucket]):
                here[size] = room[at]
                size += 1
        ascending = there[:size] if _sorted_elsewhere(here[:size], there[:size], rest, counts) else here[:size]
        count = _written_back(ascending, bucket, low, rest, ids, count)
    return count


@Loop
def _put(key, shift, into, part, here):
    """Puts a key, without its first bits, into its bucket in `here`, at the next place for this part of the ids."""
    bucket = key >> shift
    here[into[bucket, part]] = key & ((np.uint64(1) << shift) - np.uint64(1))
    into[bucket, part] += 1


@Loop
def _key(id_, low):
    """The key of an id: its two halves without the unused bits between them. The lower half has `low` bits."""
    return id_ >> _HALF << low | id_ & _LOW


@Loop
def _sorted_elsewhere(here, there, bits, counts):
    """Sorts the numbers in `here`, of `bits` bits each. May overwrite both arrays.

    Returns True if the result is in `there`, and False if it is in `here`.
    """
    if len(here) <= FEW:
        for i in range(1, len(here)):
            number, at = here[i], i
            while at > 0 and here[at - 1] > number:
                here[at] = here[at - 1]
                at -= 1
            here[at] = number
        return False
    digits = -(-bits // min(_bits(np.uint64(len(here))), DIGIT))  # no more counters than numbers
    width = -(-bits // max(digits, 1))
    kept = (np.uint64(1) << np.uint64(width)) - np.uint64(1)
    for digit in range(digits):
        shift = np.uint64(digit * width)
        counts[: 1 << width] = 0
        for number in here:
            counts[np.uint64(number) >> shift & kept] += 1
        before = np.int32(0)
        for value in range(1 << width):
            counts[value], before = before, before + counts[value]
        for number in here:
            its = np.uint64(number) >> shift & kept
            there[counts[its]] = number
            counts[its] += 1
        here, there = there, here
    return digits % 2 == 1


@Loop
def merged(some, others, out):
    """Merges two ascending arrays of distinct ids into `out`, without duplicates. Returns the number of ids."""
    i = j = count = 0
    while i < len(some) and j < len(others):
        a, b = some[i], others[j]
        out[count] = min(a, b)
        i += a <= b  # without a branch, which the processor could not predict
        j += b <= a
        count += 1
    for k in range(i, len(some)):
        out[count] = some[k]
        count += 1
    for k in range(j, len(others)):
        out[count] = others[k]
        count += 1
    return count
