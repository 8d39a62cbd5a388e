"""A transition system as functions over arrays of packed states."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from isrcheck.checker.kernel.layout import Integers, Layout, Words
from isrcheck.checker.kernel.programs import Columns
from isrcheck.checker.kernel.verdict_bits import ACTIONS, HUGE, LEAST, Verdicts, verdicts
from isrcheck.model.semantics.transition_system import TransitionSystem

if TYPE_CHECKING:
    from concurrent.futures import Future

    from isrcheck.checker.kernel.llvm_compiler import Code

ROOM: Final = 8
"""The number of spare entries at the end of the arrays that compiled code fills with successors or failures."""


class Kernel:
    """The functions of a transition system, with the layout of its states.

    At first, the functions run as programs over columns (`Columns`). After the first use of `code`, they run as
    compiled code. The results are equal.
    """

    def __init__(self, system: TransitionSystem, layout: Layout | None = None) -> None:
        self.system, self.layout = system, layout or Layout(system.leaves)
        self.verdicts: Verdicts = verdicts(system)
        self.transitions = len(system.transitions)
        self.actions = len(system.actions)
        self._functions: Columns | Compiled = Columns(system, self.layout, self.verdicts.bits)
        self._ahead: Future[Code] | None = None

    # --- compiled code ----------------------------------------------------------------------------------------------

    @cached_property
    def text(self) -> str:
        """The LLVM text of the system, the same on every machine."""
        from isrcheck.checker.kernel.llvm_module import kernel_text

        return kernel_text(self.system, self.layout, self.verdicts.bits)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the text, in hexadecimal."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def compile_ahead(self) -> None:
        """Starts a thread that compiles `text`, or loads the code if the text was compiled before.

        Only the first call starts a thread. The function `failures` is compiled later, when it is first needed.
        """
        from isrcheck.checker.kernel.llvm_compiler import begun

        if self._ahead is None:
            self._ahead = begun(self._compiled)

    @cached_property
    def code(self) -> Code:
        """The compiled code. From the first use of this property on, all functions run as compiled code."""
        self.compile_ahead()
        assert self._ahead is not None
        code = self._ahead.result()
        self._functions = Compiled(self, code)
        return code

    def _compiled(self) -> Code:
        from isrcheck.checker.kernel.code_cache import objects
        from isrcheck.checker.kernel.llvm_compiler import Code

        code = Code(self.text, objects=objects())
        assert code.addresses["expand"]
        return code

    @property
    def identity(self) -> str:
        """A hash of the text, the initial states and the leaves.

        Stored states may be read only if this hash is still the same as when the states were stored. A hash of the text
        alone would not be enough. The text does not contain the initial states. If nothing reads a leaf, the text does
        not say what the leaf means.
        """
        known = [self.digest, self.system.initial, [(x.path, x.kind, x.low, x.high) for x in self.system.leaves]]
        return hashlib.sha256(json.dumps(known).encode()).hexdigest()

    # --- functions --------------------------------------------------------------------------------------------------

    @property
    def words(self) -> int:
        """The number of words of a packed state."""
        return self.layout.words

    def tally(self) -> Integers:
        """An empty tally (see `isrcheck.checker.kernel.verdict_bits`)."""
        tally = np.zeros(ACTIONS + self.actions, dtype=np.int64)
        tally[LEAST] = HUGE
        return tally

    def expand(self, states: Words) -> tuple[Words, Integers, Integers, Integers]:
        """Returns the packed successors, the positions of their sources in `states`, their transitions' numbers, and
        the tally."""
        tally = self.tally()
        return *self._functions.expand(np.ascontiguousarray(states), tally), tally

    def failures(self, states: Words) -> tuple[Integers, Integers]:
        """For each failing instance, returns the position of its state in `states` and the number of its transition."""
        return self._functions.failures(np.ascontiguousarray(states))

    def hashes(self, states: Words) -> npt.NDArray[np.uint64]:
        """The partition hash of each state (see `isrcheck.checker.kernel.layout`)."""
        return self._functions.hashes(np.ascontiguousarray(states))

    def evaluate(self, states: Words) -> Words:
        """The verdict bits of each state, shape (states, words of a verdict)."""
        return self._functions.evaluate(np.ascontiguousarray(states))


class Compiled:
    """The functions of a kernel as compiled code. `isrcheck.checker.kernel.llvm_module` describes these functions."""

    def __init__(self, kernel: Kernel, code: Code) -> None:
        self._kernel, self._calls = kernel, code.calls

    def expand(self, states: Words, tally: Integers) -> tuple[Words, Integers, Integers]:
        room = len(states) * self._kernel.transitions + ROOM
        successors = np.empty((room, self._kernel.words), dtype=np.uint64)
        source, transition = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
        arrays = (successors.ctypes.data, source.ctypes.data, transition.ctypes.data, tally.ctypes.data)
        count = self._calls["expand"](states.ctypes.data, len(states), *arrays)
        return successors[:count], source[:count], transition[:count]

    def failures(self, states: Words) -> tuple[Integers, Integers]:
        room = len(states) * self._kernel.transitions + ROOM
        source, transition = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
        count = self._calls["failures"](states.ctypes.data, len(states), source.ctypes.data, transition.ctypes.data)
        return source[:count], transition[:count]

    def hashes(self, states: Words) -> npt.NDArray[np.uint64]:
        out = np.empty(len(states), dtype=np.uint64)
        self._calls["hashes"](states.ctypes.data, len(states), out.ctypes.data)
        return out

    def evaluate(self, states: Words) -> Words:
        out = np.empty((len(states), self._kernel.verdicts.words), dtype=np.uint64)
        self._calls["evaluate"](states.ctypes.data, len(states), out.ctypes.data)
        return out
