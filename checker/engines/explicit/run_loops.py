"""The loops of the search that keeps known states as sorted compressed ids (see `run_store`)."""

# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call,misc,call-arg,var-annotated"

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from isrcheck.checker.engines.explicit.search_loops import (
    AT_ONCE,
    EXPANDED,
    FINISHED,
    FIRST,
    HELD,
    INSERTED,
    LAST,
    NONE,
    PAUSE,
    PAUSED,
    PENDING,
    REJECTED,
    from_ids,
    keep_counted,
    taken,
    to_ids,
)
from isrcheck.checker.kernel.intrinsics import (
    call_batch,
    call_expand,
    fetch_and_add,
    fetch_and_or,
    load,
    load_entry,
    load_shared,
    memcpy,
    pread,
    prefetch,
    store,
    store_shared,
    take_entry,
)
from isrcheck.checker.kernel.jit import Loop
from isrcheck.checker.kernel.layout import Integers, Words

PIECE_BITS: Final = 12
PIECE: Final = 1 << PIECE_BITS
"""A piece of a run (see `runs`) has this many ids, or fewer if it has the last of those that were encoded together.
The index of the run has one entry for each piece, and is in memory."""
TOGETHER: Final = 16
"""At most this many pieces are read at once."""
CHUNK_BITS: Final = 22
CHUNK: Final = 1 << CHUNK_BITS
"""A file in memory has chunks of this many bytes."""
LARGEST: Final = 9
"""A piece of n ids takes at most `LARGEST` * n + 8 bytes."""
_BLOCK: Final = 32
"""A word has the sizes of this many differences (see `encoded`)."""

GRID: Final = 0
TILES: Final = 1
"""Columns of the visited bits (see `visited_bits`): the addresses of the grid and the first tile; 0 without bits."""
ROWS: Final = 2
LINES: Final = 3
"""How many rows the grid has, and how many entries a row has."""
ROOM: Final = 4
"""The numbers of tiles are below this."""
TAKEN: Final = 8
"""The number of the next tile, in a cache line of its own."""
VISITED: Final = 16
ROW_BITS: Final = 3
LINE_BITS: Final = 6
"""A tile has the visited bits of the ids that combine 2**3 successive first numbers with 2**6 successive second
numbers. It has one word for each first number."""

STRETCH_BITS: Final = 3
"""A worker takes a *stretch* of 2**3 successive batches at a time, all in one piece. Neighbouring states have
neighbouring successors, so workers in the same batches would often wait for each other's cache lines."""
UNREADABLE: Final = 2
"""A result of `gather`: a piece could not be read. Other results are `FINISHED` and `PAUSED`."""


class FoundIds(NamedTuple):
    """Where a worker puts the ids that it finds: into `ids`, after the first `filled[0]` ids.

    The ids there are turned by `turn` bits (see `turned`). `visited` has the visited bits.
    """

    turn: np.uint64
    visited: Words
    ids: Words
    filled: Integers


# --- finding --------------------------------------------------------------------------------------------------------


@Loop
def turned(id_, turn):
    """An id with its halves exchanged if `turn` is 32, and unchanged if `turn` is 0. A second call undoes this."""
    return id_ << turn | id_ >> (np.uint64(64) - turn & np.uint64(63))


@Loop
def collected(rows, codec, found, cursor, own):
    """Computes the ids of the states at the address `rows`. Returns False without room for a value, id or bit.

    The ids go into `found`. With visited bits, only ids that were not visited go there. `cursor[PENDING]` is the
    number of the states. `cursor[INSERTED]` says how many are done.
    """
    turn, visited, ids, filled, scratch = found.turn, found.visited, found.ids, found.filled, own.scratch
    while cursor[INSERTED] < cursor[PENDING]:
        size = min(cursor[PENDING] - cursor[INSERTED], AT_ONCE)
        if filled[0] + size > len(ids):
            return False
        first = rows + np.uint64(8 * codec.words * cursor[INSERTED])
        if not to_ids(first, size, codec, own, True):
            return False
        if visited[TILES] == 0:
            for k in range(size):
                ids[filled[0] + k] = turned(scratch[0, k], turn)
            filled[0] += size
        elif not visit(size, turn, visited, scratch, ids, filled):
            return False
        cursor[INSERTED] += size
    return True


