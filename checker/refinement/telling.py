"""Explains why a specification does not allow the last step of a trace: finds a condition that this step makes false.

`checker/traces/reasons.py` then explains this condition as it explains a violated invariant.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from isrcheck.checker.refinement.allowed import Allowed
from isrcheck.checker.refinement.refusals import refused_leaves
from isrcheck.checker.results import Finding, Instance, Trace
from isrcheck.checker.traces.narration import story
from isrcheck.checker.traces.reasons import reasons
from isrcheck.checker.traces.refined import Implementation
from isrcheck.checker.traces.walked import Walked
from isrcheck.model.language import expressions as e
from isrcheck.model.language.concrete import explain, said
from isrcheck.model.language.plain import PlainFlag
from isrcheck.model.language.refinements import traced


def sentence_of(specification: str) -> str:
    """The statement that a refinement check decides, as a sentence (`Finding.sentence`)."""
    return f"The model does only what {specification} allows."


def told(
    implementation: Implementation, allowed: Allowed, specification: str, trace: Trace, canonical: bool = True
) -> tuple[Finding, Walked | None]:
    """The finding for a replayed trace, and the trace with a condition that its last step makes false (see `_walked`).

    The second result is None for a trace of one state.
    """
    walked = _walked(implementation, allowed, trace)
    why = None if walked is None else reasons(walked)
    of = _instance(implementation, trace)
    words = sentence_of(specification)
    return Finding(
        "violated", words, trace, canonical, of, reasons=why, story=story(implementation.model, trace)
    ), walked


def _walked(implementation: Implementation, allowed: Allowed, trace: Trace) -> Walked | None:
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
    return Walked(implementation.model, trace, kept)


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
