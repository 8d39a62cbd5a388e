"""The obligations of a proof about a model without bounds, for a given number of brokers.

The obligations have no quantifiers, so that a solver can usually decide them. A lemma is about all values of its
parameters, such as all offsets and epochs. But an obligation assumes the lemma only for some numbers. Each number has
the same kind (`shapes.End`) as the parameter that it replaces. An obligation is tried in stages, and each stage has
more numbers than the stage before:

* The first stage has the *special* numbers: the numbers of the goals, of the action's parameters and of definitions
  (`shapes.py`). It also has the numbers that are leaves (see `shapes.py`) of the states before and after the step.
* The second stage adds numbers that are stored in arrays (such as logs) of the state before the step. Each array is
  read only at the special numbers.
* The third stage adds the predecessors of the numbers that are leaves of the state before the step.

It is safe to assume a lemma only for some numbers, because a goal that follows from these instances of the lemma
also follows from the lemma itself. But a goal that is not proved might follow from more instances.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import z3

from isrcheck.checker.proofs.obligations import DOMAINS, MEANING, START, TARGET, Lazily, Obligation, Obligations, Term
from isrcheck.checker.proofs.unbounded.scalars import as_flag
from isrcheck.checker.proofs.unbounded.shapes import (
    Definitions,
    Part,
    Quantified,
    both,
    defining,
    inside,
    kind,
    negated,
)
from isrcheck.checker.proofs.unbounded.step_relation import (
    AnyBounds,
    Layout,
    Name,
    Relation,
    UnboundedState,
    arguments,
    fresh_numbers,
    initial,
    relations,
)
from isrcheck.model.language.proofs import Proof, Statement
from isrcheck.model.semantics.method_calls import heeded

STAGES: Final = 3
Goal = Callable[[], tuple[Term, Definitions]]
Pool = dict[str, dict[Term, None]]
"""The numbers of each kind, as the keys of a dictionary: each once, in the order in which they were added."""


@dataclass(frozen=True)
class _Situation:
    """What the goals of an obligation are about: the initial state, a step of an action, or any state.

    `after` is the state that the goals are about. `conditions` hold in the situation. `definitions` are those of the
    step or of the initial state. `own` has the numbers of the action's parameters.
    """

    label: str
    action: str
    after: Sequence[Term]
    conditions: Sequence[Term] = ()
    definitions: Definitions = field(default_factory=Definitions.none)
    own: Pool = field(default_factory=dict)


class Unbounded:
    """A model without bounds, the lemmas of a proof about this model, and the model's steps from a state `before`."""

    def __init__(self, free: AnyBounds, proof: type[Proof], lemmas: dict[str, Statement]) -> None:
        self.free, self.model, self.proof, self.lemmas = free, free.model, proof, lemmas
        self.layout = Layout.of(free.model)
        self.known = (*free.known, *self.layout.not_empty())
        self.before = self.layout.fresh(free.book)
        self.relations = relations(free, self.layout, self.before)
        self._instantiated: dict[tuple[int, ...], tuple[Term, ...]] = {}
        self._some: dict[str, list[Term]] = {}
        self._lemmas, self._witnesses = self._assumed()
        self._domains = [self._everywhere(p, t) for p, t in zip(self.layout.parts, self.before, strict=True)]

    def obligations(self, targets: dict[str, Statement]) -> Obligations:
        return Obligations(
            logic="ALL",
            lemmas=tuple(self.lemmas),
            targets=tuple(targets),
            all=(self._start(), *(self._step(r) for r in self.relations), self._aim(targets)),
        )

    # --- statements -------------------------------------------------------------------------------------------------

    def quantified(self, statement: Statement, state: Sequence[Term]) -> tuple[list[Quantified], Definitions]:
        """The conditions of a statement about a state, and the definitions that the conditions use.

        A parameter is *numeric* if its domain depends on a bound, and *finite* otherwise. There is one condition for
        each choice of the finite parameters. The statement is true if and only if each condition is true for all values
        of the numeric parameters.
        """
        return self._read(statement, state, fresh_numbers(self.free.book), bound=True)

    def goal(self, statement: Statement, state: Sequence[Term]) -> tuple[Term, Definitions]:
        """A statement about a state, with a free z3 constant for each numeric parameter. Also returns the definitions.

        If a solver proves the statement about these constants, the statement holds for all values of the parameters.
        """
        found, definitions = self._read(statement, state, self._some_number, bound=False)
        return both(*(q.condition for q in found)), definitions

    def _read(
        self, statement: Statement, state: Sequence[Term], name: Name, bound: bool
    ) -> tuple[list[Quantified], Definitions]:
        found, definitions = [], Definitions.none()
        for _, given, numbers, within in arguments(self.model, statement.parameters, name):
            s = UnboundedState(self.model, self.layout, state, False)
            with defining(self.free.book, numbers if bound else ()) as own:
                truth = as_flag(heeded(statement.method, self.proof(self.model), s, *given)).truth
            found.append(Quantified(tuple(numbers), z3.simplify(z3.Implies(both(*within), truth))))
            definitions.add(own)
        return found, definitions

    def _some_number(self, parameter: str, of: str, before: int) -> Term:
        """The z3 constant for an arbitrary number of kind `of`, in a goal that already uses `before` such constants.

        All goals share these constants. So the goal that needs the most constants decides how many are made.
        """
        known = self._some.setdefault(of, [])
        while len(known) <= before:
            known.append(self.free.book.fresh("some", z3.IntSort()))
        return known[before]

    def _assumed(self) -> tuple[dict[str, list[Quantified]], Definitions]:
        """The conditions of each lemma in the state before a step, and the definitions of all lemmas together."""
        found, all_ = {}, Definitions.none()
        for name, lemma in self.lemmas.items():
            conditions, definitions = self.quantified(lemma, self.before)
            found[name] = conditions
            all_.add(definitions)
        return found, all_

    # --- obligations ------------------------------------------------------------------------------------------------

    def _start(self) -> Obligation:
        state, definitions = initial(self.free, self.layout)
        goals = {name: (lambda name=name: self._goal(name, state)) for name in [*self.lemmas, DOMAINS]}
        return self._obligation(
            _Situation("initial state", START, state, definitions=definitions), goals, assumes=False
        )

    def _step(self, relation: Relation) -> Obligation:
        conditions = [*relation.inside, z3.simplify(z3.Or(relation.guard, relation.failure))]
        goals = {name: (lambda name=name: self._after(name, relation)) for name in [*self.lemmas, DOMAINS, MEANING]}
        own: Pool = {}
        for number, of in relation.parameters:
            own.setdefault(of, {})[number] = None
        label, action, definitions = relation.label, relation.action, relation.definitions
        return self._obligation(_Situation(label, action, relation.after, conditions, definitions, own), goals)

    def _aim(self, targets: dict[str, Statement]) -> Obligation:
        goals = {name: (lambda t=target: self.goal(t, self.before)) for name, target in targets.items()}
        return self._obligation(_Situation(TARGET, TARGET, self.before), goals)

    def _obligation(self, about: _Situation, goals: Mapping[str, Goal], assumes: bool = True) -> Obligation:
        """Makes an obligation. Each of its stages has a pool of numbers (see `_pool`).

        If `assumes` is true, each stage assumes for the numbers in its pool that the lemmas hold, and that the values
        of leaves lie in their domains.
        """
        read = Lazily(list(goals), lambda name: goals[name]())
        pools: dict[int, Pool] = {}

        def defined() -> Definitions:
            found = Definitions.none()
            for each in [
                about.definitions,
                *([self._witnesses] if assumes else []),
                *(read[name][1] for name in goals),
            ]:
                found.add(each)
            return found

        def lemmas(stage: int) -> dict[str, list[Term]]:
            known = defined()
            if stage not in pools:
                pools[stage] = self._pool(stage, about.after, about.own, known)
            always = self._instances([*(self._domains if assumes else []), *known.conditions], pools[stage])
            if not assumes:
                return {"": always}
            return {**{name: self._instances(of, pools[stage]) for name, of in self._lemmas.items()}, "": always}

        terms = Lazily(list(goals), lambda name: read[name][0])
        conditions = (*self.known, *about.conditions)
        return Obligation(about.label, about.action, conditions, lemmas, terms, STAGES if assumes else 1)

    def _after(self, name: str, relation: Relation) -> tuple[Term, Definitions]:
        if name == MEANING:
            return z3.simplify(negated(relation.failure)), Definitions.none()
        goal, definitions = self._goal(name, relation.after)
        return z3.simplify(z3.Or(relation.failure, goal)), definitions

    def _goal(self, name: str, state: Sequence[Term]) -> tuple[Term, Definitions]:
        if name == DOMAINS:
            parts = zip(self.layout.parts, state, strict=True)
            return both(*(self._somewhere(part, term) for part, term in parts)), Definitions.none()
        return self.goal(self.lemmas[name], state)

    # --- instances --------------------------------------------------------------------------------------------------

    def _pool(self, stage: int, after: Sequence[Term], own: Pool, definitions: Definitions) -> Pool:
        """The numbers of each kind for which the lemmas are assumed. A later stage has more numbers."""
        pool: Pool = {of: dict.fromkeys(numbers) for of, numbers in self._some.items()}
        for of, numbers in own.items():
            pool.setdefault(of, {}).update(numbers)
        for number, of in definitions.numbers:
            pool.setdefault(of, {})[number] = None
        special = {of: list(numbers) for of, numbers in pool.items()}
        for part, old, new in zip(self.layout.parts, self.before, after, strict=True):
            own_kind = kind(part.domain)
            if own_kind is None:
                continue
            if part.index_kind is None:
                changed = [] if new.eq(old) else [z3.simplify(new)]
                pool.setdefault(own_kind, {}).update(dict.fromkeys([old, *changed]))
                if stage >= 2:
                    pool[own_kind][z3.simplify(old - 1)] = None
            elif stage >= 1:
                read = [z3.Select(old, at) for at in special.get(part.index_kind, ())]
                pool.setdefault(own_kind, {}).update(dict.fromkeys(read))
        return pool

    def _instances(self, quantified: Iterable[Quantified], pool: Pool) -> list[Term]:
        found: dict[Term, None] = {}
        for q in quantified:
            for terms in itertools.product(*(pool.get(of, ()) for _, of in q.numbers)):
                found[self._instance(q, terms)] = None
        return [term for term in found if not z3.is_true(term)]

    def _instance(self, q: Quantified, terms: tuple[Term, ...]) -> Term:
        key = (q.condition.get_id(), *(t.get_id() for t in terms))
        if key not in self._instantiated:
            pairs = [(number, term) for (number, _), term in zip(q.numbers, terms, strict=True)]
            made = z3.substitute(q.condition, *pairs) if pairs else q.condition
            # The terms are kept together with the result, because z3 may reuse the id of a deleted term.
            self._instantiated[key] = made, q.condition, *terms
        return self._instantiated[key][0]

    def _everywhere(self, part: Part, term: Term) -> Quantified:
        """The condition that a leaf has a value of its domain, at every index if the leaf is an array."""
        if part.index_kind is None:
            return Quantified((), both(*inside(part.domain, term)))
        index = self.free.book.fresh("index", z3.IntSort())
        return Quantified(((index, part.index_kind),), both(*inside(part.domain, z3.Select(term, index))))

    def _somewhere(self, part: Part, term: Term) -> Term:
        """The condition that a leaf has a value of its domain, at one unknown index if the leaf is an array."""
        if part.index_kind is None:
            return both(*inside(part.domain, term))
        return both(*inside(part.domain, z3.Select(term, self._some_number("index", part.index_kind, 0))))
