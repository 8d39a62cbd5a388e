"""The obligations of a proof as z3 terms, for models with bounds and without bounds.

An *obligation* says that some conditions and the lemmas imply goals. A proof has three kinds of obligations: every
lemma holds at the start, every lemma holds after each step from a state in which all lemmas hold, and each target
follows from the lemmas.

There are two further goals: each step is defined, and all values lie in their domains at the start and after each step.
So the obligations about steps and targets may assume that all values lie in their domains. For a model with bounds, the
obligations about steps also assume the constraints of the model. If a constraint can be undefined, a third goal says
that every constraint is defined.
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
    """A claim: if the conditions and the lemmas hold, all goals hold.

    `action` is the action whose instance makes the step, or START or TARGET if there is no step. A solver tries to
    prove the claim in up to `stages` stages. `lemmas(stage)` maps the name of each lemma to the terms to assume in a
    stage. The terms under the name "" belong to no lemma and are always assumed. A model with bounds has only one
    stage. Without bounds, a stage assumes a lemma about all numbers only for some numbers. If the stage does not prove
    the claim, the next stage assumes the lemma for more numbers.
    """

    label: str
    action: str
    conditions: tuple[Term, ...]
    lemmas: Callable[[int], Mapping[str, Sequence[Term]]]
    goals: Mapping[str, Term]
    stages: int = 1


@dataclass(frozen=True)
class Obligations:
    """All obligations of a proof, with the logic of their terms and the names of lemmas and targets."""

    logic: str
    lemmas: tuple[str, ...]
    targets: tuple[str, ...]
    all: tuple[Obligation, ...]

    def solver(self) -> z3.Solver:
        """A new solver for the logic of the terms."""
        return z3.SolverFor(self.logic) if self.logic == "QF_BV" else z3.Solver()


class Lazily(Mapping[str, Term]):
    """A mapping from names to terms. Each term is made when it is first used."""

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
