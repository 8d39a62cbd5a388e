"""Sorts the compressed ids that workers have found: distributes the ids to buckets, and sorts each bucket by itself.

An id is a pair of numbers that identifies a state (`isrcheck.checker.engines.explicit.compressed_ids`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from isrcheck.checker.engines.explicit import sort_loops
from isrcheck.checker.engines.explicit.compressed_ids import Each
from isrcheck.checker.engines.explicit.run_loops import PIECE
from isrcheck.checker.engines.explicit.runs import Run
from isrcheck.checker.engines.explicit.sort_loops import BUCKET, MOST_BUCKETS
from isrcheck.checker.kernel.layout import Words

MOST_BITS: Final = 16
"""A bucket's number has at most this many bits. Usually it has at most `MOST_BUCKETS` bits. It has more only if some
buckets would otherwise have far more ids than others."""
LEAST_TOGETHER: Final = 1 << 14
"""A task for fewer ids than this costs more than it saves."""

SLICES: Final = 4
FEWER_SLICES: Final = 2
"""The approximate number of slices (see `Buckets`) for each worker. There are `FEWER_SLICES` if the number of a bucket
has more bits than usual, because each slice has counters for all buckets."""

Range = tuple[int, int]
"""A range of buckets: the first bucket, and the bucket after the last."""


class Buckets:
    """Ids, distributed to buckets by their first bits.

    Each row of `rooms` is the memory of one worker. The first half of the row has the ids that the worker has found.
    The second half begins at position `first_room` and is space for buckets. `filled` has the number of ids of each
    worker. `spilled` are runs (see `runs`) of further ids. `bits` says how many bits the two numbers of an id have at
    most. One worker may have found many more ids than another. So each worker's ids are cut into *slices* of equal size
    (a worker's last slice may be smaller). Ids are counted and distributed by slices.

    The number of a bucket has `more_bits` more bits than usual. If some buckets would nevertheless have far more ids
    than others, `more_bits` grows. The ids of the next level are probably distributed in a similar way.
    """

    def __init__(
        self,
        rooms: Words,
        first_room: int,
        filled: Sequence[int],
        spilled: Sequence[Run],
        bits: tuple[int, int],
        each: Each,
        more_bits: int = 0,
    ) -> None:
        self._high, low = bits
        self._low, self._spilled, self._ids = np.uint64(low), spilled, rooms
        total = sum(filled)
        usual = min(max((total >> BUCKET).bit_length(), 1), MOST_BUCKETS)
        while True:
            self.more_bits, most = more_bits, min(MOST_BITS, max(sum(bits), 1))
            self._first = min(usual + more_bits, most)
            self._slices = _slices(filled, FEWER_SLICES if more_bits else SLICES)
            self._count(each)
            if self.largest <= max(4 << BUCKET, total >> 8) or self._first == most:
                break
            more_bits += 2
        self._room, each_word = rooms.reshape(-1), 1
        if self._rest <= 32:
            self._room, each_word = self._room.view(np.uint32), 2
        first = [each_word * (worker * rooms.shape[1] + first_room) + begin for worker, begin, _ in self._slices]
        self._places = np.array(first, dtype=np.int64)
        each(self._distribute, range(len(self._slices)))

    @property
    def _rest(self) -> int:
        """The number of bits of a key (see `sort_loops.sorted_distinct`) that follow after the bucket's number."""
        return max(self._high + int(self._low) - self._first, 0)

    def _count(self, each: Each) -> None:
        self._ends = np.zeros((len(self._slices), 1 << self._first), dtype=np.int64)
        self._into = [np.empty((0, 0), dtype=np.int64)] * len(self._slices)
        each(self._count_of, range(len(self._slices)))
        self._sizes = np.diff(self._ends, axis=1, prepend=0).sum(axis=0)
        self.largest = int(self._sizes.max())

    def _found(self, number: int) -> Words:
        worker, begin, end = self._slices[number]
        return self._ids[worker, begin:end]

    def _count_of(self, number: int) -> None:
        ids = self._found(number)
        into = self._into[number] = np.empty((1 << self._first, sort_loops.PARTS), dtype=np.int64)
        sort_loops.counted(ids, self._low, self._rest, self._ends[number], into)

    def _distribute(self, number: int) -> None:
        here = self._room[self._places[number] :]
        sort_loops.distributed(self._found(number), here, self._low, self._rest, self._into[number])

    # --- ranges -----------------------------------------------------------------------------------------------------

    def ranges(self, tasks: int, most: int) -> Iterator[Range]:
        """Splits the buckets into ranges. A range has about `most` ids or fewer, unless a single bucket has more.

        Usually there are about `tasks` ranges or more. There are fewer if `tasks` ranges would have fewer than
        `LEAST_TOGETHER` ids each, or if a few buckets have most of the ids.
        """
        sizes = self._sizes.copy()
        for run in self._spilled:
            sizes += PIECE * np.bincount(self._bucket_of(run.firsts), minlength=len(sizes))
        ends = np.cumsum(sizes)
        each = max(min(LEAST_TOGETHER, most), min(most, int(ends[-1]) // tasks))
        cuts = np.searchsorted(ends, np.arange(each, int(ends[-1]), each), side="left") + 1
        # Not np.unique, whose first call imports much of numpy.
        yield from pairwise(sorted({0, *cuts[cuts < len(ends)].tolist(), len(ends)}))

    def _bucket_of(self, ids: Words) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        keys = ids >> np.uint64(32) << self._low | ids & np.uint64(0xFFFFFFFF)
        return (keys >> np.uint64(self._rest)).astype(np.int64)

    def ids(self, some: Range) -> Words:
        """The distinct ids in a range of buckets, ids in `spilled` included, in ascending order."""
        ids = np.empty(int(self._sizes[slice(*some)].sum()), dtype=np.uint64)
        here, there = np.empty((2, int(self._sizes[slice(*some)].max())), dtype=self._room.dtype)
        sorting = here, there, np.empty(1 << sort_loops.DIGIT, dtype=np.int32)
        count = sort_loops.from_buckets(
            (self._room, self._places, self._ends), *some, self._low, self._rest, sorting, ids
        )
        found = ids[:count]
        for run in self._spilled:
            more = run.between(self._least(some[0]), self._least(some[1]) if some[1] < len(self._sizes) else None)
            out = np.empty(len(found) + len(more), dtype=np.uint64)
            found = out[: sort_loops.merged(found, more, out)]
        return found

    def _least(self, bucket: int) -> int:
        """The least id that could be in a bucket, even if no worker has found this id."""
        key, low = bucket << self._rest, int(self._low)
        return key >> low << 32 | key & ((1 << low) - 1)


def _slices(filled: Sequence[int], each: int) -> list[tuple[int, int, int]]:
    """The slices of all workers' ids: the worker, the position of the first id, and the position after the last.

    A single worker has one slice. Several workers have `each` slices on average, or fewer if there are few ids.
    """
    most = max(sum(filled) // (each * len(filled)), LEAST_TOGETHER) if len(filled) > 1 else max(*filled, 1)
    return [(w, begin, min(begin + most, count)) for w, count in enumerate(filled) for begin in range(0, count, most)]
