"""From LLVM text to functions: parse, verify, optimise for this machine, and keep the code alive."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt

from checker.kernel.layout import Layout, Words
from checker.kernel.llvm import ACTIONS, LEAST, kernel_text
from checker.kernel.verdicts import Verdicts, verdicts
from model.language.system import TransitionSystem

Integers = npt.NDArray[np.int64]
FUNCTIONS: Final = ("expand", "failures", "hashes", "judge", "survey")
ROOM: Final = 8
"""How many entries past the last one `expand` and `failures` may write."""


class Code:
    """Compiled text; `addresses` are valid as long as this object lives."""

    def __init__(self, text: str) -> None:
        machine = _machine()
        module = llvm.parse_assembly(text)
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        module.verify()
        _optimise(module, machine)
        self._engine = llvm.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()
        self.addresses: Mapping[str, int] = {f: self._engine.get_function_address(f) for f in FUNCTIONS}


@cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def _machine() -> llvm.TargetMachine:
    """This machine with all that its processor can do; one for each engine, which takes it over."""
    _initialize()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=2, jit=True)


def _optimise(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    """Variables into registers, no more: the text shares its expressions and is vectors already.

    Measured on kip-320 at 3/3/3/2: the whole O2 pipeline takes 0.45 s and makes `expand` 3 % faster.
    """
    passes = llvm.create_new_function_pass_manager()
    passes.add_sroa_pass()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)


@dataclass(frozen=True)
class Signature:
    """Which integers and arrays a function takes; arrays are passed by address."""

    arguments: int
    returns: bool


_SIGNATURES: Final = {
    "expand": Signature(6, True),
    "failures": Signature(4, True),
    "hashes": Signature(3, False),
    "judge": Signature(3, False),
    "survey": Signature(3, False),
}


class Kernel:
    """A transition system as native code, with the layout of its states.

    `text` is the LLVM text and `digest` its SHA-256 in hexadecimal, both the same on every machine.
    """

    def __init__(self, system: TransitionSystem) -> None:
        self.layout = Layout(system.leaves)
        self.verdicts: Verdicts = verdicts(system)
        self.transitions = len(system.transitions)
        self.actions = len(system.actions)
        self.text = kernel_text(system, self.layout, self.verdicts.bits)
        self.digest = hashlib.sha256(self.text.encode()).hexdigest()
        self._code = Code(self.text)
        self.addresses = self._code.addresses
        self._calls: dict[str, Any] = {}
        for name, signature in _SIGNATURES.items():
            result = ctypes.c_int64 if signature.returns else None
            self._calls[name] = ctypes.CFUNCTYPE(result, *[ctypes.c_int64] * signature.arguments)(self.addresses[name])

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
