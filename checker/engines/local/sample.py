"""A sample of the states that a search will meet.

The store of the search uses this sample to decide which parts of a state it combines into pairs
(`isrcheck.checker.engines.local.dictionaries`).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from isrcheck.checker.kernel.compile import Kernel
from isrcheck.checker.kernel.layout import Words
from isrcheck.model.language.system import TransitionSystem

ENOUGH: Final = 1 << 14
AT_ONCE: Final = 1 << 9
PASSES: Final = 1 << 7
"""At most this many levels are looked at. In a narrow and deep space the first levels are enough."""


def sample(system: TransitionSystem, kernel: Kernel) -> Words:
    """Some of the states that a search meets first, successors outside the constraints included.

    The sample has between `ENOUGH` and `4 * ENOUGH` states, or fewer in a small or narrow space. If states have at most
    two words, the sample has only the initial states. The same system always gives the same sample.
    """
    if kernel.words <= 2:  # there is only one way to pair the parts, so any states do
        return kernel.layout.pack(system.initial)
    known = last = np.unique(kernel.layout.pack(system.initial), axis=0)
    for _ in range(PASSES):
        if not len(last) or len(known) >= ENOUGH:
            break
        found = np.concatenate([kernel.expand(last[k : k + AT_ONCE])[0] for k in range(0, len(last), AT_ONCE)])
        before, known = len(known), np.unique(np.concatenate([known, found]), axis=0)
        if len(known) == before:
            break
        last = np.unique(found, axis=0)[: 4 * AT_ONCE]
    return known[:: 1 + len(known) // (4 * ENOUGH)]
