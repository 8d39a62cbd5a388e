"""Whether the loops of the search for large spaces were compiled on this machine before; if not, that takes seconds."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path

from isrcheck.checker.kernel.objects import objects


def were_compiled() -> bool:
    """Also where nothing is kept, so that nobody knows."""
    folder = objects()
    return folder is None or folder.get(_key()) is not None


def note_compiled() -> None:
    """For the processes that come after this one."""
    folder = objects()
    if folder is not None and folder.get(_key()) is None:
        folder.put(_key(), b"compiled")


@cache
def _key() -> str:
    """What Numba compiles anew if it changes."""
    loops = hashlib.sha256(Path(__file__).with_name("loops.py").read_bytes()).hexdigest()
    return f"loops {loops} numba {version('numba')} python {platform.python_version()} {platform.machine()}"
