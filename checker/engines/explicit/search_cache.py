"""What earlier searches found out about large spaces, kept between processes beside the compiled code.

If a space turned out to be large, the words of its states (`kernel.word_choice`) and a sample of its states are kept. A
later search of this space begins with the code for large spaces at once, and need not choose the words again. It takes
less time, but its results are the same.

The key of an entry has the names and sizes of a system, not its expressions, because hashing these takes longer. So a
changed guard may make a large space small, and its entry is still found. Then the next search takes a moment longer,
and removes the entry.

Remembers whether the loops of the search for large spaces were compiled on this machine. Compiling takes seconds.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

from isrcheck.checker.engines.explicit.level_search import MOST_LEVELS
from isrcheck.checker.engines.explicit.small_search import LARGEST
from isrcheck.checker.kernel.code_cache import objects, version_of
from isrcheck.checker.kernel.layout import Layout, Words
from isrcheck.model.semantics.transition_system import TransitionSystem

HERE: Final = Path(__file__).parent
KERNEL: Final = HERE.parents[1] / "kernel"
FILES: Final = (
    *(HERE / name for name in ("search_loops.py", "run_loops.py", "sort_loops.py")),
    *(KERNEL / name for name in ("jit.py", "intrinsics.py")),
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


MOST: Final = 1 << 13
"""A sample with more states than this is thinned out."""
CODE: Final = (Path(__file__), KERNEL / "layout.py", KERNEL / "word_choice.py")
"""The files that say what an entry means and how words are chosen."""
BYTES: Final = np.dtype("<u8")


@dataclass(frozen=True)
class Space:
    """A large space: the layout of its states, and a sample of them in this layout."""

    layout: Layout
    sample: Words


class Earlier:
    """The entry of one question: which states of a system a search explores, to the end or to the first violation."""

    def __init__(self, system: TransitionSystem, keep_going: bool, deadlock: bool) -> None:
        self._system = system
        leaves = [(leaf.path, leaf.kind, leaf.low, leaf.high) for leaf in system.leaves]
        model = [system.model, sorted((name, str(value)) for name, value in system.settings.items())]
        sizes = [len(system.initial), len(system.transitions), len(system.constraints)]
        asked = [[p.name for p in some] for some in (system.invariants, system.goals)]
        self._key = "space " + json.dumps([_code(), *model, leaves, sizes, asked, keep_going, deadlock])

    def space(self) -> Space | None:
        """The space, if an earlier search found that it is large."""
        folder = objects()
        kept = None if folder is None else folder.get(self._key)
        if kept is None:
            return None
        words, _, rows = kept.partition(b"\n")
        layout = Layout(self._system.leaves, json.loads(words))
        return Space(layout, np.frombuffer(rows, dtype=BYTES).astype(np.uint64).reshape(-1, layout.words))

    def note(self, levels: Sequence[int], known: Space | None, found: Space) -> None:
        """Notes that a search has found `levels` (the numbers of their states).

        Keeps the space for later searches if it is large. Removes the entry `known` if the space is not large any more.
        A space with more than `MOST_LEVELS` levels is not kept. Its first levels show that it needs a table, so a later
        search has to explore them with arrays again.
        """
        folder = objects()
        if folder is None:
            return
        if sum(levels) <= LARGEST or len(levels) > MOST_LEVELS:
            if known is not None:
                folder.remove(self._key)
        elif known is None:
            some = found.sample[:: 1 + len(found.sample) // MOST]
            words = json.dumps([place.word for place in found.layout.places]).encode()
            folder.put(self._key, words + b"\n" + some.astype(BYTES).tobytes())


@cache
def _code() -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in CODE)).hexdigest()
