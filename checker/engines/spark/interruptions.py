"""Ctrl-C while Java works for this process: noted at once, raised where nothing is cut in two.

An interruption that strikes inside a call of Java loses the answer, and inside a finalizer of one of its objects it is
printed with a traceback and forgotten.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

_asked: Final = threading.Event()


def raise_if_asked() -> None:
    """`KeyboardInterrupt` where one was asked for and not raised yet."""
    if _asked.is_set():
        _asked.clear()
        raise KeyboardInterrupt


@contextmanager
def deferred() -> Iterator[None]:
    """Within it a first interruption waits for `raise_if_asked`, or for its end; a second one is raised at once."""
    previous = signal.getsignal(signal.SIGINT)
    mine = threading.current_thread() is threading.main_thread() and previous is signal.default_int_handler
    if not mine:
        # Who has a handler of their own is told of interruptions by it; other threads are told of none.
        yield
        return
    signal.signal(signal.SIGINT, _note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
        raise_if_asked()


def _note(number: int, frame: FrameType | None) -> None:
    if _asked.is_set():
        raise KeyboardInterrupt
    _asked.set()
