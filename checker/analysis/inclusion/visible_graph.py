"""The states of a model, their steps, and the visible part of each state. Steps are computed when first needed.

The *visible part* of a state is the values of the compared variables. States and visible parts are represented by
numbers. Two graphs that are compared use the same numbers for visible parts. A step is *silent* if the visible part
does not change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

import numpy as np
import numpy.typing as npt

from isrcheck.checker.datasets.variables import shared_variables
from isrcheck.checker.kernel.compiled import Kernel
from isrcheck.checker.kernel.layout import Integers, Layout, Words
from isrcheck.checker.kernel.verdict_bits import FAILED, FAILURES, OUTSIDE
from isrcheck.model.language.errors import UnknownName, nearest
from isrcheck.model.semantics.concrete_state import holds
from isrcheck.model.semantics.interpreter import Interpreter
from isrcheck.model.semantics.transition_system import TransitionSystem

Flags = npt.NDArray[np.bool_]
BLOCK: Final = 1 << 12
"""The largest number of states that are expanded together."""
NAMES: Final = re.compile(r"\w+(\.\w+)*")
"""The name of a variable, or of a field of a variable."""
MANY: Final = 1 << 15
"""With more states than this, compiled code saves more time than the compilation takes."""


class View:
    """Gives numbers to the visible parts of states. Equal parts of the two systems have equal numbers.

    `names` are variables, or parts of them (`replica.isr`). Without names, all shared variables are visible. Raises
    `UnknownName` for a name that the systems do not share, and also if the systems share no variable.
    """

    def __init__(self, one: TransitionSystem, other: TransitionSystem, names: Iterable[str] = ()) -> None:
        shared = shared_variables(one, other)
        self.names = tuple(dict.fromkeys(names)) or shared.variables
        if not self.names:
            raise UnknownName(f"{one.model} and {other.model} have no variable in common")
        parts = [_without_indices(leaf.path) for leaf in shared.leaves]
        for name in self.names:
            if not any(_is_of(part, name) for part in parts):
                raise UnknownName(_why_not(name, shared.apart, one, other) + f"; {nearest(name, shared.variables)}")
        self.hidden = tuple(x for x in (*shared.variables, *shared.apart) if x not in self.names)
        self.apart = tuple(x for x in shared.apart if all(x in {v.name for v in it.variables} for it in (one, other)))
        chosen = [i for i, part in enumerate(parts) if any(_is_of(part, name) for name in self.names)]
        self._layout = Layout([shared.leaves[i] for i in chosen])
        self._fill = np.array([shared.fill[i] for i in chosen], dtype=np.int64)
        self._from = [np.array([numbers[i] for i in chosen], dtype=np.int64) for numbers in shared.numbers]
        self._numbers: dict[bytes, int] = {}

    def of(self, side: int, leaves: Integers) -> list[int]:
        """The number of each state's visible part. `leaves` has one row per state, all of one side (0 or 1)."""
        columns = self._from[side]
        values = np.where(columns < 0, self._fill, leaves[:, columns])
        numbers = self._numbers
        return [numbers.setdefault(row, len(numbers)) for row in _rows(self._layout.pack(values))]


def _why_not(name: str, apart: tuple[str, ...], one: TransitionSystem, other: TransitionSystem) -> str:
    """The reason why a part with this name cannot be compared."""
    variable = name.partition(".")[0]
    both = [{v.name for v in system.variables} for system in (one, other)]
    if variable in apart and all(variable in names for names in both):
        return f"{variable} has different types in the two models and cannot be compared"
    return f"{name!r} does not exist in both models"


def _without_indices(path: str) -> str:
    """Removes the indices from a path, and also the part in braces that names a message in a set (`sent{...}`).

    Raises `UnknownName` if the rest is not a name, for example because an index has unmatched brackets.

    >>> _without_indices("replica[0].isr"), _without_indices("sent[0]{(leader 1)}")
    ('replica.isr', 'sent')
    >>> _without_indices("kept[list[int]].end")
    'kept.end'
    """
    depth, kept = 0, ""
    for character in path:
        depth += (character == "[") - (character == "]")
        kept += character if depth == 0 and character != "]" else ""
    part = kept.partition("{")[0]
    if depth or not NAMES.fullmatch(part):
        raise UnknownName(f"{path} cannot be compared: its index has brackets in its name; rename it")
    return part


def _is_of(part: str, name: str) -> bool:
    return part == name or part.startswith(f"{name}.")


