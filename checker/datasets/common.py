"""The common part of two models: the variables that have the same name and comparable domains in both models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from isrcheck.checker.kernel.layout import Layout
from isrcheck.model.language.domains import Bag, Domain, Messages, Number, Per, Record, Sequence_
from isrcheck.model.language.expressions import Leaf
from isrcheck.model.language.system import TransitionSystem


@dataclass(frozen=True)
class Common:
    """The names of the common variables (`variables`) and of all others (`apart`), and the leaves of common variables.

    A *leaf* is a scalar part of a state. `leaves` has the leaves that at least one of the two models has. For each
    model, `numbers` has the index of each of these leaves in a state of the model, or -1 if the model does not have the
    leaf. For example, a model with shorter logs lacks the leaves of the last records. A missing leaf counts as if it
    had the value in `fill`, the leaf's least value. Unused leaves of a sequence have this value too.
    """

    variables: tuple[str, ...]
    apart: tuple[str, ...]
    leaves: tuple[Leaf, ...]
    numbers: tuple[tuple[int, ...], tuple[int, ...]]
    fill: tuple[int, ...]

    def query(self, side: int) -> dict[str, Any]:
        """Plain data that tells executors how to take the common leaves from a state of model `side` (0 or 1)."""
        layout = Layout(self.leaves)
        return {
            "from": list(self.numbers[side]),
            "fill": list(self.fill),
            "to": [[p.word, p.shift, p.width, p.low] for p in layout.places],
            "key_words": layout.words,
        }


def common(one: TransitionSystem, other: TransitionSystem) -> Common:
    """The common variables and leaves of two systems."""
    domains = [{v.name: v.domain for v in system.variables} for system in (one, other)]
    shared = tuple(n for n, d in domains[0].items() if n in domains[1] and comparable(d, domains[1][n]))
    apart = tuple(sorted((domains[0].keys() | domains[1].keys()) - set(shared)))
    sides = [
        {leaf.path: leaf for leaf in system.leaves if _variable(system, leaf) in shared} for system in (one, other)
    ]
    paths = list(dict.fromkeys([*sides[0], *sides[1]]))
    leaves, fill = [], []
    for i, path in enumerate(paths):
        found = [side[path] for side in sides if path in side]
        low, high = min(x.low for x in found), max(x.high for x in found)
        leaves.append(replace(found[0], index=i, low=low, high=high))
        fill.append(found[0].low)
    numbers = tuple(tuple(side[path].index if path in side else -1 for path in paths) for side in sides)
    return Common(shared, apart, tuple(leaves), (numbers[0], numbers[1]), tuple(fill))


def comparable(one: Domain, other: Domain) -> bool:
    """Whether each value that both domains have is stored in the same way, in every leaf that both domains have."""
    match one, other:
        case (Number(), Number()):
            return True
        case (Record(), Record()):
            return one.names == other.names and all(map(comparable, one.domains, other.domains))
        case (Sequence_(), Sequence_()):
            # Unused places hold the first element, so both domains must have the same first element.
            return comparable(one.element, other.element) and one.element.encode(one.element.first) == (
                other.element.encode(other.element.first)
            )
        case (Per(), Per()):
            return one.index == other.index and comparable(one.element, other.element)
        case (Messages(), Messages()):
            return comparable(one.element, other.element)
        case (Bag(), Bag()):
            return comparable(one.element, other.element)
    return one == other


def _variable(system: TransitionSystem, leaf: Leaf) -> str:
    return next(v.name for v in reversed(system.variables) if v.start <= leaf.index)
