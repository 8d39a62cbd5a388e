"""The obligations of a proof about a model without bounds, at a given number of replicas.

They have no quantifiers. A lemma speaks of all offsets and all epochs, and is assumed of those that matter: the numbers
of its kind in the state before and after the step, those that the goal speaks of, and in later stages what the logs and
requests hold there. Assuming less is safe: what follows from some instances follows from the lemma. So solvers decide
every obligation, and only "no" may mean that another instance was needed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import z3

from isrcheck.checker.proofs.obligations import DOMAINS, MEANING, START, TARGET, Lazily, Obligation, Obligations, Term
from isrcheck.checker.proofs.unbounded.relation import (
    Layout,
    Quantified,
    Relation,
    UnboundedState,
    arguments,
    as_flag,
    initial,
    relations,
)
from isrcheck.checker.proofs.unbounded.shapes import Part, both, inside, kind, negated
from isrcheck.model.language.model import Model
from isrcheck.model.language.proofs import Proof, Statement

STAGES: Final = 3
Pool = dict[str, dict[Term, None]]
"""Numbers of each kind, in order."""


class Unbounded:
    """A model without bounds, the lemmas of a proof about it, and its steps from a state `before`."""

    def __init__(self, model: Model, proof: type[Proof], lemmas: dict[str, Statement]) -> None:
        self.model, self.proof, self.lemmas = model, proof, lemmas
        self.layout = Layout.of(model)
        self.before = self.layout.fresh("before")
        self.relations = relations(model, self.layout, self.before)
        self._known: dict[tuple[int, ...], tuple[Term, ...]] = {}
        self._lemmas = {name: list(self.quantified(lemma, self.before, "any")) for name, lemma in lemmas.items()}
        self._domains = [
            _everywhere(n, p, t) for n, (p, t) in enumerate(zip(self.layout.parts, self.before, strict=True))
        ]
        self._some = self._spoken_of()

    def obligations(self, targets: dict[str, Statement]) -> Obligations:
        goals = {name: self.goal(target, self.before) for name, target in targets.items()}
        aim = self._obligation(TARGET, TARGET, self.before, [], [], goals, {})
        return Obligations(
            logic="ALL",
            lemmas=tuple(self.lemmas),
            targets=tuple(targets),
            all=(self._start(), *(self._step(r) for r in self.relations), aim),
        )

    # --- statements -------------------------------------------------------------------------------------------------

    def quantified(self, statement: Statement, state: Sequence[Term], prefix: str) -> Iterator[Quantified]:
        """A statement about a state, for each choice of its finite parameters."""
        for _, given, numbers, within in arguments(self.model, statement.parameters, prefix):
            s = UnboundedState(self.model, self.layout, state, False, [])
            truth = as_flag(statement.method(self.proof(self.model), s, *given)).truth
            yield Quantified(tuple(numbers), z3.simplify(z3.Implies(both(*within), truth)))

    def goal(self, statement: Statement, state: Sequence[Term]) -> Term:
        """A statement about a state for some numbers: if it cannot be false for these, it is false for none."""
        return both(*(q.condition for q in self.quantified(statement, state, "some")))

    def _spoken_of(self) -> Pool:
        """The numbers that goals speak of: as many of a kind as any lemma or target has."""
        pool: Pool = {}
        for statement in self.proof.statements("lemma", "target", "candidate").values():
            for _, _, numbers, _ in arguments(self.model, statement.parameters, "some"):
                for number, of in numbers:
                    pool.setdefault(of, {})[number] = None
        return pool

    # --- obligations ------------------------------------------------------------------------------------------------

    def _start(self) -> Obligation:
        state = initial(self.model, self.layout)
        goals = Lazily([*self.lemmas, DOMAINS], lambda name: self._goal(name, state))
        return Obligation("initial state", START, (), lambda stage: {}, goals)

    def _step(self, relation: Relation) -> Obligation:
        conditions = [*relation.inside, z3.simplify(z3.Or(relation.guard, relation.failure))]
        definitions = [q for d in relation.definitions for q in d.conditions]
        goals = Lazily([*self.lemmas, DOMAINS, MEANING], lambda name: self._after(name, relation))
        own: Pool = {}
        for number, of in [*relation.parameters, *((d.number, d.kind) for d in relation.definitions)]:
            own.setdefault(of, {})[number] = None
        for d in relation.definitions:
            own[d.kind][z3.simplify(d.number - 1)] = None
        return self._obligation(relation.label, relation.action, relation.after, conditions, definitions, goals, own)

    def _obligation(
        self,
        label: str,
        action: str,
        after: Sequence[Term],
        conditions: list[Term],
        definitions: list[Quantified],
        goals: Mapping[str, Term],
        own: Pool,
    ) -> Obligation:
        pools: dict[int, Pool] = {}

        def pool(stage: int) -> Pool:
            if stage not in pools:
                pools[stage] = self._pool(stage, after, own)
            return pools[stage]

        def lemmas(stage: int) -> dict[str, list[Term]]:
            found = {name: self._instances(of, pool(stage)) for name, of in self._lemmas.items()}
            always = self._instances([*self._domains, *definitions], pool(stage))
            return {**found, "": always}

        return Obligation(label, action, tuple(conditions), lemmas, goals, STAGES)

    def _after(self, name: str, relation: Relation) -> Term:
        if name == MEANING:
            return z3.simplify(negated(relation.failure))
        return z3.simplify(z3.Or(relation.failure, self._goal(name, relation.after)))

    def _goal(self, name: str, state: Sequence[Term]) -> Term:
        if name == DOMAINS:
            parts = zip(self.layout.parts, state, strict=True)
            return both(*(_somewhere(part, term) for part, term in parts))
        return self.goal(self.lemmas[name], state)

    # --- instances --------------------------------------------------------------------------------------------------

    def _pool(self, stage: int, after: Sequence[Term], own: Pool) -> Pool:
        """The numbers of which lemmas are assumed: more in later stages."""
        pool: Pool = {of: dict(numbers) for of, numbers in self._some.items()}
        for of, numbers in own.items():
            pool.setdefault(of, {}).update(numbers)
        special = {of: list(numbers) for of, numbers in pool.items()}
        for part, old, new in zip(self.layout.parts, self.before, after, strict=True):
            own_kind = kind(part.domain)
            if own_kind is None:
                continue
            if part.endless is None:
                changed = [] if new.eq(old) else [z3.simplify(new)]
                pool.setdefault(own_kind, {}).update(dict.fromkeys([old, *changed]))
                if stage >= 2:
                    pool[own_kind][z3.simplify(old - 1)] = None
            elif stage >= 1:
                read = [z3.Select(old, at) for at in special.get(part.endless, ())]
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
        if key not in self._known:
            pairs = [(number, term) for (number, _), term in zip(q.numbers, terms, strict=True)]
            made = z3.substitute(q.condition, *pairs) if pairs else q.condition
            # The terms are kept with it: z3 gives the number of a term that is gone to another one.
            self._known[key] = made, q.condition, *terms
        return self._known[key][0]


def _everywhere(number: int, part: Part, term: Term) -> Quantified:
    """That a leaf is a value of its domain, at every index."""
    if part.endless is None:
        return Quantified((), both(*inside(part.domain, term)))
    index = z3.Int(f"index!{number}")
    return Quantified(((index, part.endless),), both(*inside(part.domain, z3.Select(term, index))))


def _somewhere(part: Part, term: Term) -> Term:
    """That a leaf is a value of its domain, at an index of which goals speak."""
    at = z3.Int(f"some!{part.endless}!0")
    return both(*inside(part.domain, term if part.endless is None else z3.Select(term, at)))