class Graph:
    """The states of one side, with their steps.

    `steps[n]` has a pair (target, transition) for each target of a step from state n. The transition is the first one
    that leads to this target. `silent[n]` has the targets of silent steps, except n itself. `changes[n]` has a pair
    (visible part, target) for each target of a step that is not silent. Before state n is expanded, `steps[n]` is None.
    States outside the constraints are left out.
    """

    def __init__(self, system: TransitionSystem, interpreter: Interpreter, view: View, side: int) -> None:
        self.system, self.interpreter, self.kernel = system, interpreter, Kernel(system)
        self._view, self._side = view, side
        self._numbers: dict[bytes, int] = {}
        self.rows: list[bytes] = []
        self.visible: list[int] = []
        self.steps: list[tuple[tuple[int, int], ...] | None] = []
        self.silent: list[tuple[int, ...]] = []
        self.changes: list[tuple[tuple[int, int], ...]] = []
        first = self.kernel.layout.pack(system.initial)
        self.initial = tuple(self._numbered(first[self._inside(first)]))

    @property
    def known(self) -> int:
        """The number of states that were found so far."""
        return len(self.rows)

    def leaves(self, states: Iterable[int]) -> list[tuple[int, ...]]:
        """The leaves of each state, which are the integers that encode the state."""
        return [tuple(row) for row in self.kernel.layout.unpack(self._packed(states)).tolist()]

    def expand(self, states: Iterable[int]) -> None:
        """Finds the steps of the states that are not expanded yet. Raises `EvaluationError` if a step is undefined."""
        missing = [n for n in dict.fromkeys(states) if self.steps[n] is None]
        for start in range(0, len(missing), BLOCK):
            self._expand(missing[start : start + BLOCK])

    def expand_silently(self, states: Iterable[int]) -> None:
        """Expands these states, and all states that silent steps reach from them."""
        frontier = list(dict.fromkeys(states))
        seen = set(frontier)
        while frontier:
            self.expand(frontier)
            frontier = [n for n in dict.fromkeys(c for f in frontier for c in self.silent[f]) if n not in seen]
            seen.update(frontier)

    def _expand(self, block: list[int]) -> None:
        if self.known > MANY:
            self.kernel.code  # noqa: B018 - from here on it runs compiled
        packed = self._packed(block)
        successors, source, transition, tally = self.kernel.expand(packed)
        if tally[FAILURES]:
            self._raise_for_instance(packed)
        inside = self._inside(successors)
        successors, source, transition = successors[inside], source[inside], transition[inside]
        order = np.lexsort((transition, source))
        found: list[dict[int, int]] = [{} for _ in block]
        targets = self._numbered(np.ascontiguousarray(successors[order]))
        for s, t, target in zip(source[order].tolist(), transition[order].tolist(), targets, strict=True):
            found[s].setdefault(target, t)
        visible = self.visible
        for n, steps in zip(block, found, strict=True):
            own = visible[n]
            self.steps[n] = tuple(steps.items())
            self.silent[n] = tuple(c for c in steps if visible[c] == own and c != n)
            self.changes[n] = tuple((visible[c], c) for c in steps if visible[c] != own)

    def _packed(self, states: Iterable[int]) -> Words:
        rows = b"".join(self.rows[n] for n in states)
        return np.frombuffer(rows, dtype=np.uint64).reshape(-1, self.kernel.words)

    def _numbered(self, packed: Words) -> list[int]:
        """The number of each state. A new state gets a number, and its visible part is computed."""
        numbers, found, new = self._numbers, [], []
        for i, row in enumerate(_rows(packed)):
            number = numbers.get(row)
            if number is None:
                number = numbers[row] = len(self.rows)
                self.rows.append(row)
                new.append(i)
            found.append(number)
        self.visible += self._view.of(self._side, self.kernel.layout.unpack(packed[new]))
        self.steps += [None] * len(new)
        self.silent += [()] * len(new)
        self.changes += [()] * len(new)
        return found

    def _inside(self, packed: Words) -> Flags:
        """For each state, whether the constraints allow it."""
        if not self.system.constraints or not len(packed):
            return np.ones(len(packed), dtype=np.bool_)
        verdicts = self.kernel.evaluate(packed)[:, 0]
        failing = verdicts >> np.uint64(FAILED) & np.uint64(1) == 1
        if failing.any():
            self._raise_for(packed[failing][:1], self._evaluate_constraints)
        inside: Flags = verdicts >> np.uint64(OUTSIDE) & np.uint64(1) == 0
        return inside

    # --- undefined steps and predicates -------------------------------------------------------------------------------

    def _raise_for_instance(self, packed: Words) -> None:
        source, _ = self.kernel.failures(packed)
        self._raise_for(packed[source.min() : source.min() + 1], self._take_steps)

    def _raise_for(self, packed: Words, what: Callable[[tuple[object, ...]], None]) -> None:
        """Calls `what` with the only state in `packed`. The call must raise the error of the reference semantics."""
        (leaves,) = self.kernel.layout.unpack(packed).tolist()
        what(self.system.decode(leaves))
        raise AssertionError("the kernel finds an error that the reference semantics does not")

    def _take_steps(self, state: tuple[object, ...]) -> None:
        for number in range(len(self.interpreter.labels)):
            self.interpreter.step(state, number)

    def _evaluate_constraints(self, state: tuple[object, ...]) -> None:
        for predicate in self.interpreter.constraints.values():
            holds(self.interpreter.model, state, predicate)


def _rows(packed: Words) -> list[bytes]:
    data, width = np.ascontiguousarray(packed).tobytes(), packed.shape[1] * packed.itemsize
    return [data[i : i + width] for i in range(0, len(data), width)]
