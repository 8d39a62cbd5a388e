"""Whether the loops of the search for large spaces were compiled on this machine before. Compiling takes seconds."""

from __future__ import annotations

import hashlib
import os
import sys
from functools import cache
from pathlib import Path

from isrcheck.checker.kernel.objects import objects, version_of


def were_compiled() -> bool:
    """Whether the loops were compiled before. If no files can be kept, nothing is known, and the result is True."""
    folder = objects()
    if folder is None or folder.get(_key()) is not None:
        return True
    there = next(path for path in (folder.path, *folder.path.parents) if path.exists())
    return not os.access(there, os.W_OK)


def note_compiled() -> None:
    """Leaves a note for later processes: the loops are compiled."""
    folder = objects()
    if folder is not None and folder.get(_key()) is None:
        folder.put(_key(), b"compiled")


@cache
def _key() -> str:
    """A text that changes with the versions and files whose change makes Numba compile again. Imports none of them."""
    here, kernel = Path(__file__).parent, Path(__file__).parents[2] / "kernel"
    files = (
        *(here / name for name in ("loops.py", "run_loops.py", "sort_loops.py")),
        *(kernel / name for name in ("loops.py", "instructions.py")),
    )
    loops = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    return f"loops {loops} {version_of('numba')} python {sys.version}"
