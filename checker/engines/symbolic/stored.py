"""Facts about the leaves (stored integers) of every state. Without them, a solver would also try impossible values."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from isrcheck.checker.symmetry.exchanges import Nodes, split
from isrcheck.model.language import expressions as e
from isrcheck.model.language.domains import Bag, Domain, Per, Record, Sequence_
from isrcheck.model.language.expressions import Expression
from isrcheck.model.language.system import TransitionSystem


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
