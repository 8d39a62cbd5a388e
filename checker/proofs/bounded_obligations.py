"""Makes the obligations of a proof about a model at its settings, as terms over bit-vectors.

If `Bounded.of` gets `INTEGERS`, numbers are integers instead. `bounded_equivalence.py` uses this form to compare a
model that has bounds with the model without bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import z3

from isrcheck.checker.engines.symbolic.unrolling import facts
from isrcheck.checker.engines.symbolic.z3_terms import BITS, Numbers, State, Terms
from isrcheck.checker.proofs.obligations import DOMAINS, MEANING, START, TARGET, Obligation, Obligations, Term
from isrcheck.model.semantics.transition_system import Predicate, Transition, TransitionSystem


@dataclass(frozen=True)
class Bounded:
    """A transition system as z3 terms. `before` and `after` are the states before and after a step."""

    system: TransitionSystem
    terms: Terms
    before: State
    after: State

    @staticmethod
    def of(system: TransitionSystem, numbers: Numbers = BITS) -> Bounded:
        terms = Terms(numbers)
        return Bounded(system, terms, terms.state(system.leaves, "before"), terms.state(system.leaves, "after"))

    def domain(self, state: State) -> list[Term]:
        """The conditions that a state's values lie in their domains.

        Every leaf (a stored integer of the state) lies in its interval. Slots after the end of a sequence have the
        first value of their domain. No bag exceeds its capacity.
        """
        return [*self.terms.inside(self.system.leaves, state), *self.terms.folding(state)(facts(self.system))]

    def holds(self, predicates: tuple[Predicate, ...], state: State) -> dict[str, Term]:
        """For each predicate, the condition that the predicate is defined and true in a state."""
        folded = self.terms.folding(state)
        return {
            p.name: z3.And(*folded([p.holds]), *(z3.Not(x) for x in folded([p.failure]) if not z3.is_false(x)))
            for p in predicates
        }

    def enabled(self, transition: Transition) -> Term:
        """The condition that a transition is possible and defined in the state `before`."""
        guard, failure = self.terms.fold([transition.guard, transition.failure], self.before)
        return z3.And(guard, z3.Not(failure))

    def effect(self, transition: Transition) -> list[Term]:
        """The conditions that a transition leads from the state `before` to the state `after`."""
        nodes = list(transition.updates.values())
        new = dict(zip(transition.updates, zip(nodes, self.terms.fold(nodes, self.before), strict=True), strict=True))
        return [
            after == (self.terms.stored(*new[i], self.system.leaves[i]) if i in new else before)
            for i, (before, after) in enumerate(zip(self.before, self.after, strict=True))
            if self.system.leaves[i].low < self.system.leaves[i].high
        ]

    def obligations(self, lemmas: tuple[Predicate, ...], targets: tuple[Predicate, ...]) -> Obligations:
        goals = {**self.holds(lemmas, self.after), DOMAINS: z3.And(self.domain(self.after))}
        assumed = {name: [term] for name, term in self.holds(lemmas, self.before).items()}
        domains = tuple(self.domain(self.before))
        constraints = (*domains, *self.holds(self.system.constraints, self.before).values())
        return Obligations(
            logic="QF_BV" if self.terms.numbers is BITS else "ALL",
            lemmas=tuple(p.name for p in lemmas),
            targets=tuple(p.name for p in targets),
            all=(
                *(self._start(number, state, goals) for number, state in enumerate(self.system.initial, 1)),
                *(self._step(t, goals, constraints, lambda stage: assumed) for t in self.system.transitions),
                Obligation(TARGET, TARGET, domains, lambda stage: assumed, self._aims(targets)),
            ),
        )

    def _aims(self, targets: tuple[Predicate, ...]) -> dict[str, Term]:
        """The targets as goals and, if a constraint can be undefined, the goal that every constraint is defined."""
        failures = self.terms.fold([p.failure for p in self.system.constraints], self.before)
        doubtful = [z3.Not(f) for f in failures if not z3.is_false(f)]
        return self.holds(targets, self.before) | ({MEANING: z3.And(doubtful)} if doubtful else {})

    def _start(self, number: int, state: tuple[int, ...], goals: Mapping[str, Term]) -> Obligation:
        conditions = self.terms.equal(self.system.leaves, self.after, state)
        return Obligation(f"initial state {number}", START, tuple(conditions), lambda stage: {}, goals)

    def _step(
        self,
        transition: Transition,
        goals: Mapping[str, Term],
        constraints: tuple[Term, ...],
        lemmas: Callable[[int], Mapping[str, Sequence[Term]]],
    ) -> Obligation:
        guard, failure = self.terms.fold([transition.guard, transition.failure], self.before)
        if not z3.is_false(failure):
            goals = {name: z3.Or(failure, goal) for name, goal in goals.items()} | {MEANING: z3.Not(failure)}
        conditions = (*constraints, z3.Or(guard, failure), *self.effect(transition))
        return Obligation(str(transition.label), transition.label.action, conditions, lemmas, goals)

    def state(self, model: z3.ModelRef, state: State) -> tuple[Any, ...]:
        """The values of the variables in `state`, according to a solution that z3 found (`model`)."""
        return self.system.decode(self.terms.values(model, self.system.leaves, state))
