"""The loops, compiled by Numba, that sort names and remove duplicates. They call only each other."""

# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call,misc,call-arg,var-annotated"

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import njit

_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
BUCKET: Final = 14
"""A bucket has at most about 2**BUCKET names, unless names are distributed unevenly or there are very many."""
MOST_BUCKETS: Final = 11
"""Names are distributed into at most 2**MOST_BUCKETS buckets at a time."""
PARTS: Final = 4
"""Names are taken from this many parts of the array in turn, because neighbouring names often belong to the same
bucket: then the processor would have to finish counting the first name before it can count the second."""
FEW: Final = 32
"""Up to this many numbers are sorted by insertion."""
DIGIT: Final = 14
"""The most bits of a digit. The counters of all its values fit into the second-level cache."""
_compiled: Any = njit(cache=True, nogil=True, boundscheck=False, error_model="numpy")


@_compiled
def sorted_distinct(names, other):
    """Brings the distinct names to the front, in ascending order. Returns their number.

    Names are sorted by their first bits into buckets. Each bucket fits into a cache and is sorted digit by digit, the
    least digit first. `other` is room for sorting, as long as `names`. Each half of a name is a number of few bits, and
    a *key* consists of these bits only. If at most 32 bits of a key follow the bits that give the bucket, the bucket
    holds them as 32-bit integers.
    """
    if len(names) == 0:
        return 0
    every = np.uint64(0)
    for name in names:
        every |= name
    low, high = _bits(every & _LOW), _bits(every >> _HALF)
    first = min(max(_bits(np.uint64(len(names) >> BUCKET)), 1), MOST_BUCKETS)
    rest = max(low + high - first, 0)
    if rest > 32:
        return _bucketed(names, other, names, np.uint64(low), first, rest)
    narrow = other[: len(names)].view(np.uint32)
    return _bucketed(names, narrow[: len(names)], narrow[len(names) :], np.uint64(low), first, rest)


@_compiled
def _bits(number):
    """How many bits a number has."""
    bits = 0
    while number >> np.uint64(bits // 2) >> np.uint64(bits - bits // 2) != 0:  # avoids a shift by 64
        bits += 1
    return bits


@_compiled
def _bucketed(names, here, there, low, first, rest):
    """Does what `sorted_distinct` does, with the buckets in `here`.

    `there` is an array for sorting, as large as `here`, and may be `names` itself. A key has `first` bits, which give
    the bucket, and `rest` bits after them. `low` bits of a key come from a name's lower half.
    """
    ends, counts = np.zeros(1 << first, dtype=np.int64), np.empty(1 << DIGIT, dtype=np.int32)
    into = counted(names, low, first, rest, ends)
    distributed(names, here, low, rest, into)
    count = begin = 0
    for bucket in range(1 << first):
        end = ends[bucket]
        ascending = _ascending(here[begin:end], there[begin:end], rest, counts)
        count = _written_back(ascending, bucket, low, rest, names, count)
        begin = end
    return count


@_compiled
def counted(names, low, first, rest, ends):
    """Counts the names in each bucket. Puts bucket ends into `ends`. Returns where each part begins in each bucket."""
    each, shift = len(names) // PARTS, np.uint64(rest)
    into = np.zeros((PARTS, 1 << first), dtype=np.int64)
    for i in range(each):
        for part in range(PARTS):
            into[part, _key(names[part * each + i], low) >> shift] += 1
    for i in range(PARTS * each, len(names)):
        into[0, _key(names[i], low) >> shift] += 1
    before = np.int64(0)
    for bucket in range(1 << first):
        for part in range(PARTS):
            into[part, bucket], before = before, before + into[part, bucket]
        ends[bucket] = before
    return into


@_compiled
def distributed(names, here, low, rest, into):
    """Puts the keys of names, without their first bits, into the buckets in `here`. `into` comes from `counted`."""
    each, shift = len(names) // PARTS, np.uint64(rest)
    for i in range(each):
        for part in range(PARTS):
            _put(_key(names[part * each + i], low), shift, into, part, here)
    for i in range(PARTS * each, len(names)):
        _put(_key(names[i], low), shift, into, 0, here)


@_compiled
def _written_back(ascending, bucket, low, rest, names, count):
    """Appends the distinct names of a bucket to the first `count` names. Returns the new count."""
    bits, mask = np.uint64(bucket) << np.uint64(rest), (np.uint64(1) << low) - np.uint64(1)
    last = np.uint64(0) if len(ascending) == 0 else ~(bits | np.uint64(ascending[0]))
    for number in ascending:
        key = bits | np.uint64(number)  # read it first, because the write may overwrite it
        names[count] = (key & ~mask) << (_HALF - low) | key & mask
        count += key != last
        last = key
    return count


@_compiled
def from_buckets(room, places, ends, begin, end, low, rest, largest, names):
    """Writes the distinct names of some buckets into `names`, in ascending order. Returns how many there are.

    The found names were distributed to the buckets in slices (see `Buckets`). `places` says where the buckets of each
    slice begin in `room`. Each row of `ends` has the ends of the buckets of one slice. A bucket has at most `largest`
    names in all slices together.
    """
    here, there = np.empty(largest, dtype=room.dtype), np.empty(largest, dtype=room.dtype)
    counts = np.empty(1 << DIGIT, dtype=np.int32)
    count = 0
    for bucket in range(begin, end):
        size = 0
        for k in range(len(places)):
            first = ends[k, bucket - 1] if bucket > 0 else 0
            some = room[places[k] + first : places[k] + ends[k, bucket]]
            here[size : size + len(some)] = some
            size += len(some)
        count = _written_back(_ascending(here[:size], there[:size], rest, counts), bucket, low, rest, names, count)
    return count


@_compiled
def _put(key, shift, into, part, here):
    """Puts a key, without its first bits, behind the other keys of its bucket from this part."""
    bucket = key >> shift
    here[into[part, bucket]] = key & ((np.uint64(1) << shift) - np.uint64(1))
    into[part, bucket] += 1


@_compiled
def _key(name, low):
    """The two halves of a name without the bits between them; the lower half has `low` bits."""
    return name >> _HALF << low | name & _LOW


@_compiled
def _ascending(here, there, bits, counts):
    """Sorts numbers of `bits` bits. Returns the array with the result, `here` or `there`; both are overwritten."""
    if len(here) <= FEW:
        for i in range(1, len(here)):
            number, at = here[i], i
            while at > 0 and here[at - 1] > number:
                here[at] = here[at - 1]
                at -= 1
            here[at] = number
        return here
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
    return here


@_compiled
def merged(some, others, out):
    """Merges two ascending arrays of distinct names into `out`, without duplicates. Returns the number of names."""
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
