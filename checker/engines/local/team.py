"""The workers of a level: threads, each with its own arrays for a batch."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from itertools import islice
from typing import Any, ClassVar, Final, TypeVar

import numpy as np

from isrcheck.checker.engines.local import loops
from isrcheck.checker.kernel.compile import ROOM, Kernel
from isrcheck.checker.kernel.layout import Words

A = TypeVar("A")
B = TypeVar("B")
BATCH_BITS: Final = 8
"""A batch has at most 2**8 states. So the successors of a batch stay in the second-level cache until they are
inserted."""
assert 1 << BATCH_BITS <= loops.AT_ONCE, "a batch is named at once"
LARGEST_BATCH_ROWS: Final = 1 << 19
AHEAD: Final = 4
"""For each worker, `mapped` asks for at most this many results ahead of the result that it yields next."""


def batch_bits(transitions: int) -> int:
    """The exponent k for batches of 2**k states. It is smaller if a state may have very many successors."""
    return min(BATCH_BITS, max(3, (LARGEST_BATCH_ROWS // max(transitions, 1)).bit_length() - 1))


def room(transitions: int) -> int:
    return (1 << batch_bits(transitions)) * transitions + ROOM


class Worker:
    """The data of one thread: arrays for a batch of successors, and the thread's counts in a level.

    `own` has the arrays that the store needs for each worker.
    """

    def __init__(self, kernel: Kernel, own: tuple[Words, Words]) -> None:
        rows = room(kernel.transitions)
        shapes = (
            (1 << batch_bits(kernel.transitions), kernel.words),
            (rows, kernel.words),
            (rows, kernel.verdicts.words),
        )
        self.buffers, self.own = tuple(np.empty(shape, dtype=np.uint64) for shape in shapes), own
        self._kernel = kernel
        self.begin()

    def begin(self) -> None:
        """Sets the counts to zero at the beginning of a level."""
        self.tally = self._kernel.tally()
        self.totals = np.zeros((1, self._kernel.verdicts.words), dtype=np.uint64)
        self.weight = np.zeros((1, 1), dtype=np.uint64)
        self.cursor = np.zeros(loops.CURSOR, dtype=np.int64)
        self.cursor[loops.CHUNK] = -1

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (*self.buffers, *self.own))


class Team:
    """Threads for `size` workers beside the main thread. If `size` is 0, the main thread does all work alone.

    The first call of a function in this process runs in the main thread alone, because the call may have to wait for
    the compiler. Ctrl-C ends such a wait in the main thread, but not in another thread.
    """

    _called: ClassVar[set[str]] = set()

    def __init__(self, size: int) -> None:
        self._size = size
        self._pool = ThreadPoolExecutor(size + 1) if size > 0 else None

    def together(self, part: Callable[[Worker], Any], hands: Sequence[Worker], stop: Callable[[], None]) -> list[Any]:
        """Calls `part` for all workers at once, and returns the results. Calls `stop` if there is an exception.

        The call for the first worker runs in this thread. It is the only call if there are no threads, or if `part` is
        called for the first time. An exception is raised again after all calls have ended.
        """
        first, *others = hands
        if self._pool is None or not others or self._is_first(part):
            return [part(first)]
        tasks = [self._pool.submit(part, worker) for worker in others]
        try:
            return [part(first), *(task.result() for task in tasks)]
        except BaseException:
            stop()
            for task in tasks:
                while not task.done():
                    with suppress(BaseException):
                        task.exception()
            raise

    def _is_first(self, function: Callable[..., Any]) -> bool:
        """Whether a function is called for the first time in this process. Remembers the function."""
        name = f"{function.__module__}.{function.__qualname__}"
        known = name in self._called
        self._called.add(name)
        return not known

    def each(self, function: Callable[[int], None], numbers: Iterable[int]) -> None:
        """Calls a function with each number, in several threads if there are any."""
        numbers = list(numbers)
        if self._pool is not None and numbers and self._is_first(function):
            function(numbers.pop(0))
        for _ in map(function, numbers) if self._pool is None else self._pool.map(function, numbers):
            pass

    def mapped(self, function: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
        """The results of a function for the items, in order. Only a few results are computed ahead."""
        if self._pool is None:
            yield from map(function, items)
            return
        ahead = deque[Future[B]]()
        try:
            for item in items:
                if not ahead and self._is_first(function):
                    yield function(item)
                    continue
                ahead.append(self._pool.submit(function, item))
                if len(ahead) > AHEAD * (self._size + 1):
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for task in ahead:
                task.cancel()
            wait(ahead)

    def ahead(self, items: Iterator[A]) -> Iterator[A]:
        """Yields the items. If there are threads, each item is made while the caller uses the item before it."""
        if self._pool is None:
            yield from items
            return
        coming = self._pool.submit(lambda: [*islice(items, 1)])
        try:
            while made := coming.result():
                coming = self._pool.submit(lambda: [*islice(items, 1)])
                yield made[0]
        finally:
            wait([coming])

    def dismiss(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()
