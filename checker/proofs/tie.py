"""That the unbounded form says of bounded states what the traced model says: asked of z3 for each action.

A state within bounds is a state without them. Of every such state, reachable or not, and every instance of every action
the following must hold: the traced step happens, and means something, exactly if the unbounded one does and leads to a
state within the bounds; and both lead to the same state. Likewise the initial state, every lemma and every target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import z3

from isrcheck.checker.engines.symbolic.solving import Watch
from isrcheck.checker.engines.symbolic.terms import INTEGERS, interval
from isrcheck.checker.proofs.bounded import Bounded
from isrcheck.checker.proofs.obligations import Term
from isrcheck.checker.proofs.proving import ask
from isrcheck.checker.proofs.unbounded.form import Unbounded
from isrcheck.checker.proofs.unbounded.relation import Relation, initial
from isrcheck.checker.proofs.unbounded.shapes import both, kind, shape
from isrcheck.model.language.domains import Broker, BrokerSet, Domain, Enum, Number, Per, Record, Sequence_
from isrcheck.model.language.model import Model
from isrcheck.model.language.system import Predicate, Transition, TransitionSystem, Variable


class Tie:
    """A traced model with its bounds, and the same without: the state `before` of one as a state of the other."""

    def __init__(self, system: TransitionSystem, model: Model, unbounded: Unbounded) -> None:
        self.model, self.unbounded, self.system = model, unbounded, system
        self.bounded = Bounded.of(system, INTEGERS)
        self.before = self._lifted(self.bounded.before)
        self.pairs = list(zip(unbounded.before, self.before, strict=True))

    def differences(self, watch: Watch) -> list[str]:
        """What the two forms do not agree on, in words; empty where z3 shows that they agree."""
        found = [f"the {name} differ" for name, ok in (("initial states", self._same_start(watch)),) if not ok]
        known = {relation.label: relation for relation in self.unbounded.relations}
        for transition in self.system.transitions:
            relation, numbers = self._relation(transition, known)
            if relation is None or not self._agree(transition, relation, numbers, watch):
                found.append(f"{transition.label} differs")
        traced = {t.label.action for t in self.system.transitions} | self.system.absent
        found += [f"{name} is traced nowhere" for name in {r.action for r in known.values()} - traced]
        return found + [f"{name} says something else" for name in self._statements(watch)]

    # --- states -----------------------------------------------------------------------------------------------------

    def _lifted(self, state: Sequence[Term]) -> list[Term]:
        """A state of the traced model as one without bounds."""
        return [t for v in self.system.variables for t in self._lift(v.domain, self._endless(v), v.start, state)]

    def _endless(self, variable: Variable) -> Domain:
        """The domain that a variable has without bounds."""
        return self.unbounded.layout.variables[variable.name][0]

    def _lift(self, domain: Domain, other: Domain, start: int, state: Sequence[Term]) -> Iterator[Term]:
        match domain, other:
            case Record(), Record():
                for part, twin in zip(domain.domains, other.domains, strict=True):
                    yield from self._lift(part, twin, start, state)
                    start += part.width
            case Sequence_(), Sequence_():
                yield state[start]
                yield from self._array(domain.element, other.element, range(domain.capacity), start + 1, state)
            case Per(), Per() if kind(other.index) is not None:
                yield from self._array(domain.element, other.element, list(domain.index.values()), start, state)
            case Per(), Per():
                for i in range(domain.count):
                    yield from self._lift(domain.element, other.element, start + i * domain.element.width, state)
            case BrokerSet(), _:
                yield from (z3.simplify(z3.Extract(b, b, state[start]) == 1) for b in range(domain.element.count))
            case Broker(), _:
                yield z3.simplify(z3.BV2Int(state[start]) - 1)
            case Enum(), _:
                yield z3.simplify(z3.BV2Int(state[start]))
            case _:
                yield state[start]

    def _array(
        self, element: Domain, other: Domain, keys: Sequence[int], start: int, state: Sequence[Term]
    ) -> Iterator[Term]:
        columns = [list(self._lift(element, other, start + i * element.width, state)) for i in range(len(keys))]
        for column in zip(*columns, strict=True):
            array = z3.K(z3.IntSort(), z3.BoolVal(False) if z3.is_bool(column[0]) else z3.IntVal(0))
            for key, term in zip(keys, column, strict=True):
                array = z3.Store(array, key, term)
            yield array

    def _within(self, state: Sequence[Term]) -> Iterator[Term]:
        """That the numbers of a state without bounds are within them."""
        for v in self.system.variables:
            yield from self._fits(v.domain, self._endless(v), self._of(v, state))

    def _of(self, variable: Variable, state: Sequence[Term]) -> Iterator[Term]:
        """The terms of a variable in a state without bounds, and what comes after."""
        return iter(state[self.unbounded.layout.variables[variable.name][1] :])

    def _fits(self, domain: Domain, other: Domain, terms: Iterator[Term]) -> Iterator[Term]:
        match domain, other:
            case Record(), Record():
                for part, twin in zip(domain.domains, other.domains, strict=True):
                    yield from self._fits(part, twin, terms)
            case Sequence_(), Sequence_():
                yield next(terms) <= domain.capacity
                yield from self._each(domain.element, other.element, terms, range(domain.capacity))
            case Per(), Per() if kind(other.index) is not None:
                yield from self._each(domain.element, other.element, terms, list(domain.index.values()))
            case Per(), Per():
                for _ in range(domain.count):
                    yield from self._fits(domain.element, other.element, terms)
            case Number(), _:
                term = next(terms)
                yield from (domain.low <= term, term <= domain.high)
            case _:
                for _ in shape(other):
                    next(terms)

    def _each(self, element: Domain, other: Domain, terms: Iterator[Term], keys: Sequence[int]) -> Iterator[Term]:
        columns = [next(terms) for _ in shape(other)]
        for key in keys:
            yield from self._fits(element, other, iter([z3.Select(column, key) for column in columns]))

    def _same(self, xs: Sequence[Term], ys: Sequence[Term]) -> Iterator[Term]:
        """That two states without bounds are the same, where bounded ones have something."""
        for v in self.system.variables:
            yield from self._alike(v.domain, self._endless(v), self._of(v, xs), self._of(v, ys))

    def _alike(self, domain: Domain, other: Domain, xs: Iterator[Term], ys: Iterator[Term]) -> Iterator[Term]:
        match domain, other:
            case Record(), Record():
                for part, twin in zip(domain.domains, other.domains, strict=True):
                    yield from self._alike(part, twin, xs, ys)
            case Sequence_(), Sequence_():
                length = next(xs)
                yield length == next(ys)
                for x, y in [(next(xs), next(ys)) for _ in shape(other.element)]:
                    for i in range(domain.capacity):
                        yield z3.Implies(i < length, z3.Select(x, i) == z3.Select(y, i))
            case Per(), Per() if kind(other.index) is not None:
                for x, y in [(next(xs), next(ys)) for _ in shape(other.element)]:
                    yield from (z3.Select(x, i) == z3.Select(y, i) for i in domain.index.values())
            case Per(), Per():
                for _ in range(domain.count):
                    yield from self._alike(domain.element, other.element, xs, ys)
            case _:
                for _ in shape(other):
                    yield next(xs) == next(ys)

    # --- steps ------------------------------------------------------------------------------------------------------

    def _relation(
        self, transition: Transition, known: dict[str, Relation]
    ) -> tuple[Relation | None, list[tuple[Term, Term]]]:
        """The unbounded step of which this is an instance, and its numbers."""
        for relation in known.values():
            if relation.action != transition.label.action:
                continue
            given = dict(transition.label.parameters)
            numbers = [given[name] for name, value in relation.choice if value == "any"]
            fixed = {n: "none" if given[n] is None else given[n] for n, v in relation.choice if v != "any"}
            if fixed == {n: v for n, v in relation.choice if v != "any"}:
                pairs = zip(relation.parameters, numbers, strict=True)
                return relation, [(term, z3.IntVal(x)) for (term, _), x in pairs]
        return None, []

    def _agree(
        self, transition: Transition, relation: Relation, numbers: list[tuple[Term, Term]], watch: Watch
    ) -> bool:
        """Whether both steps happen in the same states and lead to the same state."""
        here = [*self.pairs, *numbers]
        happens = z3.substitute(both(*relation.inside, relation.guard, z3.Not(relation.failure)), *here)
        after = [z3.substitute(term, *here) for term in relation.after]
        # Definitions fix their numbers, and there always are such numbers: a difference shows for them, or nowhere.
        fixed = []
        for q in (q for d in relation.definitions for q in d.conditions):
            term = z3.substitute(q.condition, *here)
            for number, _ in q.numbers:
                term = z3.And([z3.substitute(term, (number, z3.IntVal(i))) for i in self._offsets()])
            fixed.append(term)
        traced = self.bounded.enabled(transition)
        alike = z3.Implies(traced, z3.And(list(self._same(self._lifted(self._new(transition)), after))))
        goal = z3.And(traced == both(happens, *self._within(after)), alike)
        return self._valid([*self.bounded.domain(self.bounded.before), *fixed], goal, watch)

    def _new(self, transition: Transition) -> list[Term]:
        """The traced state after a step."""
        nodes = transition.updates
        terms = dict(zip(nodes, self.bounded.terms.fold(nodes.values(), self.bounded.before), strict=True))
        return [
            self.bounded.terms.stored(nodes[i], terms[i], self.system.leaves[i]) if i in nodes else term
            for i, term in enumerate(self.bounded.before)
        ]

    def _offsets(self) -> range:
        """Every number that can be an offset of a log within the bounds."""
        return range(max([d.capacity for v in self.system.variables for d in _sequences(v.domain)], default=0))

    # --- the rest ---------------------------------------------------------------------------------------------------

    def _same_start(self, watch: Watch) -> bool:
        (start,) = self.system.initial
        leaves = [
            self.bounded.terms.constant(leaf.kind, x, interval(leaf))
            for leaf, x in zip(self.system.leaves, start, strict=True)
        ]
        other = initial(self.unbounded.model, self.unbounded.layout)
        return self._valid([], z3.And(list(self._same(self._lifted(leaves), other))), watch)

    def _statements(self, watch: Watch) -> Iterator[str]:
        """The names of lemmas and targets that do not say the same: for all numbers within the bounds."""
        known = self.unbounded.proof.statements("lemma", "target")
        domain = self.bounded.domain(self.bounded.before)
        traced = self.bounded.holds(self.system.invariants, self.bounded.before)
        for name, statement in known.items():
            parts = []
            for q in self.unbounded.quantified(statement, self.before, "any"):
                parts += self._all_values(q.numbers, q.condition)
            if not self._valid(domain, traced[name] == z3.And(parts), watch):
                yield name

    def _all_values(self, numbers: tuple[tuple[Term, str], ...], condition: Term) -> list[Term]:
        terms = [condition]
        for number, of in numbers:
            terms = [z3.substitute(t, (number, z3.IntVal(x))) for t in terms for x in self._values(of)]
        return terms

    def _values(self, of: str) -> range:
        """Every number of a kind within the bounds: an offset is below the setting, an epoch at most the setting."""
        return range(self.model.settings[of] + 1)

    def _valid(self, conditions: Sequence[Term], goal: Term, watch: Watch) -> bool:
        solver = z3.Solver()
        solver.add(*conditions, z3.Not(goal))
        return bool(ask(solver, watch) == z3.unsat)


def _sequences(domain: Domain) -> Iterator[Sequence_]:
    if isinstance(domain, Sequence_):
        yield domain
    elif isinstance(domain, Record):
        for part in domain.domains:
            yield from _sequences(part)
    elif isinstance(domain, Per):
        yield from _sequences(domain.element)


def says_the_same(system: TransitionSystem, a: Predicate, b: Predicate, watch: Watch) -> bool:
    """Whether two predicates hold in the same states."""
    bounded = Bounded.of(system)
    one, other = (bounded.holds((p,), bounded.before)[p.name] for p in (a, b))
    solver = z3.SolverFor("QF_BV")
    solver.add(*bounded.domain(bounded.before), one != other)
    return bool(ask(solver, watch) == z3.unsat)
