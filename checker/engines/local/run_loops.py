"""The loops, compiled by Numba, of a search whose known states are sorted names on disk; see `disk_store`."""

# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call,call-arg"

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import njit

from isrcheck.checker.engines.local.loops import (
    AT_ONCE,
    EXPANDED,
    FINISHED,
    INSERTED,
    NEXT,
    PAUSE,
    PAUSED,
    PENDING,
    REJECTED,
    call_batch,
    call_expand,
    fetch_and_add,
    keep_counted,
    load,
    named,
    store,
    unnamed,
)

PIECE: Final = 1 << 12
"""How many names of a run are written together. The index of a run, which is in memory, has one entry for them."""
DIGIT: Final = 11
_DIGIT: Final = np.uint64((1 << DIGIT) - 1)
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
BUCKET: Final = 14
"""The names in a bucket of a sort, as a power of two. A bucket has more if names are distributed unevenly."""
FEW: Final = 32
"""Up to this many numbers are sorted by insertion."""
LARGEST: Final = 6
"""The most 16-bit numbers that a name in a run takes."""
_MOST, _MOST_OF_TWO = np.uint64(0xFFFF), np.uint64(0xFFFFFFFF)
_compiled: Any = njit(cache=True, nogil=True, boundscheck=False, error_model="numpy")


# --- finding --------------------------------------------------------------------------------------------------------


@_compiled
def collected(rows, words, half, pairs, dictionaries, pages, turn, cursor, scratch, memo, found, filled):
    """Writes the names of pending states behind the first `filled[0]` of those `found`. Returns whether there was room.

    `cursor` says how many states are pending, and how many of these are named. A name is turned by `turn` bits, 0 or
    32.
    """
    while cursor[INSERTED] < cursor[PENDING]:
        size = min(cursor[PENDING] - cursor[INSERTED], AT_ONCE)
        if filled[0] + size > len(found):
            return False
        first = rows + np.uint64(8 * words * cursor[INSERTED])
        if not named(first, words, size, half, pairs, dictionaries, pages, scratch, memo, True):
            return False
        back = (np.uint64(64) - turn) & np.uint64(63)
        for k in range(size):
            found[filled[0] + k] = scratch[0, k] << turn | scratch[0, k] >> back
        filled[0] += size
        cursor[INSERTED] += size
    return True


@_compiled
def gather(
    functions, words, half, pairs, dictionaries, pages, turn, constrained, frontier, bits, shared, cursor, buffers,
    scratch, memo, found, filled, tally, totals, work,
):  # fmt: skip
    """One worker's part of the expansion of about `work` states with the names in `frontier`, or until something must
    grow. The names of the successors go behind the first `filled[0]` of those `found`.

    A batch has `1 << bits` states. `functions` has the same addresses as in `loops.advance`.
    """
    states, rows, verdicts = buffers
    until, here = cursor[EXPANDED] + work, np.uint64(shared.ctypes.data)
    while True:
        if not collected(
            np.uint64(rows.ctypes.data), words, half, pairs, dictionaries, pages, turn, cursor, scratch, memo, found,
            filled,
        ):  # fmt: skip
            store(here + np.uint64(8 * PAUSE), np.uint64(1))
            return PAUSED
        if cursor[EXPANDED] >= until or load(here + np.uint64(8 * PAUSE)) != 0:
            return PAUSED
        first = np.int64(fetch_and_add(here + np.uint64(8 * NEXT), np.uint64(1))) << bits
        if first >= len(frontier):
            return FINISHED
        count = min(len(frontier) - first, 1 << bits)
        unnamed(
            np.uint64(frontier.ctypes.data) + np.uint64(8 * first), count, words, half, pairs, pages, scratch,
            np.uint64(states.ctypes.data),
        )  # fmt: skip
        reached = call_expand(functions[0], states.ctypes.data, count, rows.ctypes.data, 0, 0, tally.ctypes.data)
        if constrained:
            call_batch(functions[1], rows.ctypes.data, reached, verdicts.ctypes.data)
            kept = keep_counted(rows, words, reached, verdicts, verdicts.shape[1], totals)
            cursor[REJECTED] += reached - kept
            reached = kept
        if functions[3] != 0:
            call_batch(functions[3], rows.ctypes.data, reached, rows.ctypes.data)
        cursor[EXPANDED] += count
        cursor[PENDING] = reached
        cursor[INSERTED] = 0


# --- sorted names ---------------------------------------------------------------------------------------------------


@_compiled
def sorted_distinct(names, other):
    """Brings the distinct names to the front, in ascending order. Returns their number.

    Names are sorted by their first bits into buckets. Each bucket fits into a cache and is sorted digit by digit, the
    least digit first. `other` is as long as `names`. The two halves of a name are numbers of few bits each, and a *key*
    consists of these bits only. If the rest of a key after the first bits is short enough, a bucket has half the size.
    """
    if len(names) == 0:
        return 0
    every = np.uint64(0)
    for name in names:
        every |= name
    low, high = _bits(every & _LOW), _bits(every >> _HALF)
    first = min(max(_bits(np.uint64(len(names) >> BUCKET)), 1), DIGIT)
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
    """`sorted_distinct` with the buckets in `here` and equal room in `there`, which may be `names` itself.

    A key has `first` bits, which give the bucket, and `rest` bits after them. `low` bits of a key come from a name's
    lower half.
    """
    begins = np.zeros((1 << first) + 1, dtype=np.int64)
    shift, kept = np.uint64(rest), (np.uint64(1) << np.uint64(rest)) - np.uint64(1)
    for name in names:
        begins[np.int64(_key(name, low) >> shift) + 1] += 1
    for bucket in range(1 << first):
        begins[bucket + 1] += begins[bucket]
    ends = begins[:-1].copy()
    for name in names:
        key = _key(name, low)
        bucket = np.int64(key >> shift)
        here[ends[bucket]] = key & kept
        ends[bucket] += 1
    counts, mask = np.empty(1 << DIGIT, dtype=np.int64), (np.uint64(1) << low) - np.uint64(1)
    count = 0
    for bucket in range(1 << first):
        begin, end = begins[bucket], begins[bucket + 1]
        before, last = np.uint64(bucket) << shift, np.uint64(0)
        ascending = _ascending(here[begin:end], there[begin:end], rest, counts)
        for i in range(end - begin):
            key = before | np.uint64(ascending[i])  # read it first, because the write may overwrite it
            if i == 0 or key != last:
                names[count] = (key & ~mask) << (_HALF - low) | key & mask
                count += 1
            last = key
    return count


