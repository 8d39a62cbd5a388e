"""Finds out, variable by variable, which changes of a refused step the specification does not allow.

Explains why a specification does not allow the last step of a trace: finds a condition that this step makes false.

`checker/trace/causes.py` then explains this condition as it explains a violated invariant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from isrcheck.checker.analysis.refinement.specification_steps import Allowed
from isrcheck.checker.kernel.layout import Words
from isrcheck.checker.results.result import Instance, InvariantResult, Trace
from isrcheck.checker.results.state_text import differences, parts
from isrcheck.checker.trace.causes import causes
from isrcheck.checker.trace.narration import story
from isrcheck.checker.trace.refinement_replay import Implementation
from isrcheck.checker.trace.trace_evaluation import EvaluatedTrace
from isrcheck.model.language.refinements import traced
from isrcheck.model.semantics import expressions as e
from isrcheck.model.semantics.concrete_state import explain, said
from isrcheck.model.semantics.concrete_values import PlainFlag

UNWRITTEN: Final = "no specification action allows this change"
UNREACHED: Final = "none of its steps makes this change"
NOT_AT_ONCE: Final = "its steps allow this change, but not together with the others"
NOT_INITIALLY: Final = "it is not an initial state of the specification"


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
    for at, (variable, reason) in enumerate(zip(system.variables, _said(allowed, a, b), strict=True)):
        changes = differences([(variable.name, variable.domain)], [before[at]], [after[at]])
        found += [Change(*change, reason) for change in changes]
    return tuple(found)


def refused_leaves(allowed: Allowed, a: Words, b: Words) -> list[int]:
    """The leaves that a step from a to b changes, in the variables whose change the specification refuses."""
    old, new, found = _leaves(allowed, a), _leaves(allowed, b), list[int]()
    for variable, reason in zip(allowed.system.variables, _said(allowed, a, b), strict=True):
        if reason is not None:
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


def sentence_of(specification: str) -> str:
    """The statement that a refinement check decides, as a sentence (`InvariantResult.sentence`)."""
    return f"Every step of the model is allowed by {specification}."


def refused_step(
    implementation: Implementation, allowed: Allowed, specification: str, trace: Trace, canonical: bool = True
) -> tuple[InvariantResult, EvaluatedTrace | None]:
    """The result for a replayed trace, and the trace with a condition that its last step falsifies (see `_evaluated`).

    The second result is None for a trace of one state.
    """
    evaluated = _evaluated(implementation, allowed, trace)
    why = None if evaluated is None else causes(evaluated)
    of = _instance(implementation, trace)
    words = sentence_of(specification)
    return InvariantResult(
        "violated", words, trace, canonical, of, causes=why, story=story(implementation.model, trace)
    ), evaluated


def _evaluated(implementation: Implementation, allowed: Allowed, trace: Trace) -> EvaluatedTrace | None:
    """The trace, and the condition that the first scalar whose change is refused still has its old value.

    The last step makes this condition false, so explanations start from it. Returns None for a trace of one state.
    """
    if trace.length == 1:
        return None
    beside = [allowed.system.encode(implementation.stands_for(step.state)) for step in trace.steps[-2:]]
    old, new = allowed.kernel.layout.pack(beside)
    leaf = refused_leaves(allowed, old, new)[0]
    nodes, _ = traced(implementation.model, implementation.specification.model, implementation.mapping)
    kept = e.eq(nodes[leaf], e.constant(nodes[leaf].kind, beside[0][leaf]))
    return EvaluatedTrace(implementation.model, trace, kept)


def _instance(implementation: Implementation, trace: Trace) -> Instance | None:
    """The parameters for which a `for_all` in the mapping is false. None if no `for_all` makes a flag false.

    A flag is a truth value in the mapping's result. Only variables of the specification that the last step changes are
    examined. In a trace of one state, all variables are examined.
    """
    model, mapping = implementation.model, implementation.mapping
    positions, last = implementation.specification.model.positions, trace.steps[-1].state
    beside = [implementation.stands_for(step.state) for step in trace.steps[-2:]]
    for name, value in said(model, last, mapping).items():
        if len(beside) > 1 and beside[-1][positions[name]] == beside[-2][positions[name]]:
            continue
        for at, flag in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(flag, PlainFlag) and not flag.value and flag.why is not None:
                return Instance(*explain(model, last, partial(_flag, mapping, name, at)))
    return None


def _flag(mapping: Callable[[Any, Any], Any], name: str, at: int, m: Any, s: Any) -> Any:
    """A flag in the result of a mapping: the value of a variable, or one element of this value."""
    value = mapping(m, s)[name]
    return value[at] if isinstance(value, list) else value
