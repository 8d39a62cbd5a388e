"""Makes the kernel for searching a large state space.

`kernel.word_choice` chooses the kernel's layout: which leaves (scalar parts of a state) share a word of a packed state.

A sample of the states that a search will meet.

The store of the search uses this sample to decide which parts of a state it combines into pairs
(`isrcheck.checker.engines.explicit.compressed_ids`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.kernel.layout import Layout, Words
from isrcheck.model.semantics.transition_system import TransitionSystem

if TYPE_CHECKING:
    from concurrent.futures import Future


class Arranged:
    """The kernel of a system, for searching a large state space. The kernel is made once, in another thread."""

    def __init__(self, system: TransitionSystem) -> None:
        self._system = system
        self._coming: Future[Kernel] | None = None

    def begin(self, levels: Sequence[Words], layout: Layout | None = None) -> None:
        """Begins to make the kernel: first its layout is chosen, then it is compiled. Later calls do nothing.

        `levels` are the first levels of the search, as far as they are known. If there is a `layout`, it is taken.
        """
        from isrcheck.checker.kernel.llvm_compiler import begun

        if self._coming is None:
            known = list(levels)
            self._coming = begun(lambda: self._made(known, layout))

    def _made(self, levels: Sequence[Words], layout: Layout | None) -> Kernel:
        from isrcheck.checker.kernel.word_choice import arranged

        kernel = arranged(self._system, levels) if layout is None else Kernel(self._system, layout)
        kernel.compile_ahead()
        return kernel

    @property
    def kernel(self) -> Kernel:
        """The kernel, after `begin`. Waits until its layout is chosen, but not until it is compiled."""
        assert self._coming is not None
        return self._coming.result()


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
