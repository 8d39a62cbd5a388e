"""Finds out, variable by variable, which changes of a refused step the specification does not allow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from isrcheck.checker.kernel.layout import Words
from isrcheck.checker.refinement.allowed import Allowed
from isrcheck.checker.wording.values import differences, parts

UNWRITTEN: Final = "no action of it changes that"
UNREACHED: Final = "none of its steps leads there"
NOT_AT_ONCE: Final = "its steps lead there, but not together with the rest"
NOT_INITIALLY: Final = "it does not begin so"


@dataclass(frozen=True)
class Change:
    """A change of a part of the specification's state by a step.

    If the change is refused, `said` is the reason. For an initial state `old` is None.
    """

    path: str
    old: str | None
    new: str
    said: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {"path": self.path, "old": self.old, "new": self.new, "said": self.said}


def begins_otherwise(allowed: Allowed, a: Words) -> tuple[Change, ...]:
    """All parts of the state a, as refused changes.

    An initial state of the model represents a, but a is no initial state of the specification.
    """
    domains = [(v.name, v.domain) for v in allowed.system.variables]
    state = allowed.system.decode(_leaves(allowed, a))
    return tuple(Change(path, None, value, NOT_INITIALLY) for path, value in parts(domains, state))


def refusals(allowed: Allowed, a: Words, b: Words) -> tuple[Change, ...]:
    """The changes of a step from a to b (packed states). Each refused change has a sentence that says why."""
    system, found = allowed.system, list[Change]()
    before, after = (system.decode(_leaves(allowed, row)) for row in (a, b))
    for at, (variable, said) in enumerate(zip(system.variables, _said(allowed, a, b), strict=True)):
        changes = differences([(variable.name, variable.domain)], [before[at]], [after[at]])
        found += [Change(*change, said) for change in changes]
    return tuple(found)


def refused_leaves(allowed: Allowed, a: Words, b: Words) -> list[int]:
    """The leaves that a step from a to b changes, in the variables whose change the specification refuses."""
    old, new, found = _leaves(allowed, a), _leaves(allowed, b), list[int]()
    for variable, said in zip(allowed.system.variables, _said(allowed, a, b), strict=True):
        if said is not None:
            found += [i for i in range(variable.start, variable.start + variable.domain.width) if old[i] != new[i]]
    return found


def _said(allowed: Allowed, a: Words, b: Words) -> list[str | None]:
    """For each variable, the sentence that says why its change is refused, or None.

    If the step changes leaves that no action writes, only the variables of these leaves have a sentence. Otherwise a
    variable has a sentence if its value in b occurs in none of the states that the specification reaches from a.
    If no variable has a sentence by this rule, all variables have the sentence `NOT_AT_ONCE`.
    """
    old, new = _leaves(allowed, a), _leaves(allowed, b)
    written = {leaf for t in allowed.system.transitions for leaf in t.updates}
    unwritten = {i for i, (x, y) in enumerate(zip(old, new, strict=True)) if x != y and i not in written}
    reached = None if unwritten else allowed.kernel.layout.unpack(allowed.seen_from(a))
    found: list[str | None] = []
    for variable in allowed.system.variables:
        leaves = range(variable.start, variable.start + variable.domain.width)
        said = UNWRITTEN if unwritten & {*leaves} else None
        if reached is not None:
            there = (reached[:, leaves.start : leaves.stop] == new[leaves.start : leaves.stop]).all(axis=1)
            said = None if there.any() else UNREACHED
        found.append(said)
    return found if any(found) else [NOT_AT_ONCE] * len(found)


def _leaves(allowed: Allowed, row: Words) -> tuple[int, ...]:
    return tuple(map(int, allowed.kernel.layout.unpack(row[np.newaxis])[0]))
