"""Remembers whether the loops of the search for large spaces were compiled on this machine. Compiling takes seconds."""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from pathlib import Path
from typing import Final

from isrcheck.checker.kernel.objects import objects, version_of

HERE: Final = Path(__file__).parent
KERNEL: Final = HERE.parents[1] / "kernel"
FILES: Final = (
    *(HERE / name for name in ("loops.py", "run_loops.py", "sort_loops.py")),
    *(KERNEL / name for name in ("loops.py", "instructions.py")),
)
"""The files that define the loops of the search, the instructions that loops use, and the compilation of loops."""
_loaded = False
"""Whether this process has compiled or loaded the loops."""


def were_compiled() -> bool:
    """Whether this process has compiled or loaded the loops, or can load them because an earlier process kept them."""
    folder = objects()
    return _loaded or (folder is not None and folder.get(_key()) is not None)


def note_compiled() -> None:
    """Records that the loops are compiled, for this process and for later processes."""
    global _loaded
    _loaded, folder = True, objects()
    if folder is not None and folder.get(_key()) is None:
        folder.put(_key(), b"compiled")


@cache
def _key() -> str:
    """A text that changes whenever Numba must compile the loops again.

    It has a digest of `FILES` and the versions of Numba and Python. It is made without importing Numba or the loops.
    """
    loops = hashlib.sha256(b"".join(path.read_bytes() for path in FILES)).hexdigest()
    return f"loops {loops} {version_of('numba')} python {sys.version}"
