"""The obligations of a proof as z3 terms, for any form of the states.

An *obligation* says that some conditions and the lemmas imply goals. A proof has three kinds of obligations. Every
lemma holds at the start. Every lemma holds after each step from a state in which all lemmas hold. Each target follows
from the lemmas.

Each step has two further goals besides the lemmas: the step is defined, and its values stay in their domains. Only one
assumption about a state has no proof: its values lie in their domains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import z3

Term = Any
MEANING: Final = "every step has a meaning"
PREDICATES: Final = "every predicate has a meaning"
DOMAINS: Final = "values stay in their domains"
START: Final = "initial"
TARGET: Final = "targets"


@dataclass(frozen=True)
class Obligation:
    """The claim that all goals hold if the conditions and the lemmas hold.

    `action` is the action of this instance, or START or TARGET. `lemmas` gives the terms of each lemma at a stage, by
    the name of the lemma. A lemma about all numbers is used only for some of them, and for more numbers at each of the
    `stages`.
    """

    label: str
    action: str
    conditions: tuple[Term, ...]
    lemmas: Callable[[int], Mapping[str, Sequence[Term]]]
    goals: Mapping[str, Term]
    stages: int = 1


@dataclass(frozen=True)
class Obligations:
    """A whole proof: the logic of its terms, the names of lemmas and targets, and all obligations."""

    logic: str
    lemmas: tuple[str, ...]
    targets: tuple[str, ...]
    all: tuple[Obligation, ...]

    def solver(self) -> z3.Solver:
        """A solver for this form, without assertions."""
        return z3.SolverFor(self.logic) if self.logic == "QF_BV" else z3.Solver()


class Lazily(Mapping[str, Term]):
    """Terms by name. Each is made when it is first used."""

    def __init__(self, names: Sequence[str], make: Callable[[str], Term]) -> None:
        self._names, self._make = dict.fromkeys(names), make
        self._made: dict[str, Term] = {}

    def __getitem__(self, name: str) -> Term:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
