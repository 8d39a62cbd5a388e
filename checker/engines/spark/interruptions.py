"""Handles Ctrl-C while Java works for this process: notes it at once, and raises it where nothing is cut in two.

An interruption inside a call of Java loses the answer. Inside a finalizer of a Java object it is printed with a
traceback and then forgotten.
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
    """Raises `KeyboardInterrupt` if an interruption was noted and not raised yet."""
    if _asked.is_set():
        _asked.clear()
        raise KeyboardInterrupt


@contextmanager
def deferred() -> Iterator[None]:
    """Within it, a first interruption waits for `raise_if_asked` or for the end; a second one is raised at once."""
    previous = signal.getsignal(signal.SIGINT)
    mine = threading.current_thread() is threading.main_thread() and previous is signal.default_int_handler
    if not mine:
        # A handler of the caller's own gets interruptions as before; other threads never get any.
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
