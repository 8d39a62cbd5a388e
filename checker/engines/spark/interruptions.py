"""Handles Ctrl-C while Java works for this process: records it immediately, and raises it later at a safe point.

An exception inside a call of Java would lose the call's answer. An exception inside a finalizer of a Java object would
be printed with a traceback and then ignored.
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
    """Raises `KeyboardInterrupt` if an interruption was recorded and not raised yet."""
    if _asked.is_set():
        _asked.clear()
        raise KeyboardInterrupt


@contextmanager
def deferred() -> Iterator[None]:
    """In this context, a first Ctrl-C waits for `raise_if_asked` or for the end of the context.

    A second Ctrl-C is raised immediately. The context has these effects only in the main thread, and only if the caller
    has no handler of its own for Ctrl-C.
    """
    previous = signal.getsignal(signal.SIGINT)
    mine = threading.current_thread() is threading.main_thread() and previous is signal.default_int_handler
    if not mine:
        # The caller's own handler still gets interruptions as before. Python interrupts only the main thread.
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
