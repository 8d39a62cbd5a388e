"""What has to be shown of a proof, as terms of z3, in whatever form states are written.

An *obligation* says that some conditions imply a goal. Those of a proof: every lemma holds at the start; every lemma
holds after each step from a state where all hold (*consecution*); each target follows from the lemmas.

Two goals stand beside the lemmas, under names of their own: that the step has a meaning, and that its values stay in
their domains. What is assumed of a state without proof is only that its values lie in their domains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import z3

Term = Any
MEANING: Final = "every step has a meaning"
DOMAINS: Final = "values stay in their domains"


@dataclass(frozen=True)
class Step:
    """One instance of an action: where `conditions` hold it leads to a state where the goals are to hold.

    `goals` has a goal for each lemma, and for MEANING and DOMAINS.
    """

    label: str
    action: str
    conditions: tuple[Term, ...]
    goals: Mapping[str, Term]


@dataclass(frozen=True)
class Obligations:
    """A whole proof: lemmas and targets by name, in order.

    `lemmas` are the lemmas as conditions on a state, to be assumed; `starts` has for each initial state its conditions
    and a goal for each lemma; `targets` are goals. `domains` holds of every state.
    """

    logic: str
    domains: tuple[Term, ...]
    lemmas: Mapping[str, Term]
    starts: tuple[Step, ...]
    steps: tuple[Step, ...]
    targets: Mapping[str, Term]

    def solver(self) -> z3.Solver:
        """A solver for this form, with nothing asserted."""
        return z3.SolverFor(self.logic) if self.logic == "QF_BV" else z3.Solver()


class Form(Protocol):
    """How states are written: it makes obligations, and shows what a solver found."""

    obligations: Obligations

    def shown(self, model: z3.ModelRef, step: Step) -> Any: ...
