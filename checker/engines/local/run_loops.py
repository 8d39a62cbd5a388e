"""The loops of the search that keeps known states as sorted names (see `run_store`)."""

# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call,misc,call-arg,var-annotated"

from __future__ import annotations

from typing import Final

import numpy as np

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
    keep_counted,
    named,
    unnamed,
)
from isrcheck.checker.kernel.instructions import call_batch, call_expand, fetch_and_add, load, memcpy, pread, store
from isrcheck.checker.kernel.loops import Loop

PIECE: Final = 1 << 12
"""The number of names in a piece of a run. The index of a run has one entry for each piece and is kept in memory."""
TOGETHER: Final = 16
"""How many pieces are read at once."""
CHUNK_BITS: Final = 22
CHUNK: Final = 1 << CHUNK_BITS
"""A file in memory has chunks of this many bytes."""
LARGEST: Final = 6
"""The most 16-bit numbers that a name in a run takes."""
_MOST, _MOST_OF_TWO = np.uint64(0xFFFF), np.uint64(0xFFFFFFFF)


# --- finding --------------------------------------------------------------------------------------------------------


@Loop
def turned(name, turn):
    """A name with its halves exchanged if `turn` is 32, and unchanged if `turn` is 0. A second call undoes this."""
    return name << turn | name >> (np.uint64(64) - turn & np.uint64(63))


@Loop
def collected(rows, words, half, pairs, dictionaries, pages, turn, cursor, scratch, memo, found, filled):
    """Names the states at `rows` that have no name yet. Returns False if `found` or a dictionary is full.

    The names go into `found`, after its first `filled[0]` names, and are turned by `turn` bits (see `turned`).
    `cursor[PENDING]` is the number of states at the address `rows`. `cursor[INSERTED]` is the number of those with a
    name.
    """
    while cursor[INSERTED] < cursor[PENDING]:
        size = min(cursor[PENDING] - cursor[INSERTED], AT_ONCE)
        if filled[0] + size > len(found):
            return False
        first = rows + np.uint64(8 * words * cursor[INSERTED])
        if not named(first, words, size, half, pairs, dictionaries, pages, scratch, memo, True):
            return False
        for k in range(size):
            found[filled[0] + k] = turned(scratch[0, k], turn)
        filled[0] += size
        cursor[INSERTED] += size
    return True


@Loop
def gather(
    functions, words, half, pairs, dictionaries, pages, turn, constrained, frontier, bits, shared, cursor, buffers,
    scratch, memo, found, filled, tally, totals, work,
):  # fmt: skip
    """Does one worker's part of expanding the states with the names in `frontier`. Returns `FINISHED` or `PAUSED`.

    The worker pauses after about `work` states, or when any worker's `found` or a dictionary is full. The names of the
    successors go into `found`, after its first `filled[0]` names. A batch has `1 << bits` states. `functions` has the
    same addresses as in `loops.advance`.
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
        for k in range(count):
            scratch[0, k] = turned(frontier[first + k], turn)
        unnamed(
            np.uint64(scratch.ctypes.data), count, words, half, pairs, pages, scratch, np.uint64(states.ctypes.data)
        )
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


# --- names in files ---------------------------------------------------------------------------------------------------


@Loop
def encoded(names, firsts, sizes, units, out):
    """Encodes ascending names in pieces: writes first names into `firsts` and 16-bit numbers into `out`.

    The numbers are the differences between successive names. In piece p a difference takes `units[p]` numbers, 1 or 2,
    the low one first. If a difference is too large for this, all bits of these numbers are ones, and 4 numbers with the
    difference follow. Sets `units`, and sets `sizes[p]` to how many numbers piece p takes. Returns the sum of `sizes`.
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


@Loop
def _written(value, size, at, out):
    for k in range(size):
        out[at + k] = value >> np.uint64(16 * k) & _MOST
    return at + size


@Loop
def _gap(data, at, unit):
    """Returns the difference that is encoded from `data[at]` on, and how many 16-bit numbers it takes."""
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


@Loop
def decoded(data, firsts, units, counts, out):
    """Decodes the names of some pieces from `data` into `out`."""
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


@Loop
def struck(file, bases, ends, firsts, places, sizes, counts, units, names, kept, buffer):
    """Sets `kept` to 0 for each of the sorted `names` that occurs in one of the runs in a file.

    The columns `firsts` to `units` describe the pieces of all runs, one run after another, and `ends` says where each
    run ends. Up to `TOGETHER` pieces at a time are read into `buffer`. For a file in memory, `bases` has the addresses
    of its chunks. Returns how many names are in the pieces that were read, or -1 if a piece cannot be read.
    """
    begin = passed = 0
    for end in ends:
        some = firsts[begin:end]
        p = begin + max(np.searchsorted(some, names[0], side="right") - 1, 0)
        last = begin + np.searchsorted(some, names[-1], side="right")
        while p < last:
            q, size = p, 0
            while q < last and q < p + TOGETHER:
                size += sizes[q]
                passed += counts[q]
                q += 1
            if not _read(file, bases, places[p], buffer[:size]):
                return -1
            first = np.searchsorted(names, firsts[p])
            _struck(buffer[:size], firsts[p:q], sizes[p:q], counts[p:q], units[p:q], names[first:], kept[first:])
            p = q
        begin = end
    return passed


@Loop
def _read(file, bases, place, data):
    """Fills `data` with the numbers of a file from byte `place` on. Returns whether all of them could be read."""
    address, left = np.uint64(data.ctypes.data), 2 * len(data)
    while left > 0:
        if len(bases) > 0:
            chunk, begin = place >> CHUNK_BITS, place & (CHUNK - 1)
            count = min(left, CHUNK - begin)
            memcpy(address, bases[chunk] + np.uint64(begin), np.int64(count))
        else:
            count = pread(file, address, left, place)
        if count <= 0:
            return False
        address, left, place = address + np.uint64(count), left - count, place + count
    return True


@Loop
def _struck(data, firsts, sizes, counts, units, names, kept):
    """Sets `kept` to 0 for each of the sorted `names` that occurs in these successive pieces of a run."""
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


@Loop
def brought(names, kept):
    """Moves the kept names to the front of `names`. Returns the number of kept names."""
    count = 0
    for i in range(len(names)):
        names[count] = names[i]
        count += int(kept[i])
    return count


@Loop
def looked(functions, words, half, pairs, pages, turn, names, scratch, rows, totals, weight):
    """Judges the states with these names: `survey` adds to `totals` and, under symmetry, `weights` adds to `weight`."""
    for first in range(0, len(names), AT_ONCE):
        count = min(len(names) - first, AT_ONCE)
        for k in range(count):
            scratch[0, k] = turned(names[first + k], turn)
        unnamed(np.uint64(scratch.ctypes.data), count, words, half, pairs, pages, scratch, np.uint64(rows.ctypes.data))
        call_batch(functions[2], rows.ctypes.data, count, totals.ctypes.data)
        if functions[4] != 0:
            call_batch(functions[4], rows.ctypes.data, count, weight.ctypes.data)
