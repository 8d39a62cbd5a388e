"""Compares the model without bounds with the traced model at given bounds. z3 decides whether the two models agree.

The traced model is the transition system that a search explores. At given bounds, each state of the traced model is
also a state of the model without bounds. Two conditions must hold for every state of the traced model, reachable or
not, and for every instance of every action. First, the instance is possible and defined in both models, or in neither.
Second, if the instance is possible and defined, both models reach the same state by this step. The two models must also
have the same initial state, and every lemma and every target must have the same value in both models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import z3

from isrcheck.checker.engines.symbolic.solver import Watch
from isrcheck.checker.engines.symbolic.z3_terms import INTEGERS, interval
from isrcheck.checker.proofs.attempts import parameter_domains
from isrcheck.checker.proofs.bounded_obligations import Bounded
from isrcheck.checker.proofs.obligations import Term, ask
from isrcheck.checker.proofs.unbounded.shapes import Definitions, Quantified, both, kind, shape
from isrcheck.checker.proofs.unbounded.step_relation import Relation, initial
from isrcheck.checker.proofs.unbounded.unbounded_obligations import Unbounded
from isrcheck.model.language.domains import Broker, BrokerSet, Domain, Enum, Per, Record, Sequence_
from isrcheck.model.language.model import Model
from isrcheck.model.language.proofs import Statement
from isrcheck.model.semantics.transition_system import Label, Transition, TransitionSystem, Variable


class BoundedEquivalence:
    """The comparison of a traced model at its bounds with the model without bounds.

    `before` is the traced model's state before a step, in the form of a state without bounds (`unbounded/shapes.py`).
    """

    def __init__(
        self, system: TransitionSystem, model: Model, unbounded: Unbounded, statements: dict[str, Statement]
    ) -> None:
        self.model, self.unbounded, self.system, self.statements = model, unbounded, system, statements
        self.bounded = Bounded.of(system, INTEGERS)
        self.before = self._lifted(self.bounded.before)
        self.bounds = [(term, z3.IntVal(model.settings[name])) for name, term in unbounded.free.bounds.items()]
        self.pairs = [*zip(unbounded.before, self.before, strict=True), *self.bounds]
        most = max([*(model.settings[name] for name in unbounded.free.bounds), *_capacities(system)], default=0)
        self.offsets = range(most + 2)

    def differences(self, watch: Watch) -> list[str]:
        """The differences between the two models, in words. There are none if z3 shows that the models agree."""
        found = [f"the {name} differ" for name, ok in (("initial states", self._same_start(watch)),) if not ok]
        traced = {str(transition.label): transition for transition in self.system.transitions}
        for label in self._labels():
            if not self._agree(traced.get(str(label)), label, watch):
                found.append(f"{label} differs")
        return found + [f"{name} differs" for name in self._statements(watch)]

    # --- states -----------------------------------------------------------------------------------------------------

    def _lifted(self, state: Sequence[Term]) -> list[Term]:
        """A state of the traced model, in the form of a state without bounds."""
        return [
            t for v in self.system.variables for t in self._lift(v.domain, self._unbounded_domain(v), v.start, state)
        ]

    def _unbounded_domain(self, variable: Variable) -> Domain:
        """The domain of a variable in the model without bounds."""
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

    def _of(self, variable: Variable, state: Sequence[Term]) -> Iterator[Term]:
        """The terms of `state` from the first term of `variable` on, to the last term of the state."""
        return iter(state[self.unbounded.layout.variables[variable.name][1] :])

    def _same(self, xs: Sequence[Term], ys: Sequence[Term]) -> Iterator[Term]:
        """Conditions that two states are equal. Both states have the form of a state without bounds.

        Arrays are compared only at indices that exist at the bounds, and logs only below their length.
        """
        for v in self.system.variables:
            yield from self._alike(v.domain, self._unbounded_domain(v), self._of(v, xs), self._of(v, ys))

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

    def _labels(self) -> Iterator[Label]:
        """The labels of all instances of all actions, including instances that are possible in no state."""
        for name, method in self.model.actions().items():
            parameters: Sequence[str] = method.__action__.parameters  # type: ignore[attr-defined]
            for choice in self.model.instances(method):
                values = tuple(zip(parameters, (value for _, value in choice), strict=True))
                yield Label(name, values, tuple(domain for domain, _ in choice))

    def _relation(self, label: Label) -> tuple[Relation | None, list[tuple[Term, Term]]]:
        """The relation (a step of the model without bounds) of which `label` is an instance, or None if there is none.

        Also returns each numeric parameter of the relation with its value in `label`.
        """
        given = dict(label.parameters)
        for relation in self.unbounded.relations:
            fixed = {n: v for n, v in relation.choice if v is not ...}
            if relation.action == label.action and fixed == {n: given[n] for n in fixed}:
                numbers = [given[name] for name, value in relation.choice if value is ...]
                pairs = zip(relation.parameters, numbers, strict=True)
                return relation, [(term, z3.IntVal(x)) for (term, _), x in pairs]
        return None, []

    def _agree(self, transition: Transition | None, label: Label, watch: Watch) -> bool:
        """Whether z3 shows that an instance is possible in the same states of both models and has the same effect."""
        relation, numbers = self._relation(label)
        if relation is None:
            return transition is None
        here = [*self.pairs, *numbers]
        happens = z3.substitute(both(*relation.inside, relation.guard, z3.Not(relation.failure)), *here)
        after = [z3.substitute(term, *here) for term in relation.after]
        traced, alike = z3.BoolVal(False), z3.BoolVal(True)
        if transition is not None:
            traced = self.bounded.enabled(transition)
            alike = z3.Implies(traced, z3.And(list(self._same(self._lifted(self._new(transition)), after))))
        fixed = self._fixed(relation.definitions, here, {})
        goal = z3.And(traced == happens, alike)
        return self._valid([*self.bounded.domain(self.bounded.before), *fixed], goal, watch)

    def _fixed(
        self, definitions: Definitions, here: list[tuple[Term, Term]], values: dict[Term, Sequence[int]]
    ) -> list[Term]:
        """The conditions of the definitions, one term for each condition and each choice of values for its numbers.

        A number takes the values that `values` has for it, or else the values in `offsets`. `here` pairs old terms with
        their replacements. The resulting terms may be assumed, because in every state each defined name has a value
        that satisfies its definition.
        """
        return [
            z3.substitute(term, *here)
            for q in definitions.conditions
            for term in self._all_values(q.numbers, q.condition, values)
        ]

    def _new(self, transition: Transition) -> list[Term]:
        """The terms of the traced model's state after a transition."""
        nodes = transition.updates
        terms = dict(zip(nodes, self.bounded.terms.fold(nodes.values(), self.bounded.before), strict=True))
        return [
            self.bounded.terms.stored(nodes[i], terms[i], self.system.leaves[i]) if i in nodes else term
            for i, term in enumerate(self.bounded.before)
        ]

    # --- the rest ---------------------------------------------------------------------------------------------------

    def _same_start(self, watch: Watch) -> bool:
        if len(self.system.initial) != 1:
            return False
        (start,) = self.system.initial
        leaves = [
            self.bounded.terms.constant(leaf.kind, x, interval(leaf))
            for leaf, x in zip(self.system.leaves, start, strict=True)
        ]
        other, definitions = initial(self.unbounded.free, self.unbounded.layout)
        same = z3.And(list(self._same(self._lifted(leaves), [z3.substitute(x, *self.bounds) for x in other])))
        return self._valid(self._fixed(definitions, self.bounds, {}), same, watch)

    def _statements(self, watch: Watch) -> Iterator[str]:
        """The names of the lemmas and targets for which z3 does not show that the two models agree in every state."""
        domain = self.bounded.domain(self.bounded.before)
        traced = self.bounded.holds(self.system.invariants, self.bounded.before)
        for name, statement in self.statements.items():
            # The statement and its definitions are about the state `unbounded.before`. `pairs` replaces its terms.
            found, definitions = self.unbounded.quantified(statement, self.unbounded.before)
            values = self._parameter_values(statement, found)
            parts = [x for q in found for x in self._all_values(q.numbers, q.condition, values)]
            said = z3.And([z3.substitute(x, *self.pairs) for x in parts])
            fixed = self._fixed(definitions, self.pairs, values)
            if not self._valid([*domain, *fixed], traced[name] == said, watch):
                yield name

    def _parameter_values(self, statement: Statement, found: Sequence[Quantified]) -> dict[Term, Sequence[int]]:
        """The values that each numeric parameter of a statement can have at these bounds."""
        ours = parameter_domains(self.model, statement)
        theirs = parameter_domains(self.unbounded.model, statement)
        unbounded_values = [list(ours[name].values()) for name, domain in theirs.items() if kind(domain) is not None]
        return {n: values for q in found for (n, _), values in zip(q.numbers, unbounded_values, strict=True)}

    def _all_values(
        self, numbers: tuple[tuple[Term, str], ...], condition: Term, values: dict[Term, Sequence[int]]
    ) -> list[Term]:
        terms = [condition]
        for number, _ in numbers:
            of = values.get(number, self.offsets)
            terms = [z3.substitute(t, (number, z3.IntVal(x))) for t in terms for x in of]
        return terms

    def _valid(self, conditions: Sequence[Term], goal: Term, watch: Watch) -> bool:
        solver = z3.Solver()
        solver.add(*conditions, z3.Not(goal))
        return bool(ask(solver, watch) == z3.unsat)


def _capacities(system: TransitionSystem) -> Iterator[int]:
    for variable in system.variables:
        yield from (sequence.capacity for sequence in _sequences(variable.domain))


def _sequences(domain: Domain) -> Iterator[Sequence_]:
    if isinstance(domain, Sequence_):
        yield domain
    elif isinstance(domain, Record):
        for part in domain.domains:
            yield from _sequences(part)
    elif isinstance(domain, Per):
        yield from _sequences(domain.element)
