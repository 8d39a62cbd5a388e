"""A transition system as functions over arrays of packed states."""

from __future__ import annotations

import hashlib
import json
from typing import Final

import numpy as np
import numpy.typing as npt

from isrcheck.checker.kernel.layout import Layout, Words
from isrcheck.checker.kernel.llvm import ACTIONS, LEAST, kernel_text
from isrcheck.checker.kernel.native import Code
from isrcheck.checker.kernel.objects import objects
from isrcheck.checker.kernel.verdicts import Verdicts, verdicts
from isrcheck.model.language.system import TransitionSystem

Integers = npt.NDArray[np.int64]
ROOM: Final = 8
"""How many entries past the last one `expand` and `failures` may write."""


class Kernel:
    """A transition system as native code, with the layout of its states.

    `text` is the LLVM text and `digest` its SHA-256 in hexadecimal, both the same on every machine.
    """

    def __init__(self, system: TransitionSystem) -> None:
        self.system, self.layout = system, Layout(system.leaves)
        self.verdicts: Verdicts = verdicts(system)
        self.transitions = len(system.transitions)
        self.actions = len(system.actions)
        self.text = kernel_text(system, self.layout, self.verdicts.bits)
        self.digest = hashlib.sha256(self.text.encode()).hexdigest()
        self.code = Code(self.text, objects=objects())
        self.addresses = self.code.addresses
        assert self.addresses["expand"]  # compiled here, where its time is counted
        self._calls = self.code.calls

    @property
    def identity(self) -> str:
        """What kept states are bound to: the text, where the search begins, and what the bits of a state mean.

        The text alone does not say where the search begins, nor what a leaf is that nothing reads.
        """
        known = [self.digest, self.system.initial, [(x.path, x.kind, x.low, x.high) for x in self.system.leaves]]
        return hashlib.sha256(json.dumps(known).encode()).hexdigest()

    @property
    def words(self) -> int:
        """Words of a packed state."""
        return self.layout.words

    def tally(self) -> Integers:
        """An empty tally for `expand`."""
        tally = np.zeros(ACTIONS + self.actions, dtype=np.int64)
        tally[LEAST] = np.iinfo(np.int64).max
        return tally

    def expand(self, states: Words) -> tuple[Words, Integers, Integers, Integers]:
        """All successors of some states: packed, source positions, transitions, and the tally."""
        states = np.ascontiguousarray(states)
        room = len(states) * self.transitions + ROOM
        successors = np.empty((room, self.words), dtype=np.uint64)
        source, transition = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
        tally = self.tally()
        arrays = (successors.ctypes.data, source.ctypes.data, transition.ctypes.data, tally.ctypes.data)
        count = self._calls["expand"](states.ctypes.data, len(states), *arrays)
        return successors[:count], source[:count], transition[:count], tally

    def failures(self, states: Words) -> tuple[Integers, Integers]:
        """Positions in `states` and transitions of the failing instances."""
        states = np.ascontiguousarray(states)
        room = len(states) * self.transitions + ROOM
        source, transition = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
        count = self._calls["failures"](states.ctypes.data, len(states), source.ctypes.data, transition.ctypes.data)
        return source[:count], transition[:count]

    def hashes(self, states: Words) -> npt.NDArray[np.uint64]:
        """The owner hash of each state."""
        states = np.ascontiguousarray(states)
        out = np.empty(len(states), dtype=np.uint64)
        self._calls["hashes"](states.ctypes.data, len(states), out.ctypes.data)
        return out

    def judge(self, states: Words) -> Words:
        """The verdict bits of each state, shape (states, words of a verdict)."""
        states = np.ascontiguousarray(states)
        out = np.empty((len(states), self.verdicts.words), dtype=np.uint64)
        self._calls["judge"](states.ctypes.data, len(states), out.ctypes.data)
        return out

    def survey(self, address: int, count: int, totals: Words) -> None:
        """The verdict bits of `count` states that lie at an address, or-ed into `totals`."""
        self._calls["survey"](address, count, totals.ctypes.data)