@_compiled
def _key(name, low):
    """The two halves of a name without the bits between them; the lower half has `low` bits."""
    return name >> _HALF << low | name & _LOW


@_compiled
def _ascending(here, there, bits, counts):
    """Sorts numbers of `bits` bits. The result is in `here` or `there`; both are overwritten."""
    if len(here) <= FEW:
        for i in range(1, len(here)):
            number, at = here[i], i
            while at > 0 and here[at - 1] > number:
                here[at] = here[at - 1]
                at -= 1
            here[at] = number
        return here
    digits = -(-bits // DIGIT)
    for digit in range(digits):
        shift = np.uint64(digit * DIGIT)
        counts[:] = 0
        for number in here:
            counts[np.int64(np.uint64(number) >> shift & _DIGIT)] += 1
        before = np.int64(0)
        for value in range(1 << DIGIT):
            counts[value], before = before, before + counts[value]
        for number in here:
            value = np.int64(np.uint64(number) >> shift & _DIGIT)
            there[counts[value]] = number
            counts[value] += 1
        here, there = there, here
    return here


@_compiled
def encoded(names, firsts, sizes, units, out):
    """Encodes ascending names in 16-bit numbers: the first name of each piece in `firsts`, then the differences.

    A difference takes `units[p]` numbers, 1 or 2, the low one first. If it is too large, these are all ones and 4
    numbers follow. `sizes` are the numbers that the pieces take. Returns their sum.
    """
    at = 0
    for p in range(len(firsts)):
        start, end = p * PIECE, min((p + 1) * PIECE, len(names))
        firsts[p], begin, narrow, wide = names[start], at, 0, 0
        for i in range(start + 1, end):
            gap = names[i] - names[i - 1]
            narrow += gap >= _MOST
            wide += gap >= _MOST_OF_TWO
        units[p] = 1 if end - start + 4 * narrow <= 2 * (end - start) + 4 * wide else 2
        most = _MOST if units[p] == 1 else _MOST_OF_TWO
        for i in range(start + 1, end):
            gap = names[i] - names[i - 1]
            at = _written(min(gap, most), units[p], at, out)
            if gap >= most:
                at = _written(gap, 4, at, out)
        sizes[p] = at - begin
    return at


@_compiled
def _written(value, size, at, out):
    for k in range(size):
        out[at + k] = value >> np.uint64(16 * k) & _MOST
    return at + size


@_compiled
def _gap(data, at, unit):
    """The difference at a place, and how many numbers it takes."""
    gap = np.uint64(data[at])
    if unit == 1:
        if gap != _MOST:
            return gap, 1
        at += 1
    else:
        gap |= np.uint64(data[at + 1]) << np.uint64(16)
        if gap != _MOST_OF_TWO:
            return gap, 2
        at += 2
    gap = np.uint64(0)
    for k in range(4):
        gap |= np.uint64(data[at + k]) << np.uint64(16 * k)
    return gap, unit + 4


@_compiled
def decoded(data, firsts, units, counts, out):
    """The names of some pieces."""
    at = k = 0
    for p in range(len(firsts)):
        name, unit = firsts[p], np.int64(units[p])
        out[k] = name
        for i in range(1, counts[p]):
            gap, size = _gap(data, at, unit)
            at += size
            name += gap
            out[k + i] = name
        k += counts[p]


@_compiled
def struck(data, firsts, sizes, units, counts, names, kept):
    """Sets `kept` to 0 for each of the sorted `names` that occurs in some pieces."""
    begin = i = 0
    for p in range(len(firsts)):
        name, at, unit = firsts[p], begin, np.int64(units[p])
        begin += sizes[p]
        while i < len(names) and names[i] < name:
            i += 1
        if i == len(names):
            return
        wanted = names[i]
        if p + 1 < len(firsts) and wanted >= firsts[p + 1]:
            continue
        left = counts[p] - 1
        while True:
            if name >= wanted:
                while i < len(names) and names[i] < name:
                    i += 1
                if i < len(names) and names[i] == name:
                    kept[i] = 0
                    i += 1
                if i == len(names):
                    return
                wanted = names[i]
            if left == 0:
                break
            left -= 1
            gap, size = _gap(data, at, unit)
            at += size
            name += gap


# --- looking --------------------------------------------------------------------------------------------------------


@_compiled
def looked(functions, words, half, pairs, pages, names, scratch, rows, totals, weight):
    """Adds the verdicts of `survey` and `weights` on the states with these names to `totals` and `weight`."""
    here, states = np.uint64(names.ctypes.data), np.uint64(rows.ctypes.data)
    for first in range(0, len(names), AT_ONCE):
        count = min(len(names) - first, AT_ONCE)
        unnamed(here + np.uint64(8 * first), count, words, half, pairs, pages, scratch, states)
        call_batch(functions[2], rows.ctypes.data, count, totals.ctypes.data)
        if functions[4] != 0:
            call_batch(functions[4], rows.ctypes.data, count, weight.ctypes.data)
