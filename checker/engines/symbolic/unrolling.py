"""Paths of a transition system as constraints on the states of a path, and on the instances that its steps take.

A step has one Boolean for each instance, and exactly one of these Booleans is true. The constraints of a step require
that the taken instance is enabled and defined, and that the leaves get the values that this instance writes. (Instances
that write the same expression to a leaf are grouped.) Other leaves keep their values. The constraints are written once,
for the step between the two states of a template, and are copied for each step of a path.

Facts about the leaves (stored integers) of every state. Without them, a solver would also try impossible values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce

import z3

from isrcheck.checker.engines.symbolic.z3_terms import State, Term, Terms
from isrcheck.checker.kernel.exchanges import Nodes, split
from isrcheck.checker.kernel.verdict_bits import FAILED, OUTSIDE, verdicts
from isrcheck.model.language.domains import Bag, Domain, Per, Record, Sequence_
from isrcheck.model.semantics import expressions as e
from isrcheck.model.semantics.expressions import Expression, and_, not_, or_
from isrcheck.model.semantics.transition_system import Transition, TransitionSystem


def facts(system: TransitionSystem) -> Iterator[Expression]:
    """The facts as expressions that are true in every state. There are two kinds of facts.

    Slots after a sequence's end have the first value of their domain. No bag exceeds its capacity.
    """
    nodes = [e.leaf(x) for x in system.leaves]
    for variable, part in zip(system.variables, split([v.domain for v in system.variables], nodes), strict=True):
        yield from _facts(variable.domain, part)


def _facts(domain: Domain, nodes: Nodes) -> Iterator[Expression]:
    match domain:
        case Record():
            for d, part in zip(domain.domains, split(domain.domains, nodes), strict=True):
                yield from _facts(d, part)
        case Per():
            for part in split([domain.element] * domain.count, nodes):
                yield from _facts(domain.element, part)
        case Bag():
            yield e.le(reduce(e.add, nodes), e.constant("number", domain.capacity))
        case Sequence_():
            length, *slots = nodes
            first = domain.element.encode(domain.element.first)
            for offset, part in enumerate(split([domain.element] * domain.capacity, slots)):
                reached = e.lt(e.constant("number", offset), length)
                empty = e.and_(*(e.eq(x, e.constant(x.kind, y)) for x, y in zip(part, first, strict=True)))
                yield e.or_(reached, empty)
                yield from _facts(domain.element, part)


MEANINGLESS = "a predicate is undefined"
FAILING = "an action instance is undefined"
STUCK = "no action is enabled"


def enabled(transition: Transition) -> Expression:
    """The condition under which an instance can happen. An instance that fails is not enabled."""
    return and_(transition.guard, not_(transition.failure))


@dataclass(frozen=True)
class Link:
    """The Booleans of one step. `taken[i]`: instance i is taken. `upto[i]`: one of the instances 0 to i is taken."""

    taken: tuple[Term, ...]
    upto: tuple[Term, ...]

    @staticmethod
    def fresh(count: int, name: str) -> Link:
        taken = tuple(z3.Bool(f"{name}!take!{i}") for i in range(count))
        return Link(taken, tuple(z3.Bool(f"{name}!upto!{i}") for i in range(count)))

    def below(self, instance: int) -> Term:
        """A term that is true if one of the instances before this instance is taken."""
        return self.upto[instance - 1] if instance else z3.BoolVal(False)

    def any(self, instances: Iterable[int]) -> Term:
        return z3.Or([self.taken[i] for i in instances])

    def exactly_one(self) -> list[Term]:
        """Terms that require exactly one taken instance (the sequential encoding, with auxiliary constants `upto`)."""
        clauses = [self.upto[-1]] if self.taken else [z3.BoolVal(False)]
        for i, (taken, upto) in enumerate(zip(self.taken, self.upto, strict=True)):
            before = self.below(i)
            clauses += [upto == z3.Or(taken, before), z3.Or(z3.Not(taken), z3.Not(before))]
        return clauses


class Template:
    """The formulas for a state and for a step. Their constants are replaced for each state and step of a path."""

    def __init__(self, system: TransitionSystem, terms: Terms | None = None) -> None:
        self.system, self.terms = system, terms or Terms()
        self.here = self.terms.state(system.leaves, "here")
        self.there = self.terms.state(system.leaves, "there")
        self.link = Link.fresh(len(system.transitions), "step")
        self._write = self.terms.folding(self.here)
        self.step = z3.And([*self.link.exactly_one(), *self._guards(), *self._updates()])
        self.inside, self.questions = self._questions()

    def _guards(self) -> list[Term]:
        guards = self._write(enabled(t) for t in self.system.transitions)
        return [z3.Implies(taken, guard) for taken, guard in zip(self.link.taken, guards, strict=True)]

    def _updates(self) -> list[Term]:
        clauses = []
        for leaf, before, after in zip(self.system.leaves, self.here, self.there, strict=True):
            groups: dict[Expression, list[int]] = {}
            for i, transition in enumerate(self.system.transitions):
                if leaf.index in transition.updates:
                    groups.setdefault(transition.updates[leaf.index], []).append(i)
            for update, instances in groups.items():
                value = self._as_leaf(update, leaf.index)
                clauses.append(z3.Implies(self.link.any(instances), after == value))
            writers = sorted(i for instances in groups.values() for i in instances)
            clauses.append(z3.Or(self.link.any(writers), after == before))
        return clauses

    def _as_leaf(self, update: Expression, leaf: int) -> Term:
        """The term of an update, in the form of the leaf that the update writes."""
        return self.terms.stored(update, self._write([update])[0], self.system.leaves[leaf])

    def _questions(self) -> tuple[Term, dict[str, Term]]:
        """The condition that a state is inside the constraints and, by name, the condition for each kind of error."""
        asked = verdicts(self.system)
        outside = asked.bits[OUTSIDE]
        fails = or_(*(t.failure for t in self.system.transitions))
        stuck = not_(or_(*(enabled(t) for t in self.system.transitions)))
        wrong = {
            **{name: asked.bits[bit] for name, bit in asked.invariants.items()},
            MEANINGLESS: asked.bits[FAILED],
            FAILING: and_(not_(outside), fails),
            STUCK: and_(not_(outside), stuck, not_(fails)),
        }
        inside, *found = self._write([not_(outside), *wrong.values()])
        return inside, dict(zip(wrong, found, strict=True))


@dataclass
class Unrolling:
    """The states and links of paths from an initial state. `extend` adds the next state and returns its constraints."""

    template: Template
    name: str = "s"
    states: list[State] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    starts: tuple[Term, ...] = ()

    @property
    def system(self) -> TransitionSystem:
        return self.template.system

    def extend(self) -> list[Term]:
        level = len(self.states) + 1
        self.states.append(self.template.terms.state(self.system.leaves, f"{self.name}{level}"))
        if level == 1:
            return self._start()
        self.links.append(Link.fresh(len(self.system.transitions), f"{self.name}{level - 1}"))
        return [self.asserted(level - 1, self.template.inside), self._copy(self.template.step, level - 1)]

    def asserted(self, level: int, about: Term) -> Term:
        """A formula about the template's state, rewritten for the state of a level."""
        return z3.substitute(about, *self._pairs(self.template.here, self.states[level - 1]))

    def asked(self, level: int, question: str) -> Term:
        return self.asserted(level, self.template.questions[question])

    def _start(self) -> list[Term]:
        """Terms that require that the path starts in an initial state: in initial state i if `starts[i]` is true."""
        initial = self.system.initial
        self.starts = tuple(z3.Bool(f"{self.name}!start!{i}") for i in range(len(initial)))
        equal = self.template.terms.equal
        return [
            z3.Or(self.starts),
            *(
                z3.Implies(start, z3.And(equal(self.system.leaves, self.states[0], leaves)))
                for start, leaves in zip(self.starts, initial, strict=True)
            ),
        ]

    def _copy(self, about: Term, level: int) -> Term:
        link, pattern = self.links[level - 1], self.template.link
        return z3.substitute(
            about,
            *self._pairs(self.template.here, self.states[level - 1]),
            *self._pairs(self.template.there, self.states[level]),
            *zip((*pattern.taken, *pattern.upto), (*link.taken, *link.upto), strict=True),
        )

    @staticmethod
    def _pairs(old: Sequence[Term], new: Sequence[Term]) -> list[tuple[Term, Term]]:
        """Pairs (old constant, new constant). A leaf with one possible value has no pair: its two terms are equal."""
        return [(x, y) for x, y in zip(old, new, strict=True) if not x.eq(y)]

    # --- reading a model --------------------------------------------------------------------------------------------

    def state(self, model: z3.ModelRef, level: int) -> tuple[int, ...]:
        """The leaves of the state of a level."""
        return self.template.terms.values(model, self.system.leaves, self.states[level - 1])

    def instances(self, model: z3.ModelRef, length: int) -> tuple[int, ...]:
        """The instances taken on a path of `length` states."""
        return tuple(
            next(i for i, taken in enumerate(link.taken) if z3.is_true(model.eval(taken)))
            for link in self.links[: length - 1]
        )
