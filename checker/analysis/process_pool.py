"""Works on several items in parallel, in reused processes, so that each process loads an engine only once."""

from __future__ import annotations

import gc
import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def in_order(
    work: Callable[[Item], Answer], items: Sequence[Item], workers: int, ended: Callable[[Item], Answer]
) -> Iterator[Answer]:
    """The answers in the order of the items. With one worker or one item, the work is done in this process.

    If a process dies, each item without an answer is tried again, in a new process for this item alone. If the new
    process dies too, `ended` gives the answer for the item.
    """
    if min(workers, len(items)) < 2:
        yield from map(work, items)
        return
    pool = _pool(min(workers, len(items)))
    try:
        futures = [_submitted(pool, work, item) for item in items]
        for item, future in zip(items, futures, strict=True):
            yield _answer(work, item, future, ended)
    except BaseException:
        _end(pool)
        raise
    pool.shutdown()


def in_fresh_process(work: Callable[[Item], Answer], item: Item) -> Answer:
    """The answer for one item, from a process that does nothing else. Raises `BrokenProcessPool` if it dies."""
    pool = _pool(1)
    try:
        answer = _submitted(pool, work, item).result()
    except BaseException:
        _end(pool)
        raise
    pool.shutdown()
    return answer


def _submitted(pool: ProcessPoolExecutor, work: Callable[[Item], Answer], item: Item) -> Future[Answer]:
    try:
        with _unheard():
            return pool.submit(work, item)
    except BrokenProcessPool as error:
        broken: Future[Answer] = Future()
        broken.set_exception(error)
        return broken


def _answer(
    work: Callable[[Item], Answer], item: Item, future: Future[Answer], ended: Callable[[Item], Answer]
) -> Answer:
    """The answer for an item. If a process of the pool dies, the item is tried again in a process of its own."""
    try:
        return future.result()
    except BrokenProcessPool:
        with _pool(1) as pool:
            try:
                return _submitted(pool, work, item).result()
            except BrokenProcessPool:
                return ended(item)


def _pool(workers: int) -> ProcessPoolExecutor:
    # Processes are spawned, because a fork would copy locks that other threads of this process may hold.
    spawning = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=spawning, initializer=_begin)


def _begin() -> None:
    """Makes a worker ignore interrupts (its parent handles them), and collect garbage as rarely as its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(50_000)


@contextmanager
def _unheard() -> Iterator[None]:
    """Delays interrupts in this process, and blocks them in processes that it starts meanwhile.

    A terminal sends Ctrl-C to all these processes. Python handles a signal in the main thread, also if it is blocked
    there and another thread receives it. So the handler waits too.
    """
    heard: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    waits = threading.current_thread() is threading.main_thread() and callable(handler)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    if waits:
        signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        yield
    finally:
        if waits:
            signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if heard:
            signal.raise_signal(signal.SIGINT)


def _end(pool: ProcessPoolExecutor) -> None:
    """Ends the processes even if they are busy, because after an interruption nobody waits for their results."""
    processes = list((pool._processes or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
