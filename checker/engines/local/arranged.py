"""Makes the kernel for searching a large state space.

`kernel.arrangement` chooses the kernel's layout: which leaves (scalar parts of a state) share a word of a packed state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isrcheck.checker.kernel.compile import Kernel
from isrcheck.checker.kernel.layout import Layout, Words
from isrcheck.model.language.system import TransitionSystem

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
        from isrcheck.checker.kernel.native import begun

        if self._coming is None:
            known = list(levels)
            self._coming = begun(lambda: self._made(known, layout))

    def _made(self, levels: Sequence[Words], layout: Layout | None) -> Kernel:
        from isrcheck.checker.kernel.arrangement import arranged

        kernel = arranged(self._system, levels) if layout is None else Kernel(self._system, layout)
        kernel.compile_ahead()
        return kernel

    @property
    def kernel(self) -> Kernel:
        """The kernel, after `begin`. Waits until its layout is chosen, but not until it is compiled."""
        assert self._coming is not None
        return self._coming.result()
