"""The workers of a level: threads, each with its own arrays for a batch."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import chain, islice
from queue import SimpleQueue
from typing import Any, ClassVar, Final, TypeVar

import numpy as np

from isrcheck.checker.engines.explicit import search_loops
from isrcheck.checker.engines.explicit.search_loops import CodecArrays, WorkerArrays
from isrcheck.checker.kernel.compiled import ROOM, Kernel

A = TypeVar("A")
B = TypeVar("B")
BATCH_BITS: Final = 8
"""A batch has at most 2**8 states. So the successors of a batch stay in the second-level cache until they are
inserted."""
assert 1 << BATCH_BITS <= search_loops.AT_ONCE, "a batch is named at once"
LARGEST_BATCH_ROWS: Final = 1 << 19
AHEAD: Final = 8
ALL: Final = 1 << 30
"""For each worker, `mapped` computes at most `AHEAD` results before it yields them, and `each` at most `ALL`."""


def batch_bits(transitions: int) -> int:
    """The exponent k for batches of 2**k states. It is smaller if a state may have very many successors."""
    return min(BATCH_BITS, max(3, (LARGEST_BATCH_ROWS // max(transitions, 1)).bit_length() - 1))


def room(transitions: int) -> int:
    return (1 << batch_bits(transitions)) * transitions + ROOM


class Worker:
    """The data of one thread: arrays for a batch of successors, and the thread's counts in a level.

    `own` has the arrays that the store needs for each worker.
    """

    def __init__(self, kernel: Kernel, own: CodecArrays) -> None:
        rows = room(kernel.transitions)
        self.states = np.empty((1 << batch_bits(kernel.transitions), kernel.words), dtype=np.uint64)
        self.rows = np.empty((rows, kernel.words), dtype=np.uint64)
        self.verdicts, self.own = np.empty((rows, kernel.verdicts.words), dtype=np.uint64), own
        self._kernel = kernel
        self.begin()

    def begin(self) -> None:
        """Sets the counts to zero at the beginning of a level."""
        self.tally = self._kernel.tally()
        self.totals = np.zeros((1, self._kernel.verdicts.words), dtype=np.uint64)
        self.weight = np.zeros((1, 1), dtype=np.uint64)
        self.cursor = np.zeros(search_loops.CURSOR, dtype=np.int64)
        self.cursor[[search_loops.CHUNK, search_loops.HELD]] = -1

    @property
    def arrays(self) -> WorkerArrays:
        """The present arrays, for loops."""
        return WorkerArrays(
            self.cursor, self.states, self.rows, self.verdicts, self.own, self.tally, self.totals, self.weight
        )

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (self.states, self.rows, self.verdicts, *self.own))


class Team:
    """Threads for `size` workers beside the main thread. If `size` is 0, the main thread does all work alone.

    The first call of a function in this process runs in the main thread alone, because the call may have to wait for
    the compiler. Ctrl-C ends such a wait in the main thread, but not in another thread.
    """

    _called: ClassVar[set[str]] = set()

    def __init__(self, size: int) -> None:
        self._size = size
        self._pool = ThreadPoolExecutor(size) if size > 0 else None

    def together(self, part: Callable[[A], B], hands: Sequence[A], stop: Callable[[], None]) -> list[B]:
        """Calls `part` for all workers at once, and returns the results. Calls `stop` if there is an exception.

        The call for the first worker runs in this thread. It is the only call if there are no threads, or if `part` is
        called for the first time. An exception is raised again after all calls have ended.
        """
        if self._pool is None or len(hands) < 2 or self._is_first(part):
            return [part(hands[0])]
        return self._at_once(part, hands, stop)

    def _at_once(self, part: Callable[[A], B], hands: Sequence[A], stop: Callable[[], None]) -> list[B]:
        assert self._pool is not None
        tasks, results, done = list[Future[None]](), dict[int, B](), SimpleQueue[BaseException | None]()

        def run(number: int) -> None:
            try:
                results[number] = part(hands[number])
                done.put(None)
            except BaseException as error:
                done.put(error)

        try:
            for number in range(1, len(hands)):
                tasks.append(self._pool.submit(run, number))
            results[0] = part(hands[0])
            for _ in tasks:
                # Ctrl-C may interrupt this. A Future's `result` would raise an error of its own if it came too early.
                if (error := done.get()) is not None:
                    raise error
        except BaseException:
            stop()
            while not all(task.done() for task in tasks):
                with suppress(KeyboardInterrupt):
                    time.sleep(0.001)
            raise
        return [results[number] for number in range(len(hands))]

    def _is_first(self, function: Callable[..., Any]) -> bool:
        """Whether a function is called for the first time in this process. Remembers the function."""
        name = f"{function.__module__}.{function.__qualname__}"
        known = name in self._called
        self._called.add(name)
        return not known

    def each(self, function: Callable[[int], None], numbers: Iterable[int]) -> None:
        """Calls a function with each number, in several threads if there are any."""
        for _ in self.mapped(function, numbers, ALL):
            pass

    def mapped(self, function: Callable[[A], B], items: Iterable[A], ahead: int = AHEAD) -> Iterator[B]:
        """The results of a function for the items, in order.

        Computes at most `ahead` results for each worker before it yields them. This thread also computes. A thread
        takes one item after another without a word to the others, because a thread that is woken may have to wait
        milliseconds for a processor.
        """
        items = iter(items)
        if self._pool is None:
            yield from map(function, items)
        for item in islice(items, 1):
            if self._is_first(function):
                yield function(item)
            else:
                items = chain([item], items)
        while some := list(islice(items, ahead * (self._size + 1))):
            yield from self._shared(function, some)

    def _shared(self, function: Callable[[A], B], items: Sequence[A]) -> list[B]:
        """The results of a function for the items, in order. All threads take items from one queue.

        After an exception no thread begins with another item.
        """
        queue, results = deque(enumerate(items)), dict[int, B]()

        def part(hand: int) -> None:
            try:
                while taken := _first_of(queue):
                    number, item = taken
                    results[number] = function(item)
            except BaseException:
                queue.clear()
                raise

        self._at_once(part, range(min(self._size + 1, len(items))), queue.clear)
        return [results[number] for number in range(len(items))]

    def dismiss(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()


def _first_of(queue: deque[A]) -> A | None:
    """Takes the first item of a queue, if there is one. Several threads may do this at once."""
    try:
        return queue.popleft()
    except IndexError:
        return None