@Loop
def visit(size, turn, visited, scratch, found, filled):
    """Sets the bits of the first `size` ids in `scratch[0]`. Those that were not visited go into `found`, turned.

    Returns False if there is no room for a bit. Then no bit is set, and the ids are still in `scratch[0]`. If another
    worker sets a bit of the same word at the same moment, one of the two may be lost (`visited_bits`).
    """
    ids, entries, words = scratch[0], scratch[1], scratch[1]
    low, tiles = np.uint64(0xFFFFFFFF), np.uint64(visited.ctypes.data) + np.uint64(8 * TAKEN)
    last_row = last_line = np.uint64(0)
    for k in range(size):
        row, line = ids[k] >> np.uint64(32 + ROW_BITS), (ids[k] & low) >> np.uint64(LINE_BITS)
        last_row, last_line = max(last_row, row), max(last_line, line)
        entries[k] = entry_of(ids[k], visited)
    if last_row >= visited[ROWS] or last_line >= visited[LINES]:
        return False
    for k in range(size):
        prefetch(entries[k])
    for k in range(size):
        tile = load_entry(entries[k])
        if tile == 0:
            if load(tiles) >= visited[ROOM]:
                return False
            # If another worker is faster, the number that was taken here is lost.
            take_entry(entries[k], fetch_and_add(tiles, np.uint64(1)))
            tile = load_entry(entries[k])
        words[k] = word_of(ids[k], tile, visited)
        prefetch(words[k])
    count = np.uint64(filled[0])
    for k in range(size):
        bit, word = ids[k] & np.uint64((1 << LINE_BITS) - 1), load_shared(words[k])
        store_shared(words[k], word | np.uint64(1) << bit)
        found[count] = turned(ids[k], turn)
        count += ~word >> bit & np.uint64(1)
    filled[0] = count
    return True


@Loop
def visit_again(ids, turn, visited, scratch):
    """Sets the lost bits of turned ids again. Returns how many were lost. Each id was visited before."""
    plain, words, lost = scratch[0], scratch[1], 0
    for first in range(0, len(ids), AT_ONCE):
        size = min(len(ids) - first, AT_ONCE)
        for k in range(size):
            plain[k] = turned(ids[first + k], turn)
            words[k] = entry_of(plain[k], visited)
        for k in range(size):
            words[k] = word_of(plain[k], load_entry(words[k]), visited)
            prefetch(words[k])
        for k in range(size):
            mark = np.uint64(1) << (plain[k] & np.uint64((1 << LINE_BITS) - 1))
            if load_shared(words[k]) & mark == 0:
                fetch_and_or(words[k], mark)
                lost += 1
    return lost


@Loop
def entry_of(id_, visited):
    """The address of the entry for an id's tile in the grid."""
    row, line = id_ >> np.uint64(32 + ROW_BITS), (id_ & np.uint64(0xFFFFFFFF)) >> np.uint64(LINE_BITS)
    return visited[GRID] + np.uint64(4) * (row * visited[LINES] + line)


@Loop
def word_of(id_, tile, visited):
    """The address of the word with an id's visited bit."""
    word = id_ >> np.uint64(32) & np.uint64((1 << ROW_BITS) - 1)
    return visited[TILES] + np.uint64(8 << ROW_BITS) * tile + np.uint64(8) * word


