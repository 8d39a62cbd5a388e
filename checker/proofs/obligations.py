"""The obligations of a proof as terms of z3, whatever form the states have.

An *obligation* says that some conditions and the lemmas imply goals. A proof has these obligations: every lemma holds
at the start; every lemma holds after each step from a state in which all lemmas hold; each target follows from the
lemmas.

Two goals with names of their own stand beside the lemmas: the step is defined, and its values stay in their domains.
Only one assumption about a state has no proof: its values lie in their domains.
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
    """If the conditions and the lemmas hold, all goals hold.

    `action` is the action of this instance, or START or TARGET. `lemmas` are terms by the name of the lemma, as strong
    as `stage` asks: if a lemma is about all numbers, each of the `stages` uses it for more numbers.
    """

    label: str
    action: str
    conditions: tuple[Term, ...]
    lemmas: Callable[[int], Mapping[str, Sequence[Term]]]
    goals: Mapping[str, Term]
    stages: int = 1


@dataclass(frozen=True)
class Obligations:
    """A whole proof: the logic of its terms (`logic`), the names of lemmas and targets, and all obligations."""

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
