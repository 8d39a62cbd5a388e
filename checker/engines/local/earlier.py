"""What earlier searches found out about large spaces, kept between processes beside the compiled code.

If a space turned out to be large, the words of its states (`kernel.arrangement`) and a sample of its states are kept. A
later search of this space begins with the code for large spaces at once, and need not choose the words again. It takes
less time, but its results are the same.

The key of an entry has the names and sizes of a system, not its expressions, because hashing these takes longer. So a
changed guard may make a large space small, and its entry is still found. Then the next search takes a moment longer,
and removes the entry.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

from isrcheck.checker.engines.local.ready import KERNEL
from isrcheck.checker.engines.local.small import LARGEST, MOST_LEVELS
from isrcheck.checker.kernel.layout import Layout, Words
from isrcheck.checker.kernel.objects import objects
from isrcheck.model.language.system import TransitionSystem

MOST: Final = 1 << 13
"""A sample with more states than this is thinned out."""
CODE: Final = (Path(__file__), KERNEL / "layout.py", KERNEL / "arrangement.py")
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