@Loop
def gather(functions, constrained, codec, level, bits, shared, worker, found):
    """Does one worker's part of expanding a level. Returns `FINISHED`, `PAUSED` or `UNREADABLE`.

    `level` has the file and the addresses of its chunks (as in `struck`), the index of the level's run
    (`runs.Pieces`), and the worker's arrays for a piece: its bytes and its ids. The worker pauses before the stretch
    `UNTIL`, or when any worker has no room (see `collected`). The ids of the successors go into `found`. A batch has
    `1 << bits` states. `functions` has the same addresses as in `search_loops.advance`.
    """
    file, bases, pieces, data, ids = level
    cursor, states, rows, verdicts = worker.cursor, worker.states, worker.rows, worker.verdicts
    words, half, pairs, pages = codec.words, codec.half, codec.pairs, codec.pages
    scratch = worker.own.scratch
    here, stretch = np.uint64(shared.ctypes.data), bits + STRETCH_BITS
    while True:
        if not collected(np.uint64(rows.ctypes.data), codec, found, cursor, worker.own):
            store(here + np.uint64(8 * PAUSE), np.uint64(1))
            return PAUSED
        if load(here + np.uint64(8 * PAUSE)) != 0:
            return PAUSED
        while cursor[FIRST] >= cursor[LAST]:  # more than once only in a piece that is not full
            number = taken(here, len(pieces.first) << PIECE_BITS - stretch)
            if number < 0:
                return FINISHED if number == NONE else PAUSED
            piece = number >> PIECE_BITS - stretch
            if cursor[HELD] != piece:
                if not _read(file, bases, pieces.place[piece], data[: pieces.size[piece]]):
                    store(here + np.uint64(8 * PAUSE), np.uint64(1))
                    return UNREADABLE
                _decoded(np.uint64(data.ctypes.data), pieces.first[piece], ids[: pieces.ids[piece]])
                cursor[HELD] = piece
            cursor[FIRST] = number << stretch & PIECE - 1
            cursor[LAST] = min(cursor[FIRST] + (1 << stretch), pieces.ids[piece])
        first = cursor[FIRST]
        count = min(cursor[LAST] - first, 1 << bits)
        cursor[FIRST] += count
        for k in range(count):
            scratch[0, k] = turned(ids[first + k], found.turn)
        from_ids(
            np.uint64(scratch.ctypes.data), count, words, half, pairs, pages, scratch, np.uint64(states.ctypes.data)
        )
        reached = call_expand(functions[0], states.ctypes.data, count, rows.ctypes.data, 0, 0, worker.tally.ctypes.data)
        if constrained:
            call_batch(functions[1], rows.ctypes.data, reached, verdicts.ctypes.data)
            kept = keep_counted(rows, words, reached, verdicts, verdicts.shape[1], worker.totals)
            cursor[REJECTED] += reached - kept
            reached = kept
        if functions[3] != 0:
            call_batch(functions[3], rows.ctypes.data, reached, rows.ctypes.data)
        cursor[EXPANDED] += count
        cursor[PENDING] = reached
        cursor[INSERTED] = 0


# --- ids in files -----------------------------------------------------------------------------------------------------


@Loop
def encoded(ids, firsts, sizes, out):
    """Encodes ascending ids in pieces of `PIECE` ids. `firsts` gets the first id of each piece, `out` the rest.

    A piece has the differences between successive ids, each in 1, 2, 4 or 8 bytes. Before the differences, the piece
    has a word for every 32 of them. The word has two bits for each difference: the binary logarithm of its number of
    bytes. After the differences, the piece has 8 bytes more, because differences are read and written 8 bytes at a
    time. Puts the number of bytes of each piece into `sizes`. Returns the sum of these numbers.
    """
    begin = np.uint64(out.ctypes.data)
    at = begin
    for p in range(len(firsts)):
        start, end = p * PIECE, min((p + 1) * PIECE, len(ids))
        firsts[p], first, exponents = ids[start], at, at
        at += np.uint64(8 * _words(end - start))
        for block in range(start + 1, end, _BLOCK):
            word = np.uint64(0)
            for i in range(block, min(block + _BLOCK, end)):
                gap = ids[i] - ids[i - 1]
                exponent = np.uint64(
                    (gap >> np.uint64(8) != 0) + (gap >> np.uint64(16) != 0) + (gap >> np.uint64(32) != 0)
                )
                store(at, gap)
                at += np.uint64(1) << exponent
                word |= exponent << np.uint64(2 * (i - block))
            store(exponents, word)
            exponents += np.uint64(8)
        store(at, np.uint64(0))
        at += np.uint64(8)
        sizes[p] = at - first
    return np.int64(at - begin)


@Loop
def _words(count):
    """The number of words for the sizes of the differences between `count` ids."""
    return (count - 1 + _BLOCK - 1) // _BLOCK


@Loop
def decoded(data, firsts, sizes, counts, out):
    """Decodes the ids of some pieces from `data` into `out`."""
    at, k = np.uint64(data.ctypes.data), 0
    for p in range(len(firsts)):
        _decoded(at, firsts[p], out[k : k + counts[p]])
        at += np.uint64(sizes[p])
        k += counts[p]


@Loop
def _decoded(address, first, out):
    """Decodes the ids of the piece at an address into `out`."""
    id_, at = first, address + np.uint64(8 * _words(len(out)))
    out[0] = id_
    for block in range(1, len(out), _BLOCK):
        word = load(address)
        address += np.uint64(8)
        for k in range(block, min(block + _BLOCK, len(out))):
            size = np.uint64(1) << (word & np.uint64(3))
            unread = np.uint64(64) - np.uint64(8) * size
            id_ += load(at) << unread >> unread
            at += size
            word >>= np.uint64(2)
            out[k] = id_


# --- known ids ------------------------------------------------------------------------------------------------------


@Loop
def struck(file, bases, ends, pieces, ids, kept, buffer):
    """Sets the entry in `kept` to 0 for each of the sorted `ids` that occurs in one of the runs in a file.

    `pieces` is the index of all pieces (`runs.Pieces`), one run after another. `ends` says where each run ends in it.
    Up to `TOGETHER` pieces at a time are read into `buffer`. For a file in memory, `bases` has the addresses of its
    chunks. Returns the number of ids in the pieces that were read, or -1 if a piece cannot be read.
    """
    firsts, sizes, counts = pieces.first, pieces.size, pieces.ids
    begin = passed = 0
    for end in ends:
        some = firsts[begin:end]
        p = begin + max(np.searchsorted(some, ids[0], side="right") - 1, 0)
        last = begin + np.searchsorted(some, ids[-1], side="right")
        while p < last:
            q, size = p, 0
            while q < last and q < p + TOGETHER:
                size += sizes[q]
                passed += counts[q]
                q += 1
            if not _read(file, bases, pieces.place[p], buffer[:size]):
                return -1
            first = np.searchsorted(ids, firsts[p])
            _struck(buffer[:size], firsts[p:q], sizes[p:q], counts[p:q], ids[first:], kept[first:])
            p = q
        begin = end
    return passed


@Loop
def _read(file, bases, place, data):
    """Fills `data` with the bytes of a file from `place` on. Returns whether all of them could be read."""
    address, left = np.uint64(data.ctypes.data), len(data)
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
def _struck(data, firsts, sizes, counts, ids, kept):
    """Sets the entry in `kept` to 0 for each of the sorted `ids` that occurs in the pieces of a run in `data`."""
    piece, i = np.uint64(data.ctypes.data), 0
    for p in range(len(firsts)):
        id_, at = firsts[p], piece
        piece += np.uint64(sizes[p])
        while i < len(ids) and ids[i] < id_:
            i += 1
        if i == len(ids):
            return
        wanted = ids[i]
        if p + 1 < len(firsts) and wanted >= firsts[p + 1]:
            continue
        exponents, at, word, k = at, at + np.uint64(8 * _words(counts[p])), np.uint64(0), 0
        while True:
            if id_ >= wanted:
                while i < len(ids) and ids[i] < id_:
                    i += 1
                if i < len(ids) and ids[i] == id_:
                    kept[i] = 0
                    i += 1
                if i == len(ids):
                    return
                wanted = ids[i]
            if k == counts[p] - 1:
                break
            if k % _BLOCK == 0:
                word = load(exponents)
                exponents += np.uint64(8)
            size = np.uint64(1) << (word & np.uint64(3))
            unread = np.uint64(64) - np.uint64(8) * size
            id_ += load(at) << unread >> unread
            at += size
            word >>= np.uint64(2)
            k += 1


# --- looking --------------------------------------------------------------------------------------------------------


@Loop
def brought(ids, kept):
    """Moves the kept ids to the front of `ids`. Returns the number of kept ids."""
    count = 0
    for i in range(len(ids)):
        ids[count] = ids[i]
        count += int(kept[i])
    return count


@Loop
def looked(functions, codec, turn, ids, worker):
    """Evaluates the states with these ids: `survey` adds to `totals` and, under symmetry, `weights` to `weight`."""
    words, half, pairs, pages = codec.words, codec.half, codec.pairs, codec.pages
    scratch, rows = worker.own.scratch, worker.rows
    for first in range(0, len(ids), AT_ONCE):
        count = min(len(ids) - first, AT_ONCE)
        for k in range(count):
            scratch[0, k] = turned(ids[first + k], turn)
        from_ids(np.uint64(scratch.ctypes.data), count, words, half, pairs, pages, scratch, np.uint64(rows.ctypes.data))
        call_batch(functions[2], rows.ctypes.data, count, worker.totals.ctypes.data)
        if functions[4] != 0:
            call_batch(functions[4], rows.ctypes.data, count, worker.weight.ctypes.data)
